"""A real ZooKeeper: topic changes are reported once, with time; states are only counted."""

from collections.abc import Sequence

import pytest
from kazoo.protocol.states import EventType

from migration.observed.facts import ZkPartition, ZkTopic, ZnodeSeen, ZooKeeperBlind
from migration.observed.topic_facts import (
    ZkConfigChanged,
    ZkConfigSeen,
    ZkStatesChanged,
    ZkTopicChanged,
    ZkTopicFact,
    ZkTopicsFound,
)
from migration.observed.znodes import CLUSTER_ID, CONTROLLER, TOPIC_CONFIGS, TOPICS
from streams.state.fact_codec import pack
from streams.zookeeper import topics, watch_events
from streams.zookeeper.watch_events import Names
from tests.streams.zookeeper.content import config_data, raw_id, state_data, topic_data, write_topic
from tests.streams.zookeeper.old_server import old_server
from tests.streams.zookeeper.watching import CLUSTER, Watched, Writer, watching

pytestmark = pytest.mark.lab

T = f"{TOPICS}/t"
SETTINGS = f"{TOPIC_CONFIGS}/t"


def assigned(*replicas: Sequence[int], topic_id: int = 1) -> bytes:
    return topic_data(raw_id(topic_id), dict(enumerate(replicas)))


def topic(name: str, number: int, partitions: int = 2) -> ZkTopic:
    states = tuple(ZkPartition(each, (1, 2), 1, (1, 2)) for each in range(partitions))
    return ZkTopic(raw_id(number), name, states)


def news(watched: Watched) -> list[ZkTopicFact]:
    return [fact for fact in watched.appended() if isinstance(fact, ZkTopicFact)]


def changes(watched: Watched) -> list[ZkTopicChanged]:
    return [fact for fact in watched.appended() if isinstance(fact, ZkTopicChanged)]


def what(watched: Watched) -> list[tuple[str, str]]:
    return [(fact.what, fact.topic) for fact in changes(watched)]


def until_changes(watched: Watched, number: int) -> list[ZkTopicChanged]:
    watched.until(lambda: len(changes(watched)) >= number)
    return changes(watched)


def counted(watched: Watched) -> int:
    return sum(each.changes for each in news(watched) if isinstance(each, ZkStatesChanged))


def test_what_is_there_at_first_is_counted_and_only_what_says_nothing_is_news(
    kafka: Writer, connect: str
) -> None:
    write_topic(kafka, topic("a", 1))
    write_topic(kafka, topic("b", 2, partitions=3))
    kafka.create(f"{TOPICS}/odd", b"garbage")
    kafka.create(SETTINGS, config_data({"retention.ms": "1"}))
    with watching(connect) as watched:
        seen = watched.until_seen()
        odd, found = news(watched)
    assert isinstance(odd, ZkTopicChanged)
    assert (odd.what, odd.topic, odd.why) == ("unreadable", "odd", "its content is not JSON")
    assert isinstance(found, ZkTopicsFound)
    assert (found.topics, found.partitions) == (3, 5)
    assert watched.appended().index(found) < watched.appended().index(seen)


def test_a_topic_comes_moves_goes_and_is_made_anew(kafka: Writer, connect: str) -> None:
    with watching(connect) as watched:
        watched.until_seen()
        kafka.create(T, assigned((1, 2)))
        (appeared,) = until_changes(watched, 1)
        created = kafka.client.exists(T)
        kafka.set(T, assigned((2, 3)))
        moved = until_changes(watched, 2)[1]
        written = kafka.client.exists(T)
        kafka.delete(T)
        vanished = until_changes(watched, 3)[2]
        kafka.create(T, assigned((1,), topic_id=2))
        again = until_changes(watched, 4)[3]
        kafka.create(CONTROLLER)  # earlier changes are reported before it
        watched.until_of(CONTROLLER, 1)
        assert what(watched) == [
            ("appeared", "t"),
            ("reassigned", "t"),
            ("vanished", "t"),
            ("appeared", "t"),
        ]
    # Both clocks: when ZooKeeper says that it happened, and when it was seen.
    assert (appeared.at_ms, moved.at_ms, vanished.at_ms) == (created.ctime, written.mtime, None)
    assert written.mtime != written.ctime
    assert moved.named == ((0, (1, 2), (2, 3)),)
    assert again.topic_id != appeared.topic_id
    assert [isinstance(fact, ZnodeSeen) for fact in watched.of(T)] == [True, True, False, True]


