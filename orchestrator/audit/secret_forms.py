"""The forms in which a known secret may be printed, as one pattern.

As it is; URL-encoded, in any mixture of encoded and plain characters; escaped as in JSON, XML or a
shell's words; and in base64, plain or URL-safe, wrapped or not, also as a part of a longer text.
"""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_PIECE: Final = 256
"""Longer secrets are looked for in pieces of so many characters."""
_LINE_MIN: Final = 8
"""A line of a secret with several is looked for by itself if it has so many characters."""
_FRAGMENT_MIN: Final = 6
"""Less base64 than this stands for too much else."""
_WRAPPED_MIN: Final = 57
"""So long base64 may stand on several lines."""
_OTHER_WAYS: Final = {
    "\n": ["\r\n", "\\n"],
    "\r": ["\\r"],
    "\t": ["\\t"],
    " ": ["+"],
    "&": ["&amp;"],
    "<": ["&lt;"],
    ">": ["&gt;"],
    '"': ["&quot;", "&#34;"],
    "'": ["&#39;", "&#x27;", "&apos;", "'\\''", "'\"'\"'"],
}
"""In JSON, in a URL's query, in XML and HTML, in a shell's word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A pattern over bytes.

    Attributes:
        longest: the most bytes that it may match.
        crosses: whether what it matches may go over the end of a line.
    """

    pattern: re.Pattern[bytes]
    longest: int
    crosses: bool


def forms(secret: str) -> list[Form]:
    """Give the patterns that find a secret, or any piece of it."""
    pieces = dict.fromkeys(piece for line in _lines(secret) for piece in _pieces(line))
    return [form for piece in pieces for form in (_printed(piece), *_base64(piece))]


def _lines(secret: str) -> Iterator[str]:
    whole = secret.strip()
    if whole:
        yield whole
    lines = [line.strip() for line in whole.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _LINE_MIN)


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def _printed(text: str) -> Form:
    parts, longest = [], 0
    for character in text:
        ways = _ways(character)
        longest += max(length for _, length in ways)
        parts.append(b"(?:%s)" % b"|".join(pattern for pattern, _ in ways))
    crosses = "\n" in text or "\r" in text
    return Form(pattern=re.compile(b"".join(parts)), longest=longest, crosses=crosses)


def _ways(character: str) -> list[tuple[bytes, int]]:
    """Patterns for one character, each with its length."""
    raw = character.encode("utf-8", "backslashreplace")
    plain = [raw, *(each.encode() for each in _OTHER_WAYS.get(character, ()))]
    if character.isascii() and not character.isalnum():
        plain += [b"\\" + raw, b"\\\\" + raw]
    found = [(re.escape(each), len(each)) for each in plain]
    percent = b"".join(b"%%%s" % _either_case(b"%02x" % byte) for byte in raw)
    found.append((percent, 3 * len(raw)))
    units = character.encode("utf-16-be", "surrogatepass")
    unicode = b"".join(
        rb"\\u" + _either_case(units[at : at + 2].hex().encode()) for at in range(0, len(units), 2)
    )
    found.append((unicode, 3 * len(units)))
    return found


def _either_case(digits: bytes) -> bytes:
    return b"".join(
        b"[%c%c]" % (digit, digit - 32) if digit >= ord("a") else b"%c" % digit for digit in digits
    )


def _base64(text: str) -> Iterator[Form]:
    raw = text.encode("utf-8", "backslashreplace")
    whole = base64.b64encode(raw)
    yield _encoded(whole)
    for before in range(3):
        fragment = _fragment(raw, before)
        if len(fragment) >= _FRAGMENT_MIN:
            yield _encoded(fragment)


def _fragment(raw: bytes, before: int) -> bytes:
    """The characters that depend on nothing else, with so many bytes before it, modulo 3."""
    encoded = base64.b64encode(bytes(before) + raw + bytes(2))
    bits = 8 * (before + len(raw))
    return encoded[-(-8 * before // 6) : bits // 6]


def _encoded(text: bytes) -> Form:
    classes = {b"+": b"[+-]", b"/": b"[/_]"}
    each = [classes.get(bytes([byte]), re.escape(bytes([byte]))) for byte in text]
    wraps = len(text) >= _WRAPPED_MIN
    pattern = (rb"(?:\r?\n)?" if wraps else b"").join(each)
    return Form(pattern=re.compile(pattern), longest=3 * len(text), crosses=wraps)
