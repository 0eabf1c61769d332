"""A cluster's execution in the audit trail: appends typed entries, returns the resulting state."""

from collections.abc import Callable, Sequence
from functools import partial

from orchestrator.audit import AuditLog, Entry
from orchestrator.audit.execution.entries import Body
from orchestrator.audit.execution.state import ExecutionState, fold
from orchestrator.errors import ExecutionError


class ExecutionTrail:
    """Reads and writes one cluster's entries. Several processes may use one at the same time."""

    def __init__(self, log: AuditLog, cluster: str) -> None:
        self.cluster = cluster
        self._log = log
        self._read_until = 0
        self._state: ExecutionState | None = None

    def state(self) -> ExecutionState | None:
        """Return the state from the entries of all processes; None: no execution has begun."""
        return self._with(self._log.entries(self.cluster, after=self._read_until))

    def _with(self, new: Sequence[Entry]) -> ExecutionState | None:
        if new:
            bodies = ((entry.sequence, entry.at_ms, body) for entry, body in Body.read(new))
            self._state = fold(self._state, bodies)
            self._read_until = new[-1].sequence
        return self._state

    def append(
        self,
        body: Body,
        now_ms: int,
        fence: int | None = None,
        *,
        unmoved: Callable[[ExecutionState], object] | None = None,
    ) -> None:
        """Append an entry; `unmoved`: only if it returns the same as for `state`'s last result.

        Raises:
            AuditError: it cannot be written, or, with `fence`, another orchestrator took over.
            ExecutionError: with `unmoved`, the execution has moved.
        """
        self._log.append(
            self.cluster,
            body.kind,
            body.as_json(),
            now_ms,
            fence=fence,
            check=None if unmoved is None else partial(self._require_unmoved, unmoved),
        )

    def _require_unmoved(self, where: Callable[[ExecutionState], object]) -> None:
        before = self._state
        now = self._with(self._log.locked_entries(self.cluster, self._read_until))
        if now is not None and (before is None or where(before) != where(now)):
            raise ExecutionError(
                f"the execution of {self.cluster} has just moved: check `kraftgate status`, and"
                " retry"
            )