def test_what_happened_unseen_is_told_once_and_then_it_is_watched_again(
    kafka: Writer, connect: str
) -> None:
    """Changes occur without a watcher; then the session expires, and the new one sets the watch."""
    for number, name in enumerate(("stays", "goes", "moves", "anew")):
        kafka.create(f"{TOPICS}/{name}", assigned((1, 2), topic_id=number))
    with watching(connect) as before:
        before.until_seen()
    kafka.delete(f"{TOPICS}/goes")
    kafka.delete(f"{TOPICS}/anew")
    kafka.create(f"{TOPICS}/anew", assigned((1, 2), topic_id=9))
    kafka.create(f"{TOPICS}/comes", assigned((1, 2), topic_id=10))
    kafka.set(f"{TOPICS}/moves", assigned((2, 1), topic_id=2))
    unseen = {
        ("vanished", "goes"),
        ("vanished", "anew"),
        ("appeared", "anew"),
        ("appeared", "comes"),
        ("reassigned", "moves"),
    }
    with watching(connect, before.known()) as after:
        after.until_seen()
        assert (len(changes(after)), set(what(after))) == (len(unseen), unseen)
        found = [fact for fact in after.appended() if isinstance(fact, ZkTopicsFound)]
        assert [each.topics for each in found] == [4], "each session counts them"
        client = after.watcher._client
        assert client is not None
        # A client that knows a session's password can end it: for its first owner it expires.
        Writer(connect, client_id=client.client_id).close()
        after.until_blind()
        after.until_seen(2)
        kafka.delete(f"{TOPICS}/comes")
        until_changes(after, len(unseen) + 1)
        assert what(after)[len(unseen) :] == [("vanished", "comes")]


def test_settings_are_told_by_key_and_journalled_by_digest(kafka: Writer, connect: str) -> None:
    def until(number: int) -> list[ZkConfigChanged]:
        def changes() -> list[ZkConfigChanged]:
            return [each for each in news(watched) if isinstance(each, ZkConfigChanged)]

        watched.until(lambda: len(changes()) >= number)
        return changes()

    kafka.create(SETTINGS, config_data({"a": "hunter2", "b": "1"}))
    with watching(connect) as watched:
        watched.until_seen()
        kafka.set(SETTINGS, config_data({"a": "hunter3", "b": "1"}))
        (changed,) = until(1)
        at_ms = kafka.client.exists(SETTINGS).mtime
        kafka.set(SETTINGS, b"{}")
        odd = until(2)[1]
        kafka.set(SETTINGS, config_data({"a": "hunter3"}))
        until(3)
        kafka.delete(SETTINGS)
        gone = until(4)[3]
        told = watched.appended()
    assert (changed.keys, changed.at_ms, changed.gone) == (("a",), at_ms, False)
    assert odd.why == "it has no config"
    assert (gone.keys, gone.at_ms, gone.gone) == (("a",), None, True)
    assert any(isinstance(fact, ZkConfigSeen) for fact in told)
    assert not any(b"hunter" in pack(fact) for fact in told)


TOUCHED = 20
PARTITIONS = 250
ROUNDS = 4


