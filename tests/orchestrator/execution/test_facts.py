"""What a judgement may rest on: answers that were taken in before the look it is made with."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace

import pytest

from migration.assessment.conditions import Finding, Verdict, external
from migration.assessment.conditions.parse import parse
from migration.image.summary import Phase
from migration.observed.source_status import SourceStatus
from orchestrator.execution.facts import FactFinder
from orchestrator.run.probes.poller import EVERY_S, Poller
from orchestrator.run.reader import ClusterRead
from tests.scenes.night import cluster, kraft

LAG = external("lag")
QUIET = parse("no_broker_fenced")
SINCE_MS = 100_000


@pytest.fixture
def under_way(monkeypatch: pytest.MonkeyPatch) -> list[Future[Finding]]:
    """Every asking that was begun, so that a test knows when its answer is there."""
    begun: list[Future[Finding]] = []
    submit = ThreadPoolExecutor.submit

    def noted(pool: ThreadPoolExecutor, ask: Callable[[], Finding]) -> Future[Finding]:
        begun.append(submit(pool, ask))
        return begun[-1]

    monkeypatch.setattr(ThreadPoolExecutor, "submit", noted)
    return begun


def told(lag: int) -> Finding:
    return Finding(condition="lag", verdict=Verdict.WAITING, reason=f"lag is {lag}")


def test_an_answer_counts_once_it_was_taken_in_and_not_by_itself(
    under_way: list[Future[Finding]],
) -> None:
    """A snapshot in progress was read before the answer arrived: it must not count as current."""
    with closing(Poller({}, {"lag": lambda: told(9)}, clock_s=lambda: 100.0)) as poller:
        finder = FactFinder(poller)
        finder.want([LAG], SINCE_MS)
        wait(under_way)
        assert not finder.is_fresh([LAG], SINCE_MS, ())
        assert poller.answers.external == {}
        finder.store_answers()
        assert finder.is_fresh([LAG], SINCE_MS, ())
        assert not finder.is_fresh([LAG], SINCE_MS + 1, ())
        assert poller.answers.external == {"lag": told(9)}


def test_what_is_kept_is_asked_for_when_it_is_due_and_nothing_else(
    under_way: list[Future[Finding]],
) -> None:
    now_s = time.time()
    own = {"lag": lambda: told(0), "never": lambda: told(1)}
    with closing(Poller({}, own, clock_s=lambda: now_s)) as poller:
        for count in (1, 2):
            poller.poll_due({"lag"})
            wait(under_way)
            poller.store_answers()
            poller.poll_due({"lag"})  # not due
            assert len(under_way) == count
            now_s += EVERY_S
        assert poller.answers.external == {"lag": told(0)}


def looked(read: int, **status: int | None) -> ClusterRead:
    """A snapshot that contains `read` records; the controller answered at SINCE_MS."""
    summary = replace(cluster(Phase.HYBRID, kraft(1)), metadata_offset=read - 1)
    source = SourceStatus(observed_ms=SINCE_MS, last_reply_ms=SINCE_MS, **status)  # type: ignore[arg-type]
    return ClusterRead(summary=summary, events=(), status=source)


@pytest.mark.parametrize(
    ("read", "status", "fresh"),
    [
        (90, {"high_watermark": 100, "next_offset": 100, "busy_until": 90}, True),
        (89, {"high_watermark": 100, "next_offset": 100, "busy_until": 90}, False),
        (90, {"high_watermark": 100, "next_offset": 100, "busy_until": None}, False),
        (90, {"high_watermark": 100, "next_offset": 99, "busy_until": 90}, False),
        (100, {"high_watermark": 100, "next_offset": 99, "busy_until": 90}, True),
        (90, {"high_watermark": None, "next_offset": 99, "busy_until": 90}, False),
    ],
    ids=["but no-ops", "one short", "not known", "not all fetched", "all taken in", "no word"],
)
def test_the_log_is_read_when_nothing_but_no_ops_is_left(
    read: int, status: dict[str, int | None], fresh: bool
) -> None:
    """The job takes single no-op records in late; they say nothing."""
    with closing(Poller({}, {}, clock_s=lambda: 100.0)) as poller:
        finder = FactFinder(poller)
        finder.note(looked(read, **status))
        assert finder.is_fresh([QUIET], SINCE_MS, ()) is fresh
