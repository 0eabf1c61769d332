"""The state of a tick: rows, cells, the first wait; a change contains only what is new."""

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.assessment.conditions import Verdict
from migration.comparison.result import Compared, Identity
from migration.image.summary import ClusterSummary, Phase
from migration.observed.log_dirs import CutOff, DisksImage
from migration.observed.source_status import NO_STATUS
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.audit.execution.entries import RecordedFinding
from orchestrator.audit.execution.state import Stage
from orchestrator.errors import AuditError
from orchestrator.redaction.redactor import Redactor
from orchestrator.run.assessed import Tick
from orchestrator.run.execution_status import CheckpointStatus, ExecutionStatus
from orchestrator.run.reader import ClusterRead
from orchestrator.runbook.load import load
from orchestrator.views.console.access.redaction import RedactedJson
from orchestrator.views.console.feed import hub, publisher
from orchestrator.views.console.feed.hub import ClusterUpdate, Hub
from orchestrator.views.console.feed.publisher import Publisher, Tail
from orchestrator.views.console.state.cluster import StateBuilder
from orchestrator.views.console.state.disks import disk_facts, disks_row
from tests.migration.assessment.conditions.views import all_disks, directory, disks
from tests.orchestrator.views.console import sample
from tests.orchestrator.views.console.reading import apply, valid
from tests.orchestrator.views.console.world import World
from tests.orchestrator.views.metrics.scraping import seen
from tests.scenes.night import (
    EVENTS,
    FIVE_MINUTES_MS,
    FRESH,
    HYBRID,
    NOW_MS,
    WATCHED,
    cluster,
    held,
    kraft,
    migrating,
    replicas,
)
from tests.support.assessing import assessed, entry

CLEAN = RedactedJson(Redactor())
RUNBOOK = load("zk-to-kraft-jbod")
ID = "uSLaubyUxZGsRKrz8FtoCw"


def looked(one: ClusterRead, now_ms: int = NOW_MS, **more: Any) -> Tick:
    return Tick(at_ms=now_ms, clusters=(seen(one, now_ms=now_ms, **more),))


class Pages:
    """The state of one cluster, as pages get it."""

    def __init__(self) -> None:
        stays: dict[str, str | int] = {"version": "1", "stall_after_ms": 1, "insecure": False}
        self.hub = Hub({"prod": True}, stays, 1, 0)
        self.builder = StateBuilder(CLEAN, RUNBOOK)

    def tick(self, one: ClusterRead, now_ms: int = NOW_MS, *events: tuple[int, bytes]) -> None:
        state = self.builder.state(seen(one, now_ms=now_ms))
        self.hub.take(now_ms, [ClusterUpdate(cluster="prod", state=state, events=events)])

    def since(self, version: int) -> Any:
        """What changed of the cluster; of version 0 all of it."""
        found = json.loads(self.hub.since(version))
        valid("Change" if version else "State", found)
        return next(iter(found["clusters"]), {})

    def news(self, one: ClusterRead, now_ms: int = NOW_MS) -> Any:
        """What changes with a tick."""
        before = self.hub.version
        self.tick(one, now_ms)
        return {} if self.hub.version == before else self.since(before)


def state_of(one: ClusterRead, now_ms: int = NOW_MS) -> Any:
    """The one cluster of a tick's state."""
    return Pages().news(one, now_ms)


def night(**changes: Any) -> ClusterRead:
    return replace(HYBRID, summary=replace(HYBRID.summary, **changes))


def test_a_row_per_broker() -> None:
    done, moving, pending = state_of(HYBRID)["brokers"]
    assert done["unfenced_early"] == {"pending": 32, "duration_ms": 70}
    assert not done["is_unfenced_early"]
    assert (moving["mode"], moving["held"], moving["pending"]) == ("migrating", False, 32)
    assert pending["replicas"]["migrating"] == 8
    assert (pending["pending"], pending["total"], pending["held"]) == (12, 64, True)
    assert pending["is_unfenced_early"]
    assert pending["last_progress_ms"] == NOW_MS - 4_000
    assert [each["urgency"] for each in (done, moving, pending)] == [31, 30, 15]
    assert [each["in_order"] for each in (done, moving, pending)] == [True, True, False]


