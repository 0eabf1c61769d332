"""The poller: a thread that requests all nodes' JMX numbers in turn and appends changes.

Input: a configuration, where to append facts, a clock. Output: facts, and `status`. Each address is
requested in a thread of a small pool; one whose request is still open is not requested again, and
counts as silent.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from migration.observed.facts import JmxFact, JmxNodes, JmxSeen, JmxUnreachable
from migration.observed.jmx_names import JmxName
from migration.observed.source_status import SourceStatus
from migration.values.evidence import joined
from streams.jmx.config import JmxConfig
from streams.jmx.errors import AccessRefused, JmxError, Unreachable
from streams.jmx.exposition import Reading, in_order, numbers_in
from streams.jmx.http import Http
from streams.jmx.prometheus import LOOK_BACK_S, REQUESTS, read_prometheus
from streams.process.background import BackgroundThread, until_next

_STOP_S: Final = 10.0
_GRACE_S: Final = 1.0
AGAIN_MS: Final = 30_000
"""The maximum time between two facts of a node that answers, apart from the interval of the polls.

Conclusions about a number that does not change (a queue that stays full) depend on these facts.
"""

NodeFact: TypeAlias = JmxSeen | JmxUnreachable
_Read: TypeAlias = dict[int, tuple[Reading, int]]
"""By node, its reading and when that was read, by the wall clock."""

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _Round:
    """The result of one round; `failures` by node, or None for all of them."""

    read: _Read = field(default_factory=dict)
    failures: dict[int | None, JmxError] = field(default_factory=dict)


class JmxPoller(BackgroundThread):
    """Polls one cluster's JMX numbers."""

    def __init__(
        self,
        config: JmxConfig,
        append: Callable[[Sequence[JmxFact]], object],
        clock: Callable[[], int],
    ) -> None:
        """`append` stores facts durably, all or none, before it returns."""
        super().__init__("jmx", _STOP_S)
        self._config = config
        self._append = append
        self._clock = clock
        self._http = Http(config.access, config.deadline_s)
        self._jobs = dict(_jobs(config, self._http))
        self._open: dict[int | None, Future[_Read]] = {}
        self._nodes = config.named
        self._reported_nodes: frozenset[int] | None = None
        self._last: dict[int, NodeFact] = {}
        self._status = SourceStatus(observed_ms=clock(), waiting="no node was polled yet")

    def stop(self) -> None:
        """Stop polling; wait a few seconds for open requests, and discard their answers."""
        super().stop()
        self._http.close()

    def status(self) -> SourceStatus:
        """Return the current status. Thread-safe."""
        last = self._status
        ended = self._thread.ident is not None and not self._thread.is_alive()
        error = "the poller of JMX numbers ended" if ended and last.error is None else last.error
        return replace(last, observed_ms=self._clock(), error=error)

    # The thread

    def _run(self) -> None:
        workers = min(self._config.parallel, len(self._jobs))
        with ThreadPoolExecutor(workers, thread_name_prefix="jmx") as pool:
            while not self._stopping.is_set():
                self._take(self._round(pool))
                self._stopping.wait(until_next(self._config.interval_s))
            pool.shutdown(wait=False, cancel_futures=True)

    def _round(self, pool: ThreadPoolExecutor) -> _Round:
        for node, job in self._jobs.items():
            if node not in self._open:
                self._open[node] = pool.submit(self._answer, job)
        in_a_row = -(-len(self._jobs) // self._config.parallel)
        if self._config.prometheus is not None:
            in_a_row = REQUESTS
        wait(self._open.values(), self._config.deadline_s * in_a_row + _GRACE_S)
        found = _Round()
        for node, future in list(self._open.items()):
            if not future.done():
                words = f"no answer within {self._config.deadline_s:g} s"
                found.failures[node] = Unreachable(words)
                continue
            del self._open[node]
            try:
                found.read |= future.result()
            except JmxError as error:
                found.failures[node] = error
            except Exception as error:  # noqa: BLE001 else it would never be requested again
                _log.exception("a request for JMX numbers failed")
                # Its text may have the request, and so the credentials.
                found.failures[node] = Unreachable(f"an unexpected {type(error).__name__}")
        return found

    def _answer(self, job: Callable[[], list[Reading]]) -> _Read:
        readings, now_ms = job(), self._clock()
        return {each.node: (each, now_ms - each.age_ms) for each in readings}

    def _take(self, found: _Round) -> None:
        """Append the changes; those that cannot be stored are part of the next round again."""
        now_ms = self._clock()
        nodes = self._nodes.union(found.read)
        news: list[JmxFact] = [
            each
            for each in self._facts(found, nodes, now_ms)
            if is_news(self._last.get(each.node), each)
        ]
        if nodes != self._reported_nodes and nodes:
            news.insert(0, JmxNodes(now_ms, tuple(sorted(nodes))))
        not_stored = None
        try:
            if news:
                self._append(news)
        except Exception as error:  # noqa: BLE001 any error of the sink; it is retried and reported
            _log.warning("JMX numbers cannot be stored: %s", error)
            not_stored = f"JMX numbers cannot be stored: {error}"
        else:
            self._nodes = self._reported_nodes = nodes
            self._last |= {each.node: each for each in news if not isinstance(each, JmxNodes)}
        self._set_status(found, now_ms, not_stored)

    def _facts(self, found: _Round, nodes: Iterable[int], now_ms: int) -> Iterable[NodeFact]:
        for node in sorted(nodes):
            if node in found.read:
                one, read_ms = found.read[node]
                yield JmxSeen(now_ms, node, one.endpoint, read_ms, in_order(one.numbers))
            else:
                failure = found.failures.get(node) or found.failures.get(None)
                absent = f"Prometheus has had no sample of it for {LOOK_BACK_S} s"
                yield JmxUnreachable(now_ms, node, absent if failure is None else str(failure))

    def _set_status(self, found: _Round, now_ms: int, not_stored: str | None) -> None:
        refused = [str(e) for e in found.failures.values() if isinstance(e, AccessRefused)]
        waits = [str(e) for e in found.failures.values() if not isinstance(e, AccessRefused)]
        endpoints = [each.endpoint for each, _ in found.read.values()]
        before = self._status
        self._status = SourceStatus(
            observed_ms=now_ms,
            # A node that hangs delays the end of the round. This does not age the other nodes'
            # numbers: each fact has the time of its own reading.
            last_reply_ms=now_ms if endpoints else before.last_reply_ms,
            endpoint=endpoints[0] if endpoints else before.endpoint,
            waiting=joined(waits) or None,
            error=not_stored or joined(refused) or None,
        )


def _jobs(
    config: JmxConfig, http: Http
) -> Iterable[tuple[int | None, Callable[[], list[Reading]]]]:
    """Yield the requests of a round, by node; None: for all nodes."""
    if config.prometheus is not None:
        yield None, partial(read_prometheus, config.prometheus, http)
    for node, url in config.exporters.items():
        yield node, partial(_read_exporter, node, url, http)


def _read_exporter(node: int, url: str, http: Http) -> list[Reading]:
    return [Reading(node, url, 0, numbers_in(http.lines(url), url))]


def is_news(last: NodeFact | None, now: NodeFact) -> bool:
    """Return whether the fact differs from the last one of this node."""
    match last, now:
        case JmxSeen(), JmxSeen():
            return _is_again(last.read_ms, now.read_ms) or _shape(last) != _shape(now)
        case JmxUnreachable(), JmxUnreachable():
            return now.why != last.why
        case _:
            return True


def _is_again(last_ms: int, now_ms: int) -> bool:
    """Return whether to append an unchanged reading again; for all nodes in the same round.

    The time of the reading decides: the same scrape is not a new fact, whatever the jitter of its
    age. A reading after the clock was set back is one.
    """
    is_another_slot = now_ms // AGAIN_MS != last_ms // AGAIN_MS
    return is_another_slot and abs(now_ms - last_ms) >= AGAIN_MS // 2


def _shape(fact: JmxSeen) -> tuple[object, ...]:
    """Return the values whose changes matter immediately.

    The lag changes with every record: only its order of magnitude counts.
    """
    return fact.endpoint, *(
        (name, len(str(value)) if name == JmxName.ZK_WRITE_BEHIND_LAG else value)
        for name, value in fact.numbers
    )
