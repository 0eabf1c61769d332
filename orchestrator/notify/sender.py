"""Sends to one receiver from its own thread, so that the tick never waits for a receiver.

Newly submitted alerts replace older ones: only the active alerts matter, and the delivery file
records the notifications that were sent. After a failure the next attempt waits; the wait doubles
up to a minute and has jitter. A notification that a receiver rejects is sent again after five
minutes. If the outcome of one is unknown, it may be the only one that fails: the others are sent,
and in the next round before it.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from migration.values.severity import Severity
from orchestrator.notify import delivery
from orchestrator.notify.channel import Channel
from orchestrator.notify.delivery import ActiveAlerts, Policy
from orchestrator.notify.delivery_file import DeliveryFile, ReceiverState
from orchestrator.notify.http_post import Undelivered
from orchestrator.notify.notification import Notification
from streams.process.clocks import wall_clock_ms

_FIRST_S: Final = 1.0
_LONGEST_S: Final = 60.0
_RETRY_AFTER_S_MAX: Final = 600.0
"""The longest wait that a receiver may ask for (`Retry-After`)."""
_REJECTED_S: Final = 300.0
_FAILING_S: Final = 10.0
"""How long a round continues after failures; one request without a response takes as long."""
_GIVE_UP_S: Final = 86_400.0
"""A resolution that was due for so long is dropped."""
_JITTER: Final = random.Random().random  # noqa: S311 no secret; no shared state either
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderStats:
    """The counters of one receiver; only the times include earlier processes.

    Attributes:
        sent: accepted notifications.
        failed: failed attempts.
        waiting: notifications that are due.
        critical_since_s: since when an active critical alert is due, by the monotonic clock; None:
            none is due.
        success_ms: when the receiver last accepted a notification; None: never.
        error: the error of the last attempt; None: it succeeded.
    """

    sent: int = 0
    failed: int = 0
    waiting: int = 0
    critical_since_s: float | None = None
    success_ms: int | None = None
    error: str | None = None


class Sender:
    """Sends to one receiver, from a thread of its own.

    Args:
        repeat_ms: interval after which an active alert is sent again, unless the channel has one.
        jitter: returns a number from 0 to 1.
    """

    def __init__(
        self,
        channel: Channel[Any],
        state_dir: Path,
        repeat_ms: int,
        *,
        clock_ms: Callable[[], int] = wall_clock_ms,
        jitter: Callable[[], float] = _JITTER,
    ) -> None:
        self.name = channel.name
        self._channel = channel
        self._policy = Policy(
            min_severity=channel.config.min_severity,
            repeat_ms=channel.repeat_ms or repeat_ms,
            inhibits=channel.inhibits,
        )
        self._file = DeliveryFile(state_dir, channel.name, channel.config)
        self._clock_ms = clock_ms
        self._resolving_since_s: dict[str, float] = {}
        self._critical_since_s: dict[str, float] = {}
        self._jitter = jitter
        self._state: ReceiverState = self._file.read()
        self._changed = threading.Condition()
        self._submitted: ActiveAlerts | None = None
        self._is_new = self._ends = False
        self._failures = 0
        self._began_s = self._not_before_s = 0.0
        self._after_s: dict[str, float] = {}  # a round that begins later tries this notification
        self.stats = SenderStats(success_ms=self._state.success_ms)
        self._thread = threading.Thread(target=self._work, name=f"alerts-{self.name}", daemon=True)
        self._thread.start()

    def submit(self, active: ActiveAlerts) -> None:
        """Replace the active alerts; returns at once."""
        with self._changed:
            self._submitted, self._is_new = active, True
            self._changed.notify()

    def end(self) -> None:
        """Let the thread send each due notification once and stop; returns at once."""
        with self._changed:
            self._ends = True
            self._changed.notify()

    def unsent(self, within_s: float) -> tuple[Notification, ...]:
        """Wait at most this long for the thread; return the rest, which the next run sends."""
        self._thread.join(within_s)
        if self._submitted is None:
            return ()
        return delivery.due(
            self._state.deliveries, self._submitted, self._policy, self._clock_ms(), closing=True
        )

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def _work(self) -> None:
        try:
            while True:
                active, ends = self._next()
                if active is not None:
                    self._send(active, closing=ends)
                if ends:
                    return
        finally:
            self._channel.close()

    def _next(self) -> tuple[ActiveAlerts | None, bool]:
        """Wait for new alerts and for the time of the next attempt."""
        with self._changed:
            left_s = max(0.0, self._not_before_s - time.monotonic())
            timeout_s = None if self.stats.waiting == 0 or self._failures == 0 else left_s
            self._changed.wait_for(lambda: self._is_new or self._ends, timeout_s)
            while not self._ends and (left_s := self._not_before_s - time.monotonic()) > 0:
                self._changed.wait(left_s)
            self._is_new = False
            return self._submitted, self._ends

    def _send(self, active: ActiveAlerts, *, closing: bool) -> None:
        """Try every notification that is due once, until the receiver is unreachable."""
        self._began_s = time.monotonic()
        before = self._state.deliveries
        after = delivery.update(before, active)
        late_s = self._began_s - _GIVE_UP_S
        for fingerprint, since_s in self._resolving_since_s.items():
            if since_s < late_s and fingerprint in after:
                after = dict(after)
                _log.error(
                    "%s: the resolution of %s could not be delivered for a day",
                    self.name,
                    after.pop(fingerprint).alert.name,
                )
        self._save({"deliveries": after}, write=delivery.outline(after) != delivery.outline(before))
        while notifications := self._due(active, closing=closing):
            if not self._attempt(notifications[: self._channel.batch_size]):
                break
        self._failures = self._failures + 1 if self._not_before_s > self._began_s else 0

    def _due(self, active: ActiveAlerts, *, closing: bool) -> Sequence[Notification]:
        """Return the notifications that this round has not tried; those that failed come last."""
        now_s = time.monotonic()
        found = delivery.due(
            self._state.deliveries, active, self._policy, self._clock_ms(), closing=closing
        )
        # By the monotonic clock, which is not set and excludes the time of a suspend.
        self._critical_since_s = {
            each.alert.fingerprint: self._critical_since_s.get(each.alert.fingerprint, now_s)
            for each in found
            if each.resolved_ms is None and each.alert.severity is Severity.CRITICAL
        }
        since_s = min(self._critical_since_s.values(), default=None)
        self.stats = replace(self.stats, waiting=len(found), critical_since_s=since_s)
        self._resolving_since_s = {
            each.alert.fingerprint: self._resolving_since_s.get(each.alert.fingerprint, now_s)
            for each in found
            if each.resolved_ms is not None
        }
        keys = [each.idempotency_key for each in found]
        self._after_s = after_s = {key: self._after_s.get(key, 0.0) for key in keys}
        left = [(after_s[key], at) for at, key in enumerate(keys) if after_s[key] <= self._began_s]
        return [found[at] for _, at in sorted(left)]

    def _attempt(self, notifications: Sequence[Notification]) -> bool:
        """Send some notifications; return whether to continue with the next."""
        before, now_ms = self._state.deliveries, self._clock_ms()
        self._save({"deliveries": delivery.mark_sending(before, notifications)})
        try:
            self._channel.notify(notifications, now_ms)
        except Undelivered as error:
            self._failed(before, notifications, error)
            is_in_time = time.monotonic() < self._began_s + _FAILING_S
            goes_on = error.permanent or (error.delivered is None and is_in_time)
            if goes_on and len(notifications) > 1:  # perhaps only one of them fails
                return all(self._attempt([each]) for each in notifications)
            return goes_on
        if self._failures:
            _log.warning("%s accepts notifications again", self.name)
        self._failures = 0
        after = delivery.mark_delivered(self._state.deliveries, notifications, now_ms)
        self._save({"deliveries": after, "success_ms": now_ms, "error": None})
        sent = self.stats.sent + len(notifications)
        self.stats = replace(self.stats, sent=sent, success_ms=now_ms, error=None)
        return True

    def _failed(
        self, before: delivery.Deliveries, notifications: Sequence[Notification], error: Undelivered
    ) -> None:
        why, now_s = str(error), time.monotonic()
        after = self._state.deliveries if error.delivered is None else before
        if self._state.error != why:
            _log.warning("%s: a notification was not delivered: %s", self.name, why)
        self._save({"deliveries": after, "failure_ms": self._clock_ms(), "error": why})
        if not error.permanent:
            wait_s = min(_FIRST_S * 2 ** min(self._failures, 10), _LONGEST_S)
            wait_s *= 0.5 + self._jitter() / 2
            asked_s = min(error.retry_after_s or 0.0, _RETRY_AFTER_S_MAX)
            self._not_before_s = max(self._not_before_s, now_s + max(wait_s, asked_s))
        if error.delivered is None or (error.permanent and len(notifications) == 1):
            after_s = now_s + (_REJECTED_S if error.permanent else 0.0)
            self._after_s |= {each.idempotency_key: after_s for each in notifications}
        self.stats = replace(self.stats, failed=self.stats.failed + 1, error=why)

    def _save(self, changed: dict[str, object], *, write: bool = True) -> None:
        """Change the state and write its file; a full disk does not stop notifications."""
        self._state = self._state.model_copy(update=changed)
        if not write:
            return
        try:
            self._file.write(self._state)
        except OSError as error:
            _log.warning("the deliveries of %s cannot be saved: %s", self.name, error)