def test_a_broker_with_a_failed_directory_is_not_in_order() -> None:
    failed = disks(2, directory("/d1"), directory("/d2", error=56))
    rows = state_of(night(disks=all_disks(failed)))["brokers"]
    assert [each["in_order"] for each in rows] == [True, False, False]
    assert [each["urgency"] for each in rows] == [31, 26, 15]


def test_a_broker_that_only_zookeeper_knows_has_no_numbers() -> None:
    unknown = migrating(7, epoch=None, mode="zookeeper", replicas=replicas())
    (row,) = state_of(night(brokers=(unknown,)))["brokers"]
    assert not row["replicas_known"]
    for key in ("epoch", "pending", "total", "under_replicated"):
        assert row[key] is None


def test_before_the_first_record_no_count_is_known() -> None:
    head = state_of(night(metadata_offset=None))["head"]
    for key in ("topics", "partitions", "leaderless", "held", "fenced", "unfenced_early"):
        assert head[key] is None, key


def ids(news: Any) -> list[int]:
    return [each["id"] for each in news.get("brokers", ())]


def test_only_what_changed_is_new() -> None:
    pages = Pages()
    assert ids(pages.news(HYBRID)) == [1, 2, 3]
    assert pages.news(HYBRID) == {}
    changed = night(brokers=(*HYBRID.summary.brokers[:2], held(3, fenced=True)))
    assert ids(pages.news(changed)) == [3]
    news = pages.news(night(brokers=HYBRID.summary.brokers[:2]))
    assert (ids(news), news["brokers_gone"]) == ([], [3])


def test_time_alone_makes_no_new_rows_but_a_stall_does() -> None:
    pages = Pages()
    assert ids(pages.news(HYBRID)) == [1, 2, 3]
    assert ids(pages.news(HYBRID, NOW_MS + 900)) == []
    news = pages.news(HYBRID, NOW_MS + FIVE_MINUTES_MS)
    assert ids(news) == [3]
    assert news["brokers"][0]["stalled"] is True


@pytest.mark.parametrize(
    ("status", "current"),
    [
        (FRESH, "current"),
        (replace(FRESH, high_watermark=9_000), "reading"),
        (replace(FRESH, last_reply_ms=NOW_MS - 60_000), "stale"),
        (replace(FRESH, observed_ms=NOW_MS - 60_000), "stale"),
        (NO_STATUS, "stale"),
        (replace(FRESH, last_reply_ms=None), "stale"),
        (replace(FRESH, error="another cluster"), "source_error"),
        (replace(FRESH, finished=True), "finished"),
    ],
)
def test_what_is_not_the_present_is_said(status: Any, current: str) -> None:
    head = state_of(replace(HYBRID, status=status))["head"]
    assert head["current"] == current
    assert head["current_text"]
    if current not in ("current", "finished"):
        assert head["eta"]["seconds"] is None


def test_known_data_is_old_until_a_controller_answers_after_a_restart() -> None:
    head = state_of(replace(HYBRID, status=replace(FRESH, last_reply_ms=None)))["head"]
    assert head["current_text"] == "a controller to answer: none has since kraftgate started"
    unread = replace(HYBRID.summary, metadata_offset=None, observed_ms=None)
    for status in (NO_STATUS, replace(FRESH, last_reply_ms=NOW_MS - 60_000)):
        assert state_of(replace(HYBRID, summary=unread, status=status))["head"]["current"] == (
            "no_data"
        )


def test_a_log_that_is_over_is_over_although_nobody_answered() -> None:
    summary = replace(cluster(Phase.ROLLED_BACK), zookeeper=ZooKeeperImage(seen_ms=NOW_MS - 60_000))
    rolled_back = replace(HYBRID, summary=summary, status=replace(FRESH, last_reply_ms=None))
    assert state_of(rolled_back)["head"]["current"] == "over"