def test_a_burst_of_states_is_counted_and_nothing_grows_with_it(
    kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 20,000 writes is counted; other changes are reported without delay."""
    monkeypatch.setattr(topics, "STATES_EVERY_MS", 0)
    kafka.client.ensure_path(TOPICS)
    for number in range(TOUCHED):
        path = f"{TOPICS}/t{number}"
        made = kafka.client.transaction()
        made.create(path, topic_data(raw_id(number), dict.fromkeys(range(PARTITIONS), (1, 2))))
        made.create(f"{path}/partitions", b"")
        for each in range(PARTITIONS):
            made.create(f"{path}/partitions/{each}", b"")
            made.create(f"{path}/partitions/{each}/state", state_data(1, (1, 2)))
        assert not any(isinstance(done, Exception) for done in made.commit())
    touched: list[Names] = []
    queued = []
    with watching(connect, touched=touched.append) as watched:
        watched.until_seen()
        facts = len(watched.appended())
        client = watched.watcher._client
        assert client is not None
        commits = []
        for burst in range(ROUNDS):
            for number in range(TOUCHED):
                written = kafka.client.transaction()
                for each in range(PARTITIONS):
                    path = f"{TOPICS}/t{number}/partitions/{each}/state"
                    written.set_data(path, state_data(2, (2,)))
                commits.append(written.commit_async())
                queued.append(client.handler.callback_queue.qsize())
            kafka.client.create_async(f"{CONTROLLER}{burst}")
        kafka.create(CONTROLLER)
        watched.until_of(CONTROLLER, 1)
        assert not any(isinstance(done, Exception) for each in commits for done in each.get(30))
        watched.until(lambda: counted(watched) >= TOUCHED * PARTITIONS * ROUNDS)
        assert counted(watched) == TOUCHED * PARTITIONS * ROUNDS
        assert ZooKeeperBlind not in watched.kinds()
        # Counts, each some tenths of a second apart, and never an event's own fact.
        assert len(watched.appended()) - facts < TOUCHED * PARTITIONS * ROUNDS / 50
        assert changes(watched) == []
    assert max(queued) <= 1
    names = frozenset(f"t{number}" for number in range(TOUCHED))
    assert touched[0] is None  # everything, when it was first read
    assert frozenset().union(*(each for each in touched[1:] if each is not None)) == names


def test_more_topics_at_once_than_are_kept_by_name_are_all_told(
    kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_events, "NAMES_MAX", 10)
    names = [f"t{number:02}" for number in range(40)]
    kafka.create(f"{TOPICS}/old", assigned((1,)))
    with watching(connect) as watched:
        watched.until_seen()
        made = kafka.client.transaction()
        made.delete(f"{TOPICS}/old")
        for number, name in enumerate(names):
            made.create(f"{TOPICS}/{name}", assigned((1,), topic_id=number))
        assert not any(isinstance(done, Exception) for done in made.commit())
        until_changes(watched, len(names) + 1)
        assert sorted(what(watched)) == [
            *(("appeared", name) for name in names),
            ("vanished", "old"),
        ]


def test_what_changes_while_everything_is_read_is_read_again(
    kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch is set first: a mark made after a topic's read is not lost."""
    kafka.create(T, assigned((1, 2)))
    complete = topics.Topics.complete

    def late(self: topics.Topics) -> None:
        kafka.set(T, assigned((2, 3)))
        complete(self)

    monkeypatch.setattr(topics.Topics, "complete", late)
    with watching(connect) as watched:
        watched.until_seen()
        (moved,) = until_changes(watched, 1)
    assert moved.named == ((0, (1, 2), (2, 3)),)


def test_a_zookeeper_without_such_watches_is_read_now_and_then(
    kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "POLL_S", 0.5)
    address, slash, chroot = connect.partition("/")
    kafka.create(CLUSTER_ID, CLUSTER)
    kafka.create(T, assigned((1, 2)))
    with old_server(address) as old, watching(f"{old.address}{slash}{chroot}") as watched:
        watched.until_seen()
        kafka.create(f"{TOPICS}/u", assigned((1,), topic_id=2))
        kafka.set(T, assigned((2, 3)))
        until_changes(watched, 2)
        assert set(what(watched)) == {("appeared", "u"), ("reassigned", "t")}
        status = watched.watcher.status()
        assert (status.waiting, status.error, watched.watcher.known.sees) == (None, None, True)
        assert "older than 3.6" in " ".join(status.limits)
        # Once, in the first connection, which the server ended by its answer. The third connection
        # is that of the process that reads notifications.
        watched.until(lambda: old.connections == 3)
        assert old.asked == 1
        assert ZooKeeperBlind not in watched.kinds()


def test_a_zookeeper_with_them_has_no_such_limit(kafka: Writer, connect: str) -> None:
    kafka.create(T, assigned((1, 2)))
    with watching(connect) as watched:
        watched.until_seen()
        assert watched.watcher.status().limits == ()


def test_a_write_is_marked_before_it_is_answered_to_a_later_read(
    kafka: Writer, connect: str
) -> None:
    """Shows why marks are taken before a reading begins, not after it."""
    heard: list[tuple[str, str]] = []
    with watching(connect) as watched:
        watched.until_seen()
        client = watched.watcher._client
        assert client is not None
        client.watch_below_async(TOPICS, lambda kind, path: heard.append((kind, path))).get(10)
        for number in range(50):
            kafka.create(f"{TOPICS}/t{number}", b"{}")
            client.sync_async("/").get(10)
            assert client.exists_async(f"{TOPICS}/t{number}").get(10) is not None
            assert heard[-1] == (EventType.CREATED, f"{TOPICS}/t{number}")
