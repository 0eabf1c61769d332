"""What a judgement may rest on: answers that were taken in before the look it is made with."""

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace

import pytest

from migration.assessment.conditions import DataSource, Finding, Verdict, external
from migration.assessment.conditions.parse import parse
from migration.assessment.polled import Polled
from migration.image.summary import Phase
from migration.observed.probed import Unknown
from migration.observed.source_status import SourceStatus
from orchestrator.audit.execution.state import CheckpointState
from orchestrator.execution.evaluation import PartEvaluator
from orchestrator.execution.facts import FactFinder
from orchestrator.run.probes.poller import EVERY_S, STALE_S, OwnPoll, Poller
from orchestrator.run.reader import ClusterRead
from tests.migration.assessment.conditions.views import quorum
from tests.scenes.night import HYBRID, NOW_MS, cluster, kraft
from tests.support.assessing import assessed

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


def lag_is(lag: int) -> Finding:
    return Finding(condition="lag", verdict=Verdict.WAITING, reason=f"lag is {lag}")


def test_an_answer_counts_once_it_was_taken_in_and_not_by_itself(
    under_way: list[Future[Finding]],
) -> None:
    """A snapshot in progress was read before the answer arrived: it must not count as current."""
    with closing(Poller({}, {"lag": OwnPoll(lambda: lag_is(9))}, clock_s=lambda: 100.0)) as poller:
        finder = FactFinder(poller)
        finder.want([LAG], SINCE_MS)
        wait(under_way)
        assert not finder.is_fresh([LAG], SINCE_MS, ())
        assert poller.answers.external == {}
        finder.store_answers()
        assert finder.is_fresh([LAG], SINCE_MS, ())
        assert not finder.is_fresh([LAG], SINCE_MS + 1, ())
        assert poller.answers.external == {"lag": lag_is(9)}


def test_what_is_kept_is_asked_for_when_it_is_due_and_nothing_else(
    under_way: list[Future[Finding]],
) -> None:
    now_s = time.time()
    own = {"lag": OwnPoll(lambda: lag_is(0)), "never": OwnPoll(lambda: lag_is(1))}
    with closing(Poller({}, own, clock_s=lambda: now_s)) as poller:
        for count in (1, 2):
            poller.poll_due({"lag"})
            wait(under_way)
            poller.store_answers()
            poller.poll_due({"lag"})  # not due
            assert len(under_way) == count
            now_s += EVERY_S
        assert poller.answers.external == {"lag": lag_is(0)}


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


def test_an_own_condition_that_hangs_keeps_no_earlier_answer(
    under_way: list[Future[Finding]],
) -> None:
    """Its command may run for hours; a guard must not rest on what it found before."""
    now_s, hangs = [100.0], threading.Event()
    calls = itertools.count()

    def ask() -> Finding:
        if next(calls) == 0:
            return lag_is(1)
        hangs.wait()
        return lag_is(9)

    own = {"lag": OwnPoll(ask, limit_s=60)}
    with closing(Poller({}, own, clock_s=lambda: now_s[0])) as poller:
        poller.poll_due(["lag"])
        wait(under_way)
        poller.store_answers()
        now_s[0] += 10
        poller.poll_due(["lag"])
        poller.store_answers()
        assert poller.answers.external["lag"] == lag_is(1)
        now_s[0] += STALE_S
        poller.store_answers()
        assert poller.answers.external["lag"] == lag_is(1), "it may take a minute"
        now_s[0] += 60
        poller.store_answers()
        assert poller.answers.external["lag"].verdict is Verdict.UNKNOWN
        hangs.set()
        wait(under_way)
        poller.store_answers()
        assert poller.answers.external["lag"] == lag_is(9)


def test_nothing_counts_that_was_polled_before_the_clock_was_set_back(
    under_way: list[Future[Finding]],
) -> None:
    now_s = NOW_MS / 1000
    well = Finding(condition="lag", verdict=Verdict.SATISFIED, reason="lag is 0")
    with closing(Poller({}, {"lag": OwnPoll(lambda: well)}, clock_s=lambda: now_s)) as poller:
        finder = FactFinder(poller)
        evaluator = PartEvaluator(finder)

        def holds() -> bool:
            finder.store_answers()
            evaluator.begin_tick()
            polled = finder.polled()
            view = assessed(HYBRID, round(now_s * 1000), polled=polled).assessment.view
            found = evaluator.evaluate(CheckpointState(id="x"), "opens_when", [LAG], view, {})
            wait(under_way)
            return found.holds

        assert any(holds() for _ in range(5))
        polls = len(under_way)
        now_s -= 600
        assert not holds()
        assert len(under_way) > polls
        assert any(holds() for _ in range(5))


def test_an_answer_of_the_future_is_not_current() -> None:
    polled = Polled(quorum=quorum(at_ms=NOW_MS + 60_000))
    view = assessed(HYBRID, NOW_MS, polled=polled).assessment.view
    assert view.not_current[DataSource.QUORUM] == "the clock was set back after the last answer"


def test_a_failed_poll_of_followed_directories_counts_only_while_it_is_repeated(
    under_way: list[Future[object]],
) -> None:
    why = Unknown("the log directories could not be polled now")
    with closing(Poller({DataSource.LOG_DIRS: lambda: why}, {}, clock_s=lambda: 100.0)) as poller:
        finder = FactFinder(poller)
        finder.keep([parse("log_dirs_online")])
        finder.polled()
        wait(under_way)
        finder.store_answers()
        finder.keep([parse("log_dirs_online")])
        assert finder.polled().log_dirs == why
        assert finder.polled().log_dirs is None