def test_a_source_that_the_cluster_no_longer_uses_is_not_current() -> None:
    """As in `kraftgate_source_current`, which does not have it."""
    summary = replace(cluster(Phase.FINALIZED, kraft(1)), zookeeper=WATCHED.summary.zookeeper)
    for one, is_used in ((WATCHED, True), (replace(WATCHED, summary=summary), False)):
        (row,) = (each for each in state_of(one)["sources"] if each["name"] == "zookeeper")
        assert row["configured"]
        assert (row["in_use"], row["current"]) == (is_used, is_used)


def test_the_next_action_is_the_assessments() -> None:
    found = state_of(WATCHED)["head"]["next"]
    now = seen(WATCHED).assessment.next
    assert (found["headline"], found["why"]) == (now.headline, now.why)
    assert (found["need"], found["broker"], found["more"]) == ("waiting", 3, 1)
    done = ClusterRead(summary=cluster(Phase.FINALIZED, kraft(1)), events=EVENTS, status=FRESH)
    assert state_of(done)["head"]["next"]["need"] == "nothing"


def walk(**changes: Any) -> ExecutionStatus:
    place = CheckpointStatus(
        id="brokers-kraft[3]", stage=Stage.STEP_DONE, how=None, entered_ms=NOW_MS, ended_ms=None
    )
    found = RecordedFinding(
        condition="c", verdict=Verdict.WAITING, reason="r", evidence=("e",), broker=3
    )
    well: dict[str, Any] = {
        "at_ms": NOW_MS,
        "runbook": "zk-to-kraft-jbod",
        "checkpoint": place.id,
        "title": "Brokers",
        "stage": place.stage,
        "holds": ("assignments_complete(3): 12 of 64", "isr_full(3): 1 of 64"),
        "findings": (found,),
        "shown": None,
        "path": None,
        "paused": None,
        "outcome": None,
        "execute": False,
        "asks": None,
        "places": (place,),
        "unexpected": (),
    }
    return ExecutionStatus.model_validate(well | changes)


def test_the_other_reasons_are_counted() -> None:
    found = state_of(replace(WATCHED, execution=walk(turn="Restart broker 3")))["head"]["next"]
    assert (found["need"], found["text"], found["more"]) == ("your_turn", "Restart broker 3", 2)


def test_what_cannot_be_undone_is_marked_with_how_many_approve_it() -> None:
    def marked(path: str | None) -> dict[str, Any]:
        return {
            each["id"]: (each["irreversible"], each["destructive"], each["people"])
            for each in state_of(replace(HYBRID, execution=walk(path=path)))["checkpoints"]
        }

    ahead, back = marked(None), marked("from-hybrid")
    assert (ahead["finalize"], ahead["zookeeper-off"]) == ((True, False, 2), (False, True, 1))
    assert (back["back-controllers"], back["back-znodes"]) == ((False, True, 1), (False, True, 0))


def cells(summary: ClusterSummary) -> Any:
    (row,) = state_of(replace(HYBRID, summary=summary, log_dirs=FRESH))["disks"]
    return row


def one_broker(reported: Any, **changes: Any) -> ClusterSummary:
    broker = held(3, replicas=replicas(assigned=10, migrating=20), directories={ID: 10}, **changes)
    return replace(cluster(Phase.HYBRID, broker), disks=all_disks(disks(3, *reported)))


def test_the_heat_map_tells_assigned_pending_and_offline_apart() -> None:
    at = sample.Moment(now_ms=NOW_MS, began_ms=NOW_MS - 1, moving=2, registered_ms=NOW_MS - 9)
    shape = replace(sample.SMALL, offline=frozenset({1}), silent=frozenset({4}))
    one = replace(HYBRID, summary=sample.cluster(shape, at), log_dirs=FRESH)
    rows = state_of(one)["disks"]
    broken, complete = rows[0]["cells"]
    assert (broken["state"], broken["offline"], broken["on_disk"]) == ("offline", 32, None)
    assert (complete["state"], complete["assigned"], complete["pending"]) == ("online", 32, 0)
    assert [(each["assigned"], each["pending"]) for each in rows[1]["cells"][:2]] == [(0, 32)] * 2
    assert rows[1]["pending_elsewhere"] == 0
    assert {each["state"] for each in rows[3]["cells"] if each["path"]} == {"unknown"}
    assert {each["pending"] for each in rows[3]["cells"]} == {None}
    assert rows[3]["silent"] == "no answer within 30 s"


