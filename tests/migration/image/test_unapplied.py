"""A record that Kafka 3.9 raises on leaves the state unknown until another state replaces it."""

from dataclasses import replace

import pytest

from migration.assessment.conditions import DataSource, Verdict, parse
from migration.image.advance import Batch, advance
from migration.image.cluster import ClusterImage, Provenance, summarize
from migration.metadata.event_kinds import EventKind
from migration.metadata.records import (
    BrokerRegistrationChange,
    FenceBroker,
    NoOp,
    Record,
    RegisterBroker,
    Stamped,
    UnfenceBroker,
    Unknown,
    UnregisterBroker,
)
from migration.metadata.transactions import Admission
from migration.shard.report import Note, ShardReport
from orchestrator.run.reader import ClusterRead
from streams.state.store import pack_image, unpack_image
from tests.scenes.night import FRESH, NOW_MS
from tests.support.assessing import assessed

KNOWN = RegisterBroker(1, False, bytes(16), 7, None, False, False, ())
NO_PARTITION = Note(
    8, 1, EventKind.RECORD_CONTRADICTS, {"topic_id": "A", "reason": "no such partition"}
)


def followed(
    image: ClusterImage,
    *records: Record,
    notes: tuple[Note, ...] = (),
    snapshot: bool = False,
) -> ClusterImage:
    start = 0 if image.provenance is None else image.provenance.offset + 1
    end = Provenance(offset=start + len(records), epoch=1, timestamp_ms=1)
    stamped = [Stamped(start + at, 1, each) for at, each in enumerate(records)]
    batch = Batch(
        log=image.log, start=start, end=end, reports={0: ShardReport(notes=list(notes))},
        records=[(each, Admission.NOW) for each in stamped], snapshot=snapshot,
    )  # fmt: skip
    return advance(image, batch)[0]


REGISTERED = followed(ClusterImage(), KNOWN)


def why_unknown(image: ClusterImage) -> str | None:
    """Return why no gate opens; None: the metadata log is current."""
    summary = replace(summarize("prod", image), metadata_offset=FRESH.high_watermark)
    read = ClusterRead(summary=summary, events=(), status=FRESH)
    one = assessed(read, NOW_MS).assessment
    found = parse("broker_mode(1, kraft)").judge(one.view)
    why = one.currency.not_current.get(DataSource.METADATA_LOG)
    assert found.verdict is (Verdict.SATISFIED if why is None else Verdict.UNKNOWN)
    if why is not None:
        assert why in found.reason
        assert one.waits[0].action == f"Repair the source: {why}"
        assert one.next.text == one.waits[0].action
    return why


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (FenceBroker(2, 7), "the record speaks of epoch 7, the broker is not registered"),
        (UnfenceBroker(1, 6), "the record speaks of epoch 6, the broker is registered with"),
        (UnregisterBroker(1, 6), "the record speaks of epoch 6, the broker is registered with"),
        (BrokerRegistrationChange(2, 7), "the broker is not registered"),
        (BrokerRegistrationChange(1, 7, fenced=2), "fenced is 2"),
        (BrokerRegistrationChange(1, 7, in_controlled_shutdown=2), "in_controlled_shutdown is 2"),
    ],
)
def test_a_contradiction_about_a_broker_leaves_the_state_unknown(
    record: Record, reason: str
) -> None:
    """Kafka: ClusterDelta.getBrokerOrThrow, ClusterControlManager.replay."""
    assert why_unknown(REGISTERED) is None
    after = followed(REGISTERED, record, NoOp())
    why = why_unknown(after)
    assert why is not None
    assert "the record at metadata offset 2 contradicts the state" in why
    assert reason in why
    assert after.brokers == REGISTERED.brokers


def test_a_contradiction_about_a_partition_leaves_the_state_unknown() -> None:
    """Kafka: TopicDelta.replay, ReplicationControlManager.replay."""
    why = why_unknown(followed(REGISTERED, notes=(NO_PARTITION,)))
    assert why is not None
    assert "the record at metadata offset 8 contradicts the state: no such partition" in why


def test_a_record_of_an_unknown_type_leaves_the_state_unknown() -> None:
    """Kafka: MetadataDelta.replay raises on a type that it does not know."""
    after = followed(REGISTERED, Unknown(99), Unknown(99))
    assert summarize("prod", after).unknown_records == 2
    why = why_unknown(after)
    assert why is not None
    assert "records of a type that this version of Kraftgate does not know" in why


@pytest.mark.parametrize("snapshot", [True, False])
def test_it_lasts_until_a_snapshot_or_another_log_replaces_the_state(snapshot: bool) -> None:
    """A restart or further records do not end it."""
    bad = followed(REGISTERED, Unknown(99), notes=(NO_PARTITION,))
    first = why_unknown(bad)
    assert first is not None
    later = unpack_image(pack_image(followed(bad, FenceBroker(2, 9), NoOp())))
    assert why_unknown(later) == first
    if snapshot:
        after = followed(later, KNOWN, snapshot=True)
    else:
        end = Provenance(offset=-1, epoch=0, timestamp_ms=2)
        start = 0 if later.provenance is None else later.provenance.offset + 1
        other = Batch(log=2, start=start, end=end, records=(), reports={}, snapshot=True)
        after = replace(followed(advance(later, other)[0], KNOWN), log=1)
    assert why_unknown(after) is None


def test_a_snapshot_with_such_records_does_not_end_it() -> None:
    bad = followed(REGISTERED, Unknown(99), Unknown(99))
    again = followed(bad, KNOWN, Unknown(99), snapshot=True)
    assert summarize("prod", again).unknown_records == 1
    assert why_unknown(again) is not None
    assert why_unknown(followed(bad, KNOWN, notes=(NO_PARTITION,), snapshot=True)) is not None
