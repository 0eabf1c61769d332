"""A cluster's execution in the audit trail: appends typed entries, returns the resulting state."""

from orchestrator.audit import AuditLog
from orchestrator.audit.execution.entries import KINDS, Body, as_json, body_of
from orchestrator.audit.execution.state import Walk, fold


class Trail:
    """Reads and writes one cluster's entries. Several processes may use one at the same time."""

    def __init__(self, log: AuditLog, cluster: str) -> None:
        self._log = log
        self._cluster = cluster
        self._behind = 0
        self._walk: Walk | None = None

    @property
    def cluster(self) -> str:
        """The name of the cluster."""
        return self._cluster

    def walk(self) -> Walk | None:
        """Return the state from the entries of all processes; None: no execution has begun."""
        new = self._log.entries(self._cluster, after=self._behind)
        if new:
            told = [
                (each.sequence, each.at_ms, body_of(each.kind, each.body))
                for each in new
                if each.kind in KINDS
            ]
            self._walk = fold(self._walk, told)
            self._behind = new[-1].sequence
        return self._walk

    def tell(self, body: Body, now_ms: int, fence: int | None = None) -> None:
        """Append an entry.

        Raises:
            FencedOff: another orchestrator took over the execution; only with `fence`.
            AuditError: it cannot be written.
        """
        self._log.append(self._cluster, body.kind, as_json(body), now_ms, fence=fence)

    def take_fence(self, owner: str, now_ms: int) -> int:
        """Take the fence: from now on, entries with an earlier fence are rejected.

        Raises:
            AuditError: it cannot be written.
        """
        return self._log.take_fence(self._cluster, owner, now_ms)
