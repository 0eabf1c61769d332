"""Redacts output as it arrives, including a secret that is split over two reads.

Complete lines pass at once, unless a known secret or a PEM key may continue after their end. A line
without an end is held up to `LINE_MAX`, and so is a secret. If a secret is even longer, its rest is
left out.
"""

import re
from typing import Final

from orchestrator.redaction.patterns import KEY, SecretMatch, going_on
from orchestrator.redaction.redactor import Redactor, replaced

LINE_MAX: Final = 64 * 1024
_AROUND: Final = 1024
"""The text that marks a secret is within this many bytes before it."""


class RedactedStream:
    """Accepts output as it is read, and returns the bytes that may be written."""

    def __init__(self, redactor: Redactor, line_max: int = LINE_MAX) -> None:
        self._redactor = redactor
        self._line_max = max(line_max, 2 * (redactor.longest + _AROUND))
        self._held = b""
        self._leaving_out: re.Pattern[bytes] | None = None

    def feed(self, data: bytes) -> bytes:
        """Accept more output; return the bytes that are final now, perhaps none."""
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
        return self._give(len(self._held), self._redactor.found(self._held))

    def _give(self, cut: int, found: list[SecretMatch]) -> bytes:
        given = replaced(self._held, 0, cut, found)
        self._held = self._held[cut:]
        return given

    def _leave_out(self) -> None:
        """Drop the continuation of a secret that was too long to hold."""
        if self._leaving_out is None:
            return
        match = self._leaving_out.match(self._held)
        self._held = self._held[match.end() if match else 0 :]
        if self._held:
            self._leaving_out = None

    def _may_settle(self) -> bool:
        return len(self._held) > self._line_max or self._whole_lines() > 0

    def _whole_lines(self) -> int:
        """Return the length of the complete lines after whose end no known secret can continue."""
        crossing = self._redactor.longest_crossing
        return self._held.rfind(b"\n", 0, max(0, len(self._held) - crossing + 1)) + 1

    def _cut(self, found: list[SecretMatch]) -> int:
        """Return the position up to which nothing can change and that does not split a secret."""
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

    def _may_go_on(self, one: SecretMatch) -> bool:
        return one.kind == KEY and one.end == len(self._held)

    def _give_up_on_the_first(self, found: list[SecretMatch]) -> bytes:
        """Mark a secret that is too long to hold, and leave out its continuation."""
        end = max(one.end for one in found if one.begin == 0)
        while behind := [one.end for one in found if one.begin < end < one.end]:
            end = max(behind)
        if end == len(self._held):
            key = any(one.kind == KEY and one.end == end for one in found)
            self._leaving_out = going_on(KEY if key else "")
        return self._give(end, found)
