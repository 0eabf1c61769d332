"""Evidence is cut in one place, and the last line counts exactly what is left out."""

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from migration.assessment.conditions import TopicsSeen, Verdict, parse
from migration.assessment.currency import CURRENT
from migration.assessment.hazards import Hazard, HazardKind, hazards
from migration.comparison.differences import Difference
from migration.image.summary import Mode
from migration.observed.log_dirs import BrokerDisks, CutOff, DisksImage
from migration.values.evidence import EVIDENCE_MAX, bounded
from orchestrator.api.rows import HazardRow, finding_row
from orchestrator.views.console.state.rows import hazards as console_hazards
from tests.migration.assessment.conditions.views import COMPARED, NOW, broker, directory, seen, view

PARTITIONS = 99


def left_out(lines: list[str]) -> int:
    """What the last line counts; 0: it is a fact."""
    counted = re.fullmatch(r"and (\d+) more", lines[-1])
    return int(counted[1]) if counted else 0


@given(st.lists(st.text(min_size=1), max_size=60), st.integers(0, 200))
def test_shown_and_counted_lines_are_all_lines(lines: list[str], total: int) -> None:
    shown = bounded(lines, total)
    assert len(shown) <= EVIDENCE_MAX
    everything = max(total, len(lines))
    if everything == len(lines) <= EVIDENCE_MAX:
        assert shown == tuple(lines)
    else:
        assert len(shown) - 1 + left_out(list(shown)) == everything


def test_isr_full_names_some_of_99_partitions_and_counts_the_others() -> None:
    """The brokers' answer names 20, of which 15 are shown behind what sums them up."""
    topics = TopicsSeen(
        at_ms=NOW,
        partitions=PARTITIONS,
        under_replicated=PARTITIONS,
        missing={3: PARTITIONS},
        odd=PARTITIONS,
        named=tuple(f"orders-{n}: leader 1, replicas [1, 3], ISR [1]" for n in range(20)),
    )
    now = view(seen(under_replicated=PARTITIONS, partitions=PARTITIONS).summary, topics=topics)
    found = parse("isr_full").judge(now)
    assert found.verdict is Verdict.WAITING
    told = finding_row(found).public()
    assert told["evidence"] == list(found.evidence)
    lines = list(found.shown)
    partitions = [each for each in lines if each.startswith("orders-")]
    assert len(partitions) + left_out(lines) == PARTITIONS
    assert told["evidence_total"] == len(lines) - 1 + left_out(lines)


def only(found: tuple[Hazard, ...], kind: HazardKind) -> Hazard:
    return next(each for each in found if each.kind is kind)


def test_a_hazard_counts_what_no_comparison_named() -> None:
    named = tuple(
        Difference(kind="misplaced", subject=f"orders-{n}", broker=1, path="/d", seen="a",
                   logged="b")
        for n in range(30)
    )  # fmt: skip
    places = replace(COMPARED, lasting={"misplaced": PARTITIONS}, named=named)
    found = [
        each
        for each in hazards(seen(places=places).summary, NOW, CURRENT)
        if each.kind is HazardKind.REPLICA_MISPLACED
    ]
    assert [(each.broker, len(each.evidence)) for each in found] == [(None, 0), (1, 30)]
    for hazard, total in zip(found, (PARTITIONS - 30, 30), strict=True):
        row = HazardRow.model_validate(hazard).public()
        assert (row["evidence"], row["evidence_total"]) == (list(hazard.evidence), total)
        (on_the_page,) = console_hazards([hazard])
        assert (on_the_page.evidence, on_the_page.evidence_total) == (hazard.shown, total)
        lines = [each for each in hazard.shown if each.startswith("broker ")]
        assert len(lines) + left_out(list(hazard.shown)) == total


def test_no_hazard_says_the_way_out_however_much_evidence_there_is() -> None:
    cut_off = CutOff(since_ms=1, replicas=PARTITIONS, sole=0, bytes=0, named=())
    one = BrokerDisks(
        id=3, log_dirs=(directory("/d1", error=56), directory("/d2")), cut_off={"/d1": cut_off}
    )
    now = seen(broker(3, mode=Mode.MIGRATING), disks=DisksImage(brokers={3: one}))
    found = parse("no_hazard(restart, 3)").judge(now)
    assert found.verdict is Verdict.VIOLATED
    assert found.evidence[0].startswith("way out: ")
    assert found.evidence_total >= PARTITIONS