def test_what_is_not_known_of_a_directory_is_not_guessed() -> None:
    """Two paths, one directory with replicas: it is unknown which path it has."""
    row = cells(one_broker([directory("/d1"), directory("/d2")], log_dirs=(ID,)))
    first, second, unnamed = row["cells"]
    for each in (first, second):
        assert (each["directory"], each["assigned"], each["pending"]) == (None, None, None)
        assert each["on_disk"] == 16
    assert (unnamed["path"], unnamed["directory"], unnamed["assigned"]) == (None, ID, 10)
    assert row["pending_elsewhere"] == 20


def test_an_id_that_two_paths_claim_is_the_id_of_neither() -> None:
    both = Compared(identities=(identity("/d1"), identity("/d2")))
    summary = one_broker([directory("/d1"), directory("/d2")], log_dirs=(ID,))
    found = [
        (each["path"], each["directory"], each["assigned"])
        for each in cells(replace(summary, places=both))["cells"]
    ]
    assert found == [("/d1", None, None), ("/d2", None, None), (None, ID, 10)]


def test_an_id_that_is_no_longer_registered_is_not_that_of_an_online_path() -> None:
    other = "AQEBAQEBAQEBAQEBAQEBAQ"
    described = [directory("/d1", error=56), directory("/d2")]
    summary = one_broker(described, log_dirs=(other,), unregistered={ID: None})
    places = Compared(identities=(identity("/d2"),))
    found = [
        (each["path"], each["directory"])
        for each in cells(replace(summary, places=places))["cells"]
    ]
    assert found == [("/d1", ID), ("/d2", None), (None, other)]


def identity(path: str) -> Identity:
    return Identity(broker=3, path=path, directory=ID, by="replicas", agreeing=9, others=0)


def test_while_the_disks_are_not_current_nothing_on_them_is_known() -> None:
    summary = one_broker([directory("/d1", directory_id=ID, replicas=36)], log_dirs=(ID,))
    row = state_of(replace(HYBRID, summary=summary, log_dirs=NO_STATUS))["disks"][0]
    assert (row["cells"][0]["state"], row["cells"][0]["on_disk"]) == ("unknown", None)
    assert row["silent"] == "nothing was observed yet: is `kraftgate run` running?"


def test_disks_that_no_source_reads_any_more_are_shown_as_last_known() -> None:
    """`brokers:` was removed; the store keeps what the last poll described."""
    summary = one_broker([directory("/d1", error=56), directory("/d2", replicas=36)])
    read = replace(HYBRID, summary=summary)
    unread = assessed(read, NOW_MS, of=entry("controllers", "zookeeper"))
    (row,) = map(disks_row, disk_facts(unread))
    assert [(each.state, each.on_disk) for each in row.cells if each.path] == [
        ("offline", None),
        ("unknown", None),
    ]
    assert row.silent == "`brokers` is not configured"


def test_no_more_is_pending_than_the_broker_has() -> None:
    named = [directory("/d1", directory_id=ID, replicas=90), directory("/d2", replicas=90)]
    row = cells(one_broker(named, log_dirs=(ID,)))
    assert [each["pending"] for each in row["cells"]] == [20, None]
    assert row["pending_elsewhere"] == 0


def test_a_directory_that_the_registration_no_longer_names_is_offline() -> None:
    broker = kraft(
        3, log_dirs=("AQEBAQEBAQEBAQEBAQEBAQ",), directories={ID: 10}, unregistered={ID: None}
    )
    row = cells(replace(cluster(Phase.HYBRID, broker), disks=DisksImage()))
    reported = {each["directory"]: (each["state"], each["offline"]) for each in row["cells"]}
    assert reported == {ID: ("offline", 10), "AQEBAQEBAQEBAQEBAQEBAQ": ("online", 0)}


