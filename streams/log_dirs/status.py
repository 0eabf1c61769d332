"""The poller's status, composed of the result of each broker's last poll. Thread-safe."""

import threading
from collections.abc import Iterable
from typing import Final

from migration.observed.source_status import SourceStatus
from migration.values.evidence import joined, named
from streams.kafka.broker_values import ClusterView
from streams.kafka.errors import NotAuthorized, WrongCluster
from streams.log_dirs.poll import PollResult
from streams.net.errors import AuthenticationFailed, LiveError

_NEEDS_OPERATOR: Final = (AuthenticationFailed, NotAuthorized, WrongCluster)
_SHOWN_MAX: Final = 5


class PollStatus:
    """The state behind `LogDirsPoller.status`."""

    def __init__(self, cluster_id: str | None) -> None:
        self._lock = threading.Lock()
        self._cluster_id = cluster_id
        self._last_reply_ms: int | None = None
        self._endpoint: str | None = None
        self._waits: dict[int | None, list[str]] = {None: ["no broker was polled yet"]}
        self._errors: dict[int | None, str] = {}

    def status(self, now_ms: int) -> SourceStatus:
        """Return the status; a problem that an operator must fix is an error, any other a wait."""
        with self._lock:
            waits = [each for broker in _in_order(self._waits) for each in self._waits[broker]]
            errors = [self._errors[broker] for broker in _in_order(self._errors)]
            return SourceStatus(
                observed_ms=now_ms,
                last_reply_ms=self._last_reply_ms,
                endpoint=self._endpoint,
                cluster_id=self._cluster_id,
                waiting=joined(waits) or None,
                error=joined(errors) or None,
            )

    def seen_cluster(self, view: ClusterView) -> None:
        with self._lock:
            self._cluster_id = view.cluster_id
            self._waits.pop(None, None)

    def wrong_cluster(self, cluster_id: str) -> None:
        """Record that the brokers belong to another cluster; after a first poll only an error."""
        with self._lock:
            if self._last_reply_ms is None:
                self._cluster_id = cluster_id

    def undiscovered(self, error: LiveError) -> None:
        """Record that no configured broker reported the cluster."""
        with self._lock:
            if isinstance(error, _NEEDS_OPERATOR):
                self._errors[None] = str(error)
            else:
                self._waits[None] = [str(error)]

    def refused(self, why: str) -> None:
        """Record that facts cannot be stored or accepted; the next stored reply ends this."""
        with self._lock:
            self._errors[None] = why

    def replied(self, reply: PollResult, now_ms: int, *, is_listed: bool = True) -> None:
        """Record that a broker's poll was stored.

        `is_listed`: METADATA lists the broker. The address of one that was removed may belong to
        another cluster by now.
        """
        broker, failure = reply.task.broker, reply.failure
        is_error = is_listed and isinstance(failure, _NEEDS_OPERATOR)
        with self._lock:
            for each in (self._waits, self._errors):
                each.pop(broker, None)
            self._errors.pop(None, None)
            if reply.is_complete:
                self._last_reply_ms = now_ms
                self._endpoint = str(reply.task.address)
            if is_error:
                self._errors[broker] = f"broker {broker}: {failure}"
            waits = _waits(reply, is_error=is_error)
            if waits:
                self._waits[broker] = waits


def _in_order(brokers: Iterable[int | None]) -> list[int | None]:
    """Return what concerns all brokers first: a text in another order would be news."""
    return sorted(brokers, key=lambda each: (each is not None, each))


def _waits(reply: PollResult, *, is_error: bool) -> list[str]:
    broker, found = reply.task.broker, []
    if reply.failure is not None and not is_error:
        found.append(f"broker {broker}: {reply.failure}")
    if reply.unlisted:
        names = named(reply.unlisted, _SHOWN_MAX)
        found.append(
            f"broker {broker} has replicas of topics that METADATA does not list ({names}):"
            " they are being deleted, or DESCRIBE on TOPIC is needed to follow their offsets"
        )
    found += [each.trouble for each in reply.local_dirs.values() if each.is_own and each.trouble]
    return found
