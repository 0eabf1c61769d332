"""What counts as current, source by source, and nothing else."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migration.assessment.assess import CHECKED_MS_MAX, POLLED_MS_MAX, Journal
from migration.assessment.conditions import (
    DataSource,
    PreflightSeen,
    QuorumSeen,
    SettingsSeen,
    TopicsSeen,
    Verdict,
    View,
    parse,
)
from migration.assessment.polled import Polled
from migration.image.summary import Phase
from migration.observed.probed import Unknown
from migration.observed.source_status import NO_STATUS, SourceStatus
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.config.load import parse_config
from orchestrator.config.models import ClusterEntry
from orchestrator.run.conditions import JointConditions
from orchestrator.run.reader import ClusterRead
from tests.scenes.night import FRESH, HYBRID, NOW_MS, cluster, kraft
from tests.support.assessing import assessed

EVERYTHING = """cluster: {name: prod}
zookeeper: {connect: 'z1:2181'}
controllers: {bootstrap: 'c1:9093'}
brokers: {bootstrap: 'b1:9092'}
"""
LIVE = SourceStatus(observed_ms=NOW_MS - 200, last_reply_ms=NOW_MS - 400)
SEEN = ZooKeeperImage(seen_ms=NOW_MS - 60_000, server="z1:2181")
NOW = replace(
    HYBRID,
    summary=replace(HYBRID.summary, zookeeper=SEEN),
    zookeeper=LIVE,
    log_dirs=LIVE,
)
LOG, ZOOKEEPER, DISKS = DataSource.METADATA_LOG, DataSource.ZOOKEEPER, DataSource.LOG_DIRS
FOLLOWED = {LOG, ZOOKEEPER, DISKS}


def entry(text: str = EVERYTHING) -> ClusterEntry:
    return parse_config(text, Path("kraftgate.yaml")).clusters[0]


def seen(one: ClusterRead = NOW, text: str = EVERYTHING, **more: object) -> View:
    return assessed(one, NOW_MS, of=entry(text), **more).assessment.view  # type: ignore[arg-type]


def not_followed(one: ClusterRead = NOW, text: str = EVERYTHING) -> Mapping[DataSource, str]:
    found = seen(one, text).not_current
    return {source: why for source, why in found.items() if source in FOLLOWED}


def test_what_is_followed_and_answers_is_current() -> None:
    assert not_followed() == {}


def test_what_was_read_of_the_log_before_says_nothing_of_another() -> None:
    begun = replace(NOW, status=replace(FRESH, log=2, high_watermark=3))
    assert not_followed(begun) == {LOG: "another metadata log has begun and has not been read yet"}


def test_what_is_not_configured_is_not_current() -> None:
    bare = not_followed(text="cluster: {name: prod}\n")
    assert bare == {
        LOG: "`controllers` is not configured",
        ZOOKEEPER: "`zookeeper` is not configured",
        DISKS: "`brokers` is not configured",
    }


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (NO_STATUS, "nothing was observed yet: is `kraftgate run` running?"),
        (replace(LIVE, last_reply_ms=None), "it no longer answers"),
        (replace(LIVE, last_reply_ms=NOW_MS - 15_001), "it no longer answers"),
        (replace(LIVE, last_reply_ms=None, waiting="b1: refused"), "b1: refused"),
        (
            replace(LIVE, observed_ms=NOW_MS - 15_001),
            "`kraftgate run` no longer reports: is it running?",
        ),
        (replace(LIVE, error="another cluster"), "another cluster"),
    ],
)
@pytest.mark.parametrize(
    ("source", "field"), [(LOG, "status"), (ZOOKEEPER, "zookeeper"), (DISKS, "log_dirs")]
)
def test_a_source_that_does_not_answer_now_is_not_current(
    source: DataSource, field: str, status: SourceStatus, said: str
) -> None:
    assert not_followed(replace(NOW, **{field: status})) == {source: said}  # type: ignore[arg-type]


JMX = EVERYTHING + 'jmx: {exporters: {"1": "http://b1:7071/metrics"}}\n'


def test_jmx_numbers_are_followed_where_they_are_configured() -> None:
    assert DataSource.JMX not in seen().not_current
    assert DataSource.JMX not in seen(replace(NOW, jmx=LIVE), JMX).not_current
    assert seen(text=JMX).not_current[DataSource.JMX] == (
        "nothing was observed yet: is `kraftgate run` running?"
    )
    refused = replace(NOW, jmx=replace(LIVE, error="http://b1:7071/metrics answers 401"))
    assert seen(refused, JMX).not_current[DataSource.JMX].endswith("answers 401")


def test_zookeeper_must_have_been_read_and_be_seen() -> None:
    def without(image: ZooKeeperImage | None) -> ClusterRead:
        return replace(NOW, summary=replace(NOW.summary, zookeeper=image))

    assert not_followed(without(None)) == {ZOOKEEPER: "not read yet"}
    assert not_followed(without(ZooKeeperImage())) == {ZOOKEEPER: "not read yet"}
    blind = replace(SEEN, blind_since_ms=NOW_MS - 5)
    assert not_followed(without(blind)) == {
        ZOOKEEPER: "its connection was lost: changes may have been missed"
    }
    connected = replace(NOW, zookeeper=replace(LIVE, whole_since_ms=NOW_MS))
    assert not_followed(connected) == {
        ZOOKEEPER: "its connection was interrupted, and the facts read since are not processed yet"
    }


def test_what_is_yet_to_be_read_is_not_current_and_a_worse_reason_stands() -> None:
    unread = "committed records have not been read yet"
    late = replace(NOW, status=replace(FRESH, high_watermark=1500))
    assert seen(late).not_current[LOG] == unread
    broken = replace(NOW, status=replace(late.status, error="another cluster"))
    assert seen(broken).not_current[LOG] == "another cluster"


def test_what_the_store_did_not_take_in_for_long_is_not_current() -> None:
    def behind(for_ms: int) -> ClusterRead:
        unread = Journal(last=12, read=10, unread_ms=NOW_MS - for_ms)
        return replace(NOW, journals={DataSource.ZOOKEEPER: unread})

    assert not_followed(behind(15_000)) == {}
    late = not_followed(behind(15_001))
    assert late == {ZOOKEEPER: "journaled facts have not been processed yet"}


POLLED = Polled(
    topics=TopicsSeen(at_ms=NOW_MS - POLLED_MS_MAX, partitions=32),
    settings=SettingsSeen(at_ms=NOW_MS - POLLED_MS_MAX, modes={}),
    quorum=QuorumSeen(at_ms=NOW_MS - POLLED_MS_MAX, leader=3000),
    preflight=PreflightSeen(at_ms=NOW_MS - CHECKED_MS_MAX, checks=40),
)


def test_a_journal_that_cannot_be_read_is_not_current() -> None:
    unreadable = replace(NOW, journals={DataSource.ZOOKEEPER: Journal(last=None, read=10)})
    assert not_followed(unreadable) == {ZOOKEEPER: "journaled facts have not been processed yet"}


UNREAD = {LOG: "committed records have not been read yet"}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"high_watermark": 9_000, "due_offset": 1_440}, {}),
        ({"high_watermark": 9_000, "due_offset": 1_441}, UNREAD),
        ({"high_watermark": 1_440}, {}),
        ({"high_watermark": 1_441}, UNREAD),
        ({"high_watermark": 1_460, "next_offset": 1_460, "busy_until": 1_440}, {}),
        ({"high_watermark": 1_460, "next_offset": 1_460, "busy_until": 1_441}, UNREAD),
        ({"high_watermark": 1_460, "next_offset": 1_459, "busy_until": 1_440}, UNREAD),
        ({"high_watermark": None}, UNREAD),
        ({"high_watermark": None, "finished": True}, {}),
    ],
    ids=[
        "unread for a moment",
        "unread for long",
        "all read, by an older version",
        "one unread, by an older version",
        "only no-op records",
        "more than no-op records",
        "not all fetched",
        "no end known",
        "files read to their end",
    ],
)
def test_records_may_be_unread_for_as_long_as_data_may_be_stale(
    status: Mapping[str, Any], expected: Mapping[DataSource, str]
) -> None:
    """The store includes offset 1439."""
    assert not_followed(replace(NOW, status=replace(FRESH, **status))) == expected


def test_what_was_not_polled_yet_is_not_blamed_on_an_operator() -> None:
    """The reason names the data and who has it, and nothing that somebody left undone."""
    found = parse("isr_full").judge(seen(polled=Polled()))
    assert found.reason == "the partition state: not polled from the brokers yet"
    why = seen(polled=Polled()).not_current
    assert why[DataSource.QUORUM] == "not polled from the controllers yet"
    assert why[DataSource.PREFLIGHT] == "not run yet"


def test_what_was_asked_for_is_current_for_a_while() -> None:
    now = seen(polled=POLLED)
    assert not now.not_current
    assert (now.topics, now.settings, now.quorum, now.preflight) == (
        POLLED.topics,
        POLLED.settings,
        POLLED.quorum,
        POLLED.preflight,
    )
    later = assessed(NOW, NOW_MS + 1, of=entry(), polled=POLLED).assessment.view
    assert later.not_current == {
        DataSource.TOPICS: "the last answer is older than 30 s",
        DataSource.SETTINGS: "the last answer is older than 30 s",
        DataSource.QUORUM: "the last answer is older than 30 s",
        DataSource.PREFLIGHT: "the last answer is older than 30 min",
    }


def test_what_could_not_be_had_says_why() -> None:
    failed = seen(polled=replace(POLLED, topics=Unknown("b1:9092 refused")))
    assert failed.not_current == {DataSource.TOPICS: "b1:9092 refused"}
    assert failed.topics is None


def test_hazards_are_those_of_now() -> None:
    later = replace(NOW, summary=cluster(Phase.FINALIZED, *HYBRID.summary.brokers))
    assert {str(each.kind) for each in seen(later).hazards} >= {"finalized_too_early"}


def test_the_soak_counts_since_all_others_hold_without_a_break() -> None:
    done = replace(NOW, summary=replace(cluster(Phase.FINALIZED, kraft(1)), zookeeper=SEEN))
    joint = JointConditions([parse("finalized"), parse("soak(10s)")])

    def at(one: ClusterRead, after_s: int) -> list[Verdict]:
        now_ms = NOW_MS + after_s * 1000
        fresh = replace(one, status=replace(FRESH, observed_ms=now_ms, last_reply_ms=now_ms))
        found = joint.evaluate(assessed(fresh, now_ms, of=entry()).assessment.view)
        return [each.verdict for each in found]

    waiting = [Verdict.SATISFIED, Verdict.WAITING]
    assert at(done, 0) == waiting
    assert at(done, 9) == waiting
    assert at(done, 10) == [Verdict.SATISFIED, Verdict.SATISFIED]
    assert at(NOW, 11) == [Verdict.WAITING, Verdict.WAITING]
    assert at(done, 12) == waiting
    assert at(done, 21) == waiting
    assert at(done, 22) == [Verdict.SATISFIED, Verdict.SATISFIED]


@pytest.mark.parametrize("text", ["finalized", "nothing_held", "offset(0)"])
def test_data_that_is_not_the_present_meets_nothing(text: str) -> None:
    done = replace(NOW, summary=cluster(Phase.FINALIZED, kraft(1)))
    assert parse(text).judge(seen(done)).verdict is Verdict.SATISFIED
    for status in (NO_STATUS, replace(FRESH, error="refused")):
        stale = seen(replace(done, status=status))
        assert parse(text).judge(stale).verdict is Verdict.UNKNOWN