def test_a_path_and_an_id_of_one_failed_directory_are_one_cell() -> None:
    other = "AQEBAQEBAQEBAQEBAQEBAQ"
    broker = kraft(3, log_dirs=(other,), directories={ID: 10}, unregistered={ID: None})
    bad = disks(3, directory("/d1", error=56), directory("/d2", directory_id=other))
    row = cells(replace(cluster(Phase.HYBRID, broker), disks=all_disks(bad)))
    assert [(each["path"], each["directory"], each["state"]) for each in row["cells"]] == [
        ("/d1", ID, "offline"),
        ("/d2", other, "online"),
    ]


def test_a_directory_that_only_zookeeper_reports_has_neither_path_nor_id() -> None:
    reported = ZooKeeperImage(notified={3: NOW_MS})
    row = cells(replace(cluster(Phase.ZOOKEEPER), zookeeper=reported, disks=None))
    assert row["broker"] == 3
    assert [(each["path"], each["directory"], each["state"]) for each in row["cells"]] == [
        (None, None, "offline")
    ]


def test_what_was_cut_off_is_told_where_it_lies() -> None:
    lost = CutOff(since_ms=NOW_MS, replicas=7, sole=1, bytes=1, named=())
    seen_ = replace(disks(3, directory("/d1", error=56)), cut_off={"/d1": lost})
    summary = replace(cluster(Phase.HYBRID, kraft(3)), disks=all_disks(seen_))
    assert cells(summary)["cells"][0]["offline"] == 7


_BROKERS = st.lists(
    st.sampled_from([kraft(1), held(1), migrating(2), held(2), kraft(3), held(3, fenced=True)]),
    unique_by=lambda each: each.id,
)


@given(nights=st.lists(_BROKERS, min_size=1, max_size=6), joined=st.data())
def test_changes_from_any_version_add_up_to_the_state(nights: Any, joined: Any) -> None:
    """However many looks a page missed in between, and in whichever order events arrive."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hub, "EVENTS_KEPT", 3)
        _add_up(nights, joined)


def _add_up(nights: Any, joined: Any) -> None:
    pages = Pages()
    state: Any = None
    known = 0
    for number, brokers in enumerate(nights):
        if joined.draw(st.booleans()):  # the builder begins again
            pages.builder = StateBuilder(CLEAN, RUNBOOK)
        at_ms = joined.draw(st.integers(1, 3))
        event = at_ms, json.dumps({"n": number, "at_ms": at_ms}).encode()
        summary = tuple(sorted(brokers, key=lambda each: each.id))
        pages.tick(night(brokers=summary), NOW_MS + number, event)
        if state is None:
            state, known = json.loads(pages.hub.since(0)), pages.hub.version
        elif joined.draw(st.booleans()) or number == len(nights) - 1:
            apply(state, json.loads(pages.hub.since(known)))
            known = pages.hub.version
    assert state == json.loads(pages.hub.since(0))


def test_an_execution_by_another_runbook_has_no_checkpoints() -> None:
    """The execution ended; the runbook of the next attempt has no such rollback path."""
    read = replace(HYBRID, execution=walk(path="from-nowhere"))
    assert state_of(read)["checkpoints"] == []


@pytest.mark.parametrize("error", [AuditError("the disk is full"), KeyError("the disk is full")])
def test_after_a_read_error_everything_is_built_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    monkeypatch.setattr(publisher, "_AGAIN_S", 0.0)
    world = World(tmp_path / "world", NOW_MS)
    shown: list[ClusterUpdate] = []
    failing = [True]
    real = Tail.new

    def fails_once(tail: Any, name: str) -> Any:
        if failing.pop() if failing else False:
            raise error
        return real(tail, name)

    monkeypatch.setattr(Tail, "new", fails_once)
    got = threading.Event()

    def show(at_ms: int, updates: Sequence[ClusterUpdate]) -> None:
        assert at_ms == NOW_MS
        shown.extend(updates)
        got.set()

    works = Publisher(world.config, CLEAN, {}, show)
    works.take(looked(HYBRID))
    works.start()
    while not got.wait(0.05):
        works.take(looked(HYBRID))
    works.stop()
    world.close()
    assert shown[0].missed
    assert set(shown[0].state.rows["brokers"]) == {1, 2, 3}
    assert "the disk is full" in caplog.text
