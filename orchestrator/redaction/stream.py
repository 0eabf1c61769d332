"""Takes secrets out of output while it comes, also one that is split over two reads.

Whole lines pass at once, unless a known secret or a PEM key may go over their end. A line without
an end is held up to `LINE_MAX`; so is a secret. Of one that is longer still the rest is left out.
"""

import re
from typing import Final

from orchestrator.redaction.patterns import KEY, Found, going_on
from orchestrator.redaction.redactor import Redactor, replaced

LINE_MAX: Final = 64 * 1024
_AROUND: Final = 1024
"""What tells that something is a secret stands within so many bytes before it."""


class RedactedStream:
    """Fed with what is read, gives what may be written."""

    def __init__(self, redactor: Redactor, line_max: int = LINE_MAX) -> None:
        self._redactor = redactor
        self._line_max = max(line_max, 2 * (redactor.longest + _AROUND))
        self._held = b""
        self._leaving_out: re.Pattern[bytes] | None = None

    def feed(self, data: bytes) -> bytes:
        """Take more; gives what is settled now, perhaps nothing."""
        self._held += data
        self._leave_out()
        if not self._may_settle():
            return b""
        found = self._redactor.found(self._held)
        cut = self._cut(found)
        if cut == 0 and len(self._held) > 2 * self._line_max:
            return self._give_up_on_the_first(found)
        return self._give(cut, found)

    def end(self) -> bytes:
        """Give the rest."""
        return self._give(len(self._held), self._redactor.found(self._held))

    def _give(self, cut: int, found: list[Found]) -> bytes:
        given = replaced(self._held, 0, cut, found)
        self._held = self._held[cut:]
        return given

    def _leave_out(self) -> None:
        """Drop what continues a secret that was longer than may be held."""
        if self._leaving_out is None:
            return
        match = self._leaving_out.match(self._held)
        self._held = self._held[match.end() if match else 0 :]
        if self._held:
            self._leaving_out = None

    def _may_settle(self) -> bool:
        return len(self._held) > self._line_max or self._whole_lines() > 0

    def _whole_lines(self) -> int:
        """How much of what is held is lines that no known secret goes over the end of."""
        crossing = self._redactor.longest_crossing
        return self._held.rfind(b"\n", 0, max(0, len(self._held) - crossing + 1)) + 1

    def _cut(self, found: list[Found]) -> int:
        """Choose up to where nothing can change any more, and no secret is cut through."""
        cut = self._whole_lines()
        if cut == 0:
            cut = max(0, len(self._held) - self._redactor.longest - _AROUND)
        moved = True
        while moved:
            moved = False
            for one in found:
                if one.begin < cut and (one.end > cut or self._may_go_on(one)):
                    cut, moved = one.begin, True
        return cut

    def _may_go_on(self, one: Found) -> bool:
        return one.kind == KEY and one.end == len(self._held)

    def _give_up_on_the_first(self, found: list[Found]) -> bytes:
        """Mark a secret that is longer than may be held, and leave out how it goes on."""
        end = max(one.end for one in found if one.begin == 0)
        while behind := [one.end for one in found if one.begin < end < one.end]:
            end = max(behind)
        if end == len(self._held):
            key = any(one.kind == KEY and one.end == end for one in found)
            self._leaving_out = going_on(KEY if key else "")
        return self._give(end, found)
