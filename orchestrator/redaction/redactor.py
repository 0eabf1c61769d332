"""Replaces secrets in what is about to be written: known values, `key=value` and PEM keys.

Too much is taken rather than too little: `password=a,b` loses `,b` too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from orchestrator.output.json_value import JsonValue
from orchestrator.redaction.forms import forms
from orchestrator.redaction.patterns import (
    KEY,
    Found,
    end_of_a_key,
    find,
    is_secret_flag,
    names_a_secret,
)

MARK: Final = "[redacted]"
_MARK: Final = MARK.encode()
_KNOWN: Final = "known"


class Redactor:
    """Knows some secrets by value, and all of them by how they look.

    Args:
        secrets: values; empty ones are none.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in set(secrets) for form in forms(secret)}
        self._forms = [re.compile(re.escape(form)) for form in sorted(known)]
        self.longest = max((len(form) for form in known), default=1)
        """The most bytes that a known secret may have, in any form."""
        crossing = (len(form) for form in known if b"\n" in form or b"\r" in form)
        self.longest_crossing = max(crossing, default=1)
        """The same, of those forms that may go over the end of a line."""

    def text(self, text: str) -> str:
        """Take the secrets out of text; half characters (lone surrogates) come out escaped."""
        return self.data(text.encode("utf-8", "backslashreplace")).decode()

    def data(self, data: bytes) -> bytes:
        """Take the secrets out of bytes."""
        return replaced(data, 0, len(data), self.found(data))

    def argv(self, argv: Sequence[str]) -> list[str]:
        """Take the secrets out of a command, also the argument behind `--password`."""
        return [
            MARK if at > 0 and is_secret_flag(argv[at - 1]) else self.text(argument)
            for at, argument in enumerate(argv)
        ]

    def body(self, body: JsonValue) -> JsonValue:
        """Take the secrets out of every text in it, and the text of every key that names one."""
        if isinstance(body, str):
            return self.text(body)
        if isinstance(body, Mapping):
            return {
                self.text(key): MARK
                if isinstance(value, str) and names_a_secret(key)
                else self.body(value)
                for key, value in body.items()
            }
        if isinstance(body, (list, tuple)):
            return [self.body(each) for each in body]
        return body

    def tail(self, data: bytes) -> tuple[int, bytes]:
        """Take the secrets out of the last part of something longer.

        What could be the rest of a secret that began before is left out: at least the first
        line, and all of it when it has no line's end.

        Returns:
            where in `data` it begins, and what may be written.
        """
        found = [*self.found(data), Found(0, 0, end_of_a_key(data), KEY)]
        start = data.find(b"\n", min(len(data), self.longest)) + 1 or len(data)
        return start, replaced(data, start, len(data), found)

    def found(self, data: bytes) -> list[Found]:
        """Find every secret in bytes; they may overlap."""
        known = [
            Found(match.start(), match.start(), match.end(), _KNOWN)
            for form in self._forms
            for match in form.finditer(data)
        ]
        return [*known, *find(data)]


def replaced(data: bytes, start: int, end: int, found: Iterable[Found]) -> bytes:
    """Give a part of `data` with a mark for each secret; overlapping ones have one together."""
    parts, at = [], start
    for first, last in _merged(found):
        begin, behind = max(first, start), min(last, end)
        if begin < behind:
            parts += [data[at:begin], _MARK]
            at = behind
    parts.append(data[at:end])
    return b"".join(parts)


def _merged(found: Iterable[Found]) -> Iterator[tuple[int, int]]:
    open_: tuple[int, int] | None = None
    for one in sorted((each.start, each.end) for each in found):
        if open_ is not None and one[0] < open_[1]:
            open_ = (open_[0], max(open_[1], one[1]))
            continue
        if open_ is not None:
            yield open_
        open_ = one
    if open_ is not None:
        yield open_
