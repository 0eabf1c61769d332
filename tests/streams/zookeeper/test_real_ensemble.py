"""A real ZooKeeper of three servers: a session moves, ends or waits; misses are reported."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from kazoo.exceptions import NoNodeError

from migration.image.cluster import ClusterImage
from migration.image.observe import observe
from migration.metadata.events import Event
from migration.observed.facts import ZnodeGone, ZooKeeperBlind, ZooKeeperSeen
from migration.observed.topic_facts import ZkTopicsFound
from migration.observed.znodes import BROKER_IDS, CONTROLLER, NOTIFICATIONS, TOPICS
from orchestrator.lab import Lab, LabSpec
from streams.zookeeper.watcher import ZooKeeperWatcher
from tests.streams.zookeeper.content import raw_id, topic_data
from tests.streams.zookeeper.watching import (
    EVENT,
    SESSION_TIMEOUT_MS,
    Watched,
    Writer,
    accounted,
    data,
    watching,
)

pytestmark = pytest.mark.lab

_TRIES = 60


@pytest.fixture(scope="module")
def ensemble() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=0, zookeepers=3, zookeeper_chroot="/kafka")) as made:
        made.start_zookeeper()
        yield made


@pytest.fixture
def kafka(ensemble: Lab) -> Iterator[Writer]:
    """Write as Kafka does, through any remaining server; each test starts empty."""
    writer = Writer(ensemble.zookeeper_connect)
    for name in ("brokers", "controller", "log_dir_event_notification"):
        with suppress(NoNodeError):
            writer.delete(f"/{name}")
    writer.create(NOTIFICATIONS)
    writer.create(CONTROLLER, b"1")
    writer.create(f"{BROKER_IDS}/1", b"{}")
    yield writer
    writer.close()
    ensemble.start_zookeeper()


def role(lab: Lab, name: str) -> str:
    """Return the role that the server reports: `leader` or `follower`."""
    host, _, port = lab.address(name).rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as server:
        server.sendall(b"srvr")
        answer = b"".join(iter(lambda: server.recv(4096), b"")).decode()
    return answer.partition("Mode: ")[2].partition("\n")[0]


def server_of(lab: Lab, seen: ZooKeeperSeen) -> str:
    return next(name for name in lab.zookeeper_names if lab.address(name) == seen.server)


@contextmanager
def watching_at(lab: Lab, wanted: str) -> Iterator[tuple[Watched, str]]:
    """Watch through a server of that role; kazoo chooses servers in any order."""
    for _ in range(_TRIES):
        with watching(lab.zookeeper_connect) as watched:
            name = server_of(lab, watched.until_seen())
            if role(lab, name) == wanted:
                yield watched, name
                return
    raise AssertionError(wanted)


def timeline(watched: Watched) -> list[Event]:
    return list(observe(ClusterImage(), watched.appended())[1])


def change_much(kafka: Writer) -> None:
    kafka.set(CONTROLLER, b"2")
    kafka.delete(f"{BROKER_IDS}/1")
    kafka.create(f"{BROKER_IDS}/2", b"{}")
    kafka.create(f"{TOPICS}/t", topic_data(raw_id(1), {0: (2,)}))
    kafka.notify()


def until_all_is_right(watched: Watched) -> None:
    """Check the state after `change_much`, and that the new session's watches work."""
    assert data(watched.until_of(CONTROLLER, 2)) == b"2"
    watched.until_of(f"{TOPICS}/t", 1)
    watched.until_of(f"{EVENT}0000000000", 1)
    assert watched.known().below(BROKER_IDS) == {f"{BROKER_IDS}/2"}
    assert accounted(watched.appended()) == {0: 1}


def until_followed(watched: Watched, kafka: Writer) -> None:
    kafka.delete(f"{TOPICS}/t")
    assert isinstance(watched.until_of(f"{TOPICS}/t", 2), ZnodeGone)
    kafka.notify()
    watched.until_of(f"{EVENT}0000000001", 1)
    assert accounted(watched.appended()) == {0: 1, 1: 1}


@pytest.mark.parametrize("of", ["follower", "leader"])
def test_its_server_is_killed_and_the_session_goes_on_at_another(
    ensemble: Lab, kafka: Writer, of: str
) -> None:
    with watching_at(ensemble, of) as (watched, name):
        first = watched.until_seen()
        start = len(watched.appended())
        ensemble.kill(name)
        blind = watched.until_blind()
        assert first.server in blind.why
        change_much(kafka)
        second = watched.until_seen(2)
        assert second.server in {
            ensemble.address(each) for each in ensemble.zookeeper_names if each != name
        }
        assert second.blind_since_ms == blind.seen_ms
        # ZooKeeper may need several rounds, of 20 s each, to elect its next leader.
        outlasted = second.seen_ms - blind.seen_ms > SESSION_TIMEOUT_MS
        assert second.session == first.session or outlasted
        until_all_is_right(watched)
        kinds = watched.kinds(start)
        assert (kinds.count(ZooKeeperBlind), kinds.count(ZooKeeperSeen)) == (1, 1)
        until_followed(watched, kafka)
        (again,) = (each for each in timeline(watched) if each.kind == "zookeeper_seen_again")
        assert again.fields["session_expired"] is (second.session != first.session)
        assert again.fields["blind_since_ms"] == blind.seen_ms
        assert again.fields["blind_ms"] == second.seen_ms - blind.seen_ms


def test_without_a_majority_nothing_is_seen_until_it_is_back(ensemble: Lab, kafka: Writer) -> None:
    """The third server is alive but serves no reads: it may lack the others' decisions."""
    with watching(ensemble.zookeeper_connect) as watched:
        mine = server_of(ensemble, watched.until_seen())
        other = next(name for name in ensemble.zookeeper_names if name != mine)
        change_much(kafka)
        until_all_is_right(watched)
        start = len(watched.appended())
        ensemble.kill(other)
        ensemble.kill(mine)
        watched.until_unreachable()
        watched.until(lambda: watched.kinds()[-1] is ZooKeeperBlind)
        ensemble.start_zookeeper()
        watched.until(lambda: watched.kinds()[-1] is ZooKeeperSeen)
        # If the first to die was the leader, its follower sent everybody away: blind twice then.
        kinds = watched.kinds(start)
        assert kinds == [ZooKeeperBlind, ZkTopicsFound, ZooKeeperSeen] * (len(kinds) // 3)
        until_followed(watched, kafka)


def test_a_session_that_the_ensemble_ended_is_told_as_expired(
    ensemble: Lab, kafka: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client knows only one server; while that one is down, the others expire the session."""
    monkeypatch.setattr(ZooKeeperWatcher, "_is_hopeless", lambda _: False)  # kazoo must report it
    name = ensemble.zookeeper_names[0]
    connect = f"{ensemble.address(name)}/kafka"
    # It asks for more time than the watcher, so that it lives longer.
    canary = Writer(connect, session_s=6)
    canary.create("/canary", ephemeral=True)
    with watching(connect) as watched:
        first = watched.until_seen()
        ensemble.kill(name)
        blind = watched.until_blind()
        change_much(kafka)
        watched.until(lambda: kafka.client.exists("/canary") is None)
        ensemble.start(name)
        second = watched.until_seen(2)
        assert second.session != first.session
        until_all_is_right(watched)
        until_followed(watched, kafka)
        (again,) = (each for each in timeline(watched) if each.kind == "zookeeper_seen_again")
        assert again.fields["session_expired"] is True
        assert again.fields["blind_since_ms"] == blind.seen_ms
    canary.close()
