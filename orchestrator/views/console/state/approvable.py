"""The states that pages were shown for an approval."""

from collections.abc import Mapping
from typing import Final

from orchestrator.audit.execution.concern import opaque

_NEWEST: Final = 50


class ShownBases:
    """The bases of the approvals that pages were asked for, by id; only the newest ones.

    One thread adds them, others read.
    """

    def __init__(self) -> None:
        self._by_id: dict[str, Mapping[str, str]] = {}

    def add(self, basis: Mapping[str, str]) -> str:
        """Keep the basis; returns its id."""
        id_ = opaque(basis)
        if id_ not in self._by_id:
            self._by_id = {**dict([*self._by_id.items()][1 - _NEWEST :]), id_: basis}
        return id_

    def get(self, id_: str) -> Mapping[str, str] | None:
        """Return a basis; None: it was never shown, or long ago."""
        return self._by_id.get(id_)
