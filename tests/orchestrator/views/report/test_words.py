"""Every kind of event has words, and Kraftgate creates events of each kind."""

import re
from pathlib import Path

import pytest

from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event, Source
from orchestrator.output.event_text import sentence, weight_of

RULES = Path("migration")


def test_every_kind_has_words() -> None:
    assert len(EventKind) > 60
    assert [each for each in EventKind if not each.sentence] == []
    assert [each for each in EventKind if each.name != each.upper()] == []


def test_every_kind_is_created() -> None:
    code = "".join(each.read_text("utf-8") for each in RULES.rglob("*.py"))
    created = set(re.findall(r"EventKind\.([A-Z_]+)", code))
    assert {each.name for each in EventKind} == created


def test_words_take_the_fields_that_are_told() -> None:
    event = Event(offset=645, timestamp_ms=1, kind="broker_registered", broker=3,
                 fields={"mode": "kraft", "pending": 12, "log_dirs": ["a", "b"]})  # fmt: skip
    assert sentence(event) == (
        "broker 3 registered in kraft mode, with 2 log directories and 12 replicas without a known"
        " one"
    )


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("assignments_complete", {"held_ms": 946}, "every replica has a directory, after 946 ms"),
        ("assignments_complete", {}, "every replica has a directory"),
        ("zookeeper_seen_again", {"blind_ms": 61_000}, "read again, after 1 min 1 s"),
        ("zk_controller_changed", {"controller": 3000, "kraft": True}, "KRaft controller 3000"),
        ("zk_controller_changed", {"controller": 1, "kraft": False}, "broker 1 holds"),
        ("metadata_version", {"level": 21}, "metadata.version is 3.9-IV0"),
        (
            "jmx_changed",
            {"name": "ZkMigrationState", "node": 3000, "was": 2, "now": 1},
            "node 3000 reads MIGRATION (1), after PRE_MIGRATION (2)",
        ),
        (
            "jmx_contradicts",
            {"name": "ZkMigrationState", "node": 3000, "reads": -1, "expected": 0},
            "reads -1, where NONE (0) is expected",
        ),
        (
            "jmx_changed",
            {"name": "MigratingZkBrokerCount", "node": 3000, "was": 2, "now": 1},
            "reads 1, after 2",
        ),
        ("log_dirs_lost", {"directories": ["a"], "left": 1}, "directories: 1 fewer, 1 left"),
    ],
)
def test_words_are_made_of_fields(kind: str, fields: dict[str, object], said: str) -> None:
    event = Event(offset=1, timestamp_ms=1, kind=kind, broker=1, fields=fields)
    assert said in sentence(event)


def test_what_has_no_words_is_told_by_its_fields() -> None:
    event = Event(offset=None, timestamp_ms=1, kind="of_tomorrow", fields={"a": "b c"},
                 source=Source.JMX)  # fmt: skip
    assert sentence(event) == 'of_tomorrow a="b c"'
    less = Event(offset=1, timestamp_ms=1, kind="records_lost", broker=1, fields={"topic": "x"})
    assert sentence(less) == "records_lost topic=x"


def test_a_field_cannot_reach_into_the_words() -> None:
    event = Event(offset=1, timestamp_ms=1, kind="topic_created", fields={"topic": "{broker!r}"})
    assert sentence(event) == "topic {broker!r} is in the metadata log"


def test_weights() -> None:
    assert [weight_of(each) for each in ("records_lost", "topic_created", "phase_changed")] == [
        "bad", "plain", "notable",
    ]  # fmt: skip
