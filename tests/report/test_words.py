"""Every kind of event that is told has words, and no words are of a kind that is not."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from migration.metadata.events import Event, Source
from orchestrator.report.words import BAD, PLAIN, SENTENCES, sentence, weight_of

RULES = Path("migration")


def kinds() -> set[str]:
    found: set[str] = set()
    for file in RULES.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                found |= set(_told_by(node))
    return found | {"zk_config_gone", "zk_config_changed", "replicas_given_up",
                    "replicas_reachable_again", "replica_not_in_metadata", "replica_not_on_disk",
                    "future_replica_not_promoted", "replica_misplaced"}  # fmt: skip


def _told_by(call: ast.Call) -> Iterator[str]:
    """The kind that a call of `tell`, `Event` or `Note` names, where it is written out."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    texts = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if name.endswith("tell") or name == "Note":
        yield from texts[:1]
    if name == "Event":
        yield from (
            each.value.value
            for each in call.keywords
            if each.arg == "kind"
            and isinstance(each.value, ast.Constant)
            and isinstance(each.value.value, str)
        )


def test_every_kind_has_words() -> None:
    assert len(kinds()) > 60
    assert kinds() - SENTENCES.keys() == set()


def test_no_words_are_left_over() -> None:
    assert SENTENCES.keys() - kinds() == set()
    assert (BAD | PLAIN) - SENTENCES.keys() == set()
    assert set() == BAD & PLAIN


def test_words_take_the_fields_that_are_told() -> None:
    told = Event(offset=645, timestamp_ms=1, kind="broker_registered", broker=3,
                 fields={"mode": "kraft", "pending": 12, "log_dirs": ["a", "b"]})  # fmt: skip
    assert sentence(told) == (
        "broker 3 registered in kraft mode, with 2 log directories and 12 replicas without a known"
        " one"
    )


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("assignments_complete", {"held_ms": 946}, "every replica has a directory, after 946 ms"),
        ("assignments_complete", {}, "every replica has a directory"),
        ("zookeeper_seen_again", {"blind_ms": 61_000}, "seen again, after 1 min 1 s"),
        ("zk_controller_changed", {"controller": 3000, "kraft": True}, "KRaft controller 3000"),
        ("zk_controller_changed", {"controller": 1, "kraft": False}, "broker 1 holds"),
        ("metadata_version", {"level": 21}, "metadata.version is 3.9-IV0"),
        ("log_dirs_lost", {"directories": ["a"], "left": 1}, "1 log directories less, 1 are left"),
    ],
)
def test_words_are_made_of_fields(kind: str, fields: dict[str, object], said: str) -> None:
    event = Event(offset=1, timestamp_ms=1, kind=kind, broker=1, fields=fields)
    assert said in sentence(event)


def test_what_has_no_words_is_told_by_its_fields() -> None:
    told = Event(offset=None, timestamp_ms=1, kind="of_tomorrow", fields={"a": "b c"},
                 source=Source.JMX)  # fmt: skip
    assert sentence(told) == 'of_tomorrow a="b c"'
    less = Event(offset=1, timestamp_ms=1, kind="records_lost", broker=1, fields={"topic": "x"})
    assert sentence(less) == "records_lost topic=x"


def test_a_field_cannot_reach_into_the_words() -> None:
    told = Event(offset=1, timestamp_ms=1, kind="topic_created", fields={"topic": "{broker!r}"})
    assert sentence(told) == "topic {broker!r} is in the metadata log"


def test_weights() -> None:
    assert [weight_of(each) for each in ("records_lost", "topic_created", "phase_changed")] == [
        "bad", "plain", "notable",
    ]  # fmt: skip
