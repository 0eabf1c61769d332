"""Kafka's own snapshots confirm the oracle, and every change of a log changes its result."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.compare import differences
from tests.oracle.dump import Batch, Record, read_dump
from tests.oracle.fixtures import DATA, cut_text, dump_of
from tests.oracle.projection import (
    LOST,
    MIGRATING,
    TOLD,
    UNASSIGNED,
    end_offset,
    project_batches,
    project_texts,
)

CASES = sorted(path.name for path in DATA.iterdir())


def texts(case: str) -> list[str]:
    segments = sorted((DATA / case).glob("*.log.gz"))
    return [dump_of(case)(Path(segment.name.removesuffix(".gz"))) for segment in segments]


def checkpoints(case: str) -> list[Path]:
    found = sorted((DATA / case).glob("*.checkpoint.gz"))
    return [Path(file.name.removesuffix(".gz")) for file in found]


def snapshot_view(state: dict[str, Any]) -> dict[str, Any]:
    """Return what a snapshot contains; Kafka sorts a broker's directories in it."""
    brokers = [
        {name: broker[name] for name in ("id", "epoch", "mode", "fenced", "replicas")}
        | {"log_dirs": sorted(broker["log_dirs"]), "registered_offset": broker["registered_offset"]}
        for broker in state["brokers"]
    ]
    names = ("metadata_offset", "phase", "topics", "partitions")
    return {name: state[name] for name in names} | {"brokers": brokers}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_log_up_to_a_snapshot_says_what_kafkas_snapshot_says(case: str) -> None:
    segments = texts(case)
    for checkpoint in checkpoints(case):
        end = end_offset(checkpoint)
        from_log = project_texts([cut_text(text, end) for text in segments])
        from_snapshot = project_texts([], (end, dump_of(case)(checkpoint)))
        assert snapshot_view(from_log) == snapshot_view(from_snapshot), checkpoint.name


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_snapshot_and_the_rest_of_the_log_end_where_the_whole_log_does(case: str) -> None:
    """Everything but holds: a snapshot does not record whether a hold ended before it."""
    segments = texts(case)
    whole = project_texts(segments)
    for checkpoint in checkpoints(case):
        end = end_offset(checkpoint)
        rest = project_texts(segments, (end, dump_of(case)(checkpoint)))
        assert snapshot_view(rest) == snapshot_view(whole)
        assert facts(rest) == [event for event in facts(whole) if event["offset"] >= end]


def facts(state: dict[str, Any]) -> list[dict[str, Any]]:
    ours = ("assignments_complete", "broker_unfenced_early")
    return [event for event in state["events"] if event["kind"] not in ours]


def is_silent(record: Record) -> bool:
    """Whether the loss of a record can leave the result unchanged: the contract does not cover it.

    The contract reports only the last ISR and leader, so any single record of them can be lost.
    """
    match record.kind:
        case "PARTITION_CHANGE_RECORD":
            return not record.data.keys() & {"directories", "replicas"}
        case "BROKER_REGISTRATION_CHANGE_RECORD":
            return not record.data.keys() & {"fenced", "logDirs"}
    return record.kind not in TOLD


def is_overruled(record: Record, later: list[Record]) -> bool:
    """Whether a later record repeats or removes a partition's or a registration's record."""
    if record.kind == "REGISTER_CONTROLLER_RECORD":
        id_ = record.data["controllerId"]
        return any(one.kind == record.kind and one.data["controllerId"] == id_ for one in later)
    if record.kind == "REGISTER_BROKER_RECORD" and not record.data["fenced"]:
        broker = record.data["brokerId"]
        return any(one.kind == record.kind and one.data["brokerId"] == broker for one in later)
    topic = record.data.get("topicId")
    return record.kind.startswith("PARTITION_") and any(
        one.data.get("topicId") == topic
        and (
            one.kind == "REMOVE_TOPIC_RECORD"
            or ("directories" in one.data and one.data["partitionId"] == record.data["partitionId"])
        )
        for one in later
    )


def escapes(before: dict[str, Any], segments: Iterable[Iterable[Batch]]) -> bool:
    """Whether a changed log gives the result of the original log."""
    try:
        return not differences(before, project_batches(segments))
    except (ValueError, KeyError):
        return False  # the oracle refuses: no verdict is not a wrong one


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_no_record_that_matters_can_be_lost_unnoticed(case: str) -> None:
    segments = [list(read_dump(text)) for text in texts(case)]
    whole = project_batches(segments)
    records = [
        (batch, index, record)
        for batches in segments
        for batch in batches
        for index, record in enumerate(batch.records)
    ]
    lost = 0
    for place, (batch, index, record) in enumerate(records):
        if is_silent(record) or is_overruled(record, [one for *_, one in records[place + 1 :]]):
            continue
        batch.records[index] = replace(record, kind="NO_OP_RECORD", data={})
        assert not escapes(whole, segments), record
        batch.records[index] = record
        lost += 1
    assert lost > 20


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        pytest.param('"fenced":-1', '"fenced":1', id="unfenced to fenced"),
        pytest.param('"fenced":1}', '"fenced":0}', id="fenced to unchanged"),
        pytest.param('"isMigratingZkBroker":true', '"isMigratingZkBroker":false', id="mode"),
        pytest.param('"zkMigrationState":1', '"zkMigrationState":2', id="state"),
        pytest.param("END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD", id="aborted"),
        pytest.param('"name":"ZK Migration"', '"name":"Bootstrap records"', id="name"),
        pytest.param(MIGRATING, UNASSIGNED, id="migrating to unassigned"),
        pytest.param(UNASSIGNED, MIGRATING, id="unassigned to migrating"),
        pytest.param(UNASSIGNED, LOST, id="unassigned to lost"),
        pytest.param(r"CreateTime: (\d+)\d\d ", r"CreateTime: \g<1>00 ", id="time"),
    ],
)
def test_no_value_that_matters_can_change_unnoticed(was: str, becomes: str) -> None:
    segments = [cut_text(text, 210) for text in texts("one-controller")]  # broker 2 is held
    changed = [re.sub(was, becomes, text) for text in segments]
    assert changed != segments
    whole = project_texts(segments)
    assert escapes(whole, map(read_dump, segments))
    assert not escapes(whole, map(read_dump, changed))


def test_a_log_with_a_hole_gets_no_verdict() -> None:
    first, *rest = texts("one-controller")
    with pytest.raises(ValueError, match="are missing"):
        project_texts([first, *rest[1:]])
    with pytest.raises(ValueError, match="are missing"):
        project_texts(rest, (100, ""))
    with pytest.raises(ValueError, match="lacks records"):
        project_texts([first.replace("\n| offset: 5 ", "\n| control: 5 ")])
