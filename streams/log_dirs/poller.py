"""The poller: a thread that polls all brokers in turn and appends the state of their disks.

Input: a configuration, an open memory, where to append facts, a clock. Output: facts, and `status`.
Each poll runs in a thread of its own, so that a broker that hangs delays no other; the poller's
single thread evaluates, stores and appends the replies, one at a time. Only snapshots of the
content, which are large and need not be stored, are made and appended by a separate thread.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from migration.observed.facts import DiskFact, DisksSeen, Observation
from migration.observed.source_status import SourceStatus
from streams.kafka.broker_values import ClusterView
from streams.kafka.errors import WrongCluster
from streams.log_dirs import compare, log_ends
from streams.log_dirs.content_snapshots import SnapshotEnd, Snapshots
from streams.log_dirs.errors import MemoryUnusable, RequestsUnusable
from streams.log_dirs.memory import Memory
from streams.log_dirs.poll import BrokerPolls, LogDirsConfig, PollResult, PollTask
from streams.log_dirs.poll_requests import REQUESTS, PollRequests
from streams.log_dirs.schedule import Schedule
from streams.log_dirs.status import PollStatus
from streams.log_dirs.views import Views
from streams.net.errors import LiveError
from streams.process.background import BackgroundThread, until_next

_LOOK_S: Final = 0.2
"""Time between two reads of the requests of other processes."""
_STOP_S: Final = 10.0
_WORKERS_STOP_S: Final = 3.0

_log: Final = logging.getLogger(__name__)

_Item: TypeAlias = PollResult | ClusterView | SnapshotEnd | LiveError | None
"""An item that another thread puts into the inbox; None only wakes the poller."""


class LogDirsPoller(BackgroundThread):
    """Polls one cluster's brokers, in a thread of its own."""

    def __init__(
        self,
        config: LogDirsConfig,
        memory: Memory,
        append: Callable[[Sequence[Observation]], object],
        clock: Callable[[], int],
    ) -> None:
        """Prepare the poller; `start` starts the polls.

        Args:
            config: The brokers and the intervals.
            memory: Open; the caller closes it after `stop`. `requests.db` is in the same directory.
            append: Stores facts durably, all or none, before it returns; called by two threads.
            clock: The wall clock, ms since the epoch.

        Raises:
            RequestsUnusable: `requests.db` cannot be opened.
        """
        super().__init__("log-dirs", _STOP_S)
        self._config = config
        self._memory = memory
        self._append = append
        self._clock = clock
        self._polls = BrokerPolls(config.listener, memory.partition)
        self._turns = Schedule(config.interval_s, config.eager_s, config.eager_for_s)
        self._requests = PollRequests(memory.path.with_name(REQUESTS.name), clock)
        self._poll_status = PollStatus(memory.cluster_id)
        self._inbox: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._snapshots = Snapshots(config, append, clock)
        self._views = Views(memory, config.listener.cluster_id)
        self._discovering = False
        self._discovered_s = float("-inf")
        self._last: dict[int, compare.Disks] = {}
        self._unreported: dict[int, compare.Disks] = {}
        self._report_s = float("-inf")
        self._workers: set[threading.Thread] = set()

    def _wake(self) -> None:
        self._inbox.put(None)

    def stop(self) -> None:
        """Stop polling; wait a few seconds for current polls, and discard their replies."""
        super().stop()
        # A broker that hangs is not waited for.
        deadline_s = time.monotonic() + _WORKERS_STOP_S
        for thread in self._workers:
            thread.join(max(0.0, deadline_s - time.monotonic()))
        self._requests.close()

    def status(self) -> SourceStatus:
        """Return the current status. Thread-safe."""
        return self._poll_status.status(self._clock())

    # The thread

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._round()
        except BaseException as error:
            self._poll_status.refused(f"the poller of the disks ended: {error!r}")
            _log.exception("the poller of the disks of %s ended", self._config.listener.endpoints)
            raise

    def _round(self) -> None:
        """Append pending facts, accept requests, poll due brokers, and process replies."""
        now_s = time.monotonic()
        if self._deliver():
            self._turns.expect(self._memory.addresses, now_s)
            self._discover(now_s)
            self._take_requests(now_s)
            for broker in self._turns.due(now_s, self._config.parallel):
                self._ask(broker, now_s)
            self._take_snapshot(now_s)
            self._report(now_s)
        try:
            item = self._inbox.get(timeout=_LOOK_S)
            while not self._stopping.is_set():
                self._handle(item)
                item = self._inbox.get_nowait()
        except queue.Empty:
            return

    def _handle(self, item: _Item) -> None:
        try:
            if isinstance(item, PollResult):
                self._replied(item)
            elif isinstance(item, SnapshotEnd):
                if item.failure is not None:
                    self._poll_status.refused(item.failure)
                self._requests.answer(self._snapshots.end(item), self._clock())
            elif item is not None:
                self._discovering = False
                if isinstance(item, ClusterView):
                    self._take_view(item, None)
                else:
                    self._poll_status.undiscovered(item)
        except LiveError as error:
            _log.warning("%s", error)
            self._poll_status.refused(str(error))

    def _deliver(self) -> bool:
        """Append the pending facts; False: that failed, and no broker is polled."""
        try:
            self._memory.deliver(self._append)
        except Exception as error:  # noqa: BLE001 any error of the sink; it is retried and reported
            _log.warning("the state of the disks cannot be stored: %s", error)
            self._poll_status.refused(f"the state of the disks cannot be stored: {error}")
            return False
        return True

    def _discover(self, now_s: float) -> None:
        """Ask the configured brokers if no polled one reported the cluster for a while."""
        old_s = min(self._views.age_s(now_s), now_s - self._discovered_s)
        every_s = self._config.interval_s if self._views.latest else self._config.eager_s
        if self._discovering or old_s < every_s * 2:
            return
        self._discovering = True
        self._discovered_s = now_s

        def discover() -> None:
            try:
                self._inbox.put(self._polls.discover())
            except LiveError as error:
                self._inbox.put(error)

        self._start_worker(discover, "discover")

    def _start_worker(self, work: Callable[[], None], name: str) -> None:
        self._workers = {each for each in self._workers if each.is_alive()}
        thread = threading.Thread(target=work, name=f"log-dirs: {name}", daemon=True)
        self._workers.add(thread)
        thread.start()

    def _take_requests(self, now_s: float) -> None:
        if not self._turns.brokers:
            return
        try:
            taken = {*self._turns.open_tickets, *self._snapshots.waiting}
            for each in self._requests.pending():
                if each.id not in taken:
                    self._snapshots.ask(each)
                    brokers = set(self._turns.brokers)
                    if each.broker is not None:
                        brokers &= self._views.with_leaders(each.broker)
                    self._views.expire()
                    self._turns.request(each.id, brokers, now_s, about=each.broker)
            self._answer(self._turns.take_answered())
        except RequestsUnusable as error:
            _log.warning("%s", error)
            self._poll_status.refused(str(error))

    def _ask(self, broker: int, now_s: float) -> None:
        own = self._turns.is_eager(broker, now_s) or self._views.latest is None
        if not own:
            own = self._views.begin(broker, now_s, self._config.interval_s)
        task = PollTask(
            broker=broker,
            address=self._memory.addresses[broker],
            view=None if own else self._views.latest,
            cluster_id=self._views.cluster_id,
            paths=tuple(self._memory.broker(broker).log_dirs),
            cut_off=self._memory.cut_off_topics() if own else frozenset(),
        )
        self._turns.begin(broker)
        self._start_worker(lambda: self._inbox.put(self._polls.ask(task)), f"ask {broker}")

    def _take_snapshot(self, now_s: float) -> None:
        make = self._snapshots.take(now_s, self._views.latest, all_polled=self._turns.all_polled)
        if make is not None:
            self._start_worker(lambda: self._inbox.put(make()), "content")

    def _report(self, now_s: float) -> None:
        """Append the latest answers that are no news, of all brokers at the same moment."""
        if now_s < self._report_s:
            return
        self._report_s = now_s + until_next(self._config.report_s)
        same, self._unreported = self._unreported, {}
        if not same:
            return
        try:
            self._memory.commit(tuple(same.values()), {}, {})
        except MemoryUnusable as error:
            _log.warning("%s", error)
            self._poll_status.refused(str(error))
            return
        self._last |= same
        self._deliver()

    def _replied(self, reply: PollResult) -> None:
        broker = reply.task.broker
        self._views.end(broker)
        delivered = False
        try:
            if reply.view is not None:
                self._take_view(reply.view, broker)
            news = self._keep(reply)
            latest = self._views.latest
            is_listed = latest is None or broker in latest.brokers
            self._poll_status.replied(reply, self._clock(), is_listed=is_listed)
            delivered = self._deliver()
            if delivered and news is not None:
                self._last[broker] = news
        finally:
            paths = None
            if reply.log_dirs is not None and reply.is_complete:
                paths = frozenset(each.path for each in reply.log_dirs)
            done = self._turns.finish(broker, time.monotonic(), paths)
        if delivered:  # else the requests remain pending
            self._answer(done)

    def _keep(self, reply: PollResult) -> compare.Disks | None:
        """Evaluate the reply and commit the result; return the disks if they are news."""
        broker, now_ms = reply.task.broker, self._clock()
        known = self._memory.broker(broker)
        inputs = compare.Inputs(
            broker=broker,
            now_ms=now_ms,
            local_dirs=reply.local_dirs,
            partitions=self._memory.partitions,
            hosted=self._views.hosted,
            listed=reply.listed(),
            failure_timeout_ms=reply.failure_timeout_ms,
        )
        facts: tuple[DiskFact, ...] = ()
        if reply.log_dirs is not None:
            compared = compare.answered(known, reply.log_dirs, inputs)
            known, facts = compared.known, compared.facts
        if not reply.is_complete:
            compared = compare.unanswered(known, str(reply.failure), inputs)
            facts = (*facts, *compared.facts)
        found = log_ends.compare_ends(self._memory.partition, reply.ends, now_ms)
        self._unreported.pop(broker, None)
        news = compared.disks if compare.is_news(self._last.get(broker), compared.disks) else None
        if news is None and isinstance(compared.disks, DisksSeen):
            self._unreported[broker] = compared.disks
        facts = (*((news,) if news else ()), *facts, *found.facts)
        self._memory.commit(facts, {broker: compared.known}, found.changed)
        if reply.is_complete:
            self._snapshots.answered(broker, compared, time.monotonic())
        else:
            self._snapshots.unanswered(broker)
        return news

    def _take_view(self, view: ClusterView, broker: int | None) -> None:
        now_s = time.monotonic()
        try:
            is_taken = self._views.take(view, now_s)
        except WrongCluster:
            self._poll_status.wrong_cluster(str(view.cluster_id))
            raise
        if is_taken:
            self._poll_status.seen_cluster(view)
            if broker is not None and self._turns.is_settled(broker, now_s):
                self._views.note_hosted(view, self._clock())

    def _answer(self, done: Sequence[int]) -> None:
        answered = self._snapshots.hold(done)
        if answered:
            self._requests.answer(answered, self._clock())
