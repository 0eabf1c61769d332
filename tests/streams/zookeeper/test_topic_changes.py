"""What a topic's znode says otherwise than it did, from Kafka's payloads."""

from types import SimpleNamespace
from typing import Any

from migration.metadata.directory_ids import to_text
from migration.observed.facts import ZnodeSeen
from migration.observed.topic_facts import ZkConfigChanged, ZkConfigSeen, ZkTopicChanged
from migration.observed.znodes import CONTROLLER, TOPIC_CONFIGS, TOPICS
from streams.zookeeper.topic_changes import NAMED_MAX, change, config_kept, end
from tests.streams.zookeeper.content import config_data, raw_id, topic_data

ID = to_text(raw_id(1))


def stat(version: int = 0) -> Any:
    return SimpleNamespace(ctime=100, mtime=200, version=version, mzxid=7)


def znode(data: bytes, path: str = f"{TOPICS}/t") -> ZnodeSeen:
    return ZnodeSeen(1000, path, data, 0, 7, 200, 0)


def of(**replicas: tuple[int, ...]) -> ZnodeSeen:
    return znode(topic_data(raw_id(1), {int(name[1:]): ids for name, ids in replicas.items()}))


def changed(last: ZnodeSeen | None, now: ZnodeSeen) -> ZkTopicChanged | None:
    found = change(last, now, None, stat())
    assert found is None or isinstance(found, ZkTopicChanged)
    return found


def topic_fact(what: str, at_ms: int | None, **fields: Any) -> ZkTopicChanged:
    none = {"was": None, "now": None, "moved": 0, "named": (), "why": None}
    return ZkTopicChanged(1000, what, at_ms, "t", **({"topic_id": ID} | none | fields))


def test_a_topic_appears_when_it_was_created_and_is_reassigned_when_it_was_written() -> None:
    before = of(p0=(1, 2), p1=(2, 3))
    assert changed(None, before) == topic_fact("appeared", 100, now=2)
    after = of(p0=(1, 2), p1=(3, 1), p2=(1,))
    assert changed(before, after) == topic_fact(
        "reassigned", 200, was=2, now=3, moved=1, named=((1, (2, 3), (3, 1)),)
    )


def test_the_order_of_replicas_is_an_assignment_of_its_own() -> None:
    found = changed(of(p0=(1, 2)), of(p0=(2, 1)))
    assert found is not None
    assert found.moved == 1


def test_fewer_partitions_are_told_too() -> None:
    assert changed(of(p0=(1,), p1=(1,)), of(p0=(1,))) == topic_fact("reassigned", 200, was=2, now=1)


def test_what_assigns_the_same_is_no_news() -> None:
    now = of(p0=(1, 2))
    assert (
        changed(now, now._replace(data=now.data.replace(b'"version": 3', b'"version": 2'))) is None
    )


def test_what_says_nothing_is_named_and_no_topic_appears_when_it_speaks_again() -> None:
    why = "its content is not JSON"
    broken = znode(b"{")
    assert changed(None, broken) == topic_fact("unreadable", 100, topic_id="", why=why)
    assert changed(of(p0=(1,)), broken) == topic_fact(
        "unreadable", 200, topic_id="", was=1, why=why
    )
    assert changed(broken, of(p0=(1,))) == topic_fact("reassigned", 200, now=1)


def test_only_so_many_moved_partitions_are_named() -> None:
    number = NAMED_MAX + 5
    before = of(**{f"p{n}": (1,) for n in range(number)})
    found = changed(before, of(**{f"p{n}": (2,) for n in range(number)}))
    assert found is not None
    assert (found.moved, len(found.named)) == (number, NAMED_MAX)


def test_a_topic_that_is_gone_has_no_time_of_the_clusters() -> None:
    assert end(of(p0=(1,), p1=(1,)), 1000) == topic_fact("vanished", None, was=2)


def config(entries: dict[str, object]) -> tuple[ZkConfigSeen, str | None]:
    return config_kept(f"{TOPIC_CONFIGS}/t", config_data(entries), stat(), 1000)


def test_settings_are_told_by_their_keys_and_never_by_their_values() -> None:
    before, _ = config({"a": "hunter2", "b": "1", "c": "1"})
    after, why = config({"a": "hunter3", "b": "1", "d": "1"})
    found = change(before, after, why, stat())
    assert found == ZkConfigChanged(1000, 200, "t", ("a", "c", "d"), gone=False, why=None)
    assert b"hunter" not in repr((before, after)).encode()
    assert change(after, after, why, stat()) is None


def test_settings_that_go_with_their_znode_are_told_if_there_were_any() -> None:
    some, none = config({"b": "1", "a": "1"})[0], config({})[0]
    gone = ZkConfigChanged(1000, None, "t", ("a", "b"), gone=True, why=None)
    assert (end(some, 1000), end(none, 1000)) == (gone, None)


def test_settings_that_say_nothing_are_named() -> None:
    kept, why = config_kept(f"{TOPIC_CONFIGS}/t", b"{}", stat(), 1000)
    assert kept.entries == ()
    assert change(None, kept, why, stat()) == ZkConfigChanged(
        1000, 100, "t", (), gone=False, why="it has no config"
    )


def test_other_znodes_are_not_about_topics() -> None:
    other = znode(b"{}", CONTROLLER)
    assert (change(None, other, None, stat()), end(other, 1)) == (None, None)
