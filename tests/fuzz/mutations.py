"""Damage to bytes and text: a few random changes of a kind that parsers get wrong."""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, TypeAlias

from streams.wire.structure import write_uvarint

Mutator: TypeAlias = Callable[[Random, bytes, Sequence[bytes]], bytes]
"""A damaged copy of an input; the other inputs to take parts from come last."""

_EXTREMES: Final = (0, 1, -1, 2, 127, 128, 255, 256, 2**15 - 1, 2**15, 2**16, 2**20, 2**31 - 1)
_LARGE: Final = (2**31, 2**32 - 1, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
_NUMBERS: Final = (*_EXTREMES, *_LARGE, *(-each for each in (2, 128, *_LARGE)))
_BINARY_WORDS: Final = (
    b"\xff" * 4,
    b"\xff" * 10,
    b"\x80" * 10,
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\0" * 16,
    b"\x01\x17\x00",
    b"\x01\x18\x00",
    b"\x01\x19\x00",
    b"HTTP/1.1 400",
)
_TEXT_WORDS: Final = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e300",
    "1e400",
    "-1e-400",
    "0x7f",
    "1_000",
    "\u0663",
    "\u00b2",
    "null",
    "true",
    "{}",
    "[]",
    '""',
    "\\ud800",
    "\\u0000",
    "\u202e",
    "\x1b[2J",
    "\ufeff",
    "\0",
    "\\",
    '"',
    "'",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "#",
    "- ",
    "&a ",
    "*a",
    "<<: *a",
    "!!python/object:os.system",
    "!!binary aGk=",
    "!!timestamp 9999-12-31",
    "? ",
    "|\n",
    "%YAML 9.9\n",
    "\t",
    "\r\n",
    "\x85",
    "\u2028",
)
_TOKEN: Final = re.compile(rb'"[^"\n]{0,200}"|-?\d+(?:\.\d+)?|[A-Za-z_]+')
_GROWTH_BYTES_MAX: Final = 1 << 20


def mutate_bytes(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage bytes: flips, cuts, splices, lengths, varints, extremes, words."""
    return _mutated(rng, data, others, _BINARY)


def mutate_text(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage text: tokens, nesting, huge numbers and broken characters, and now and then bytes."""
    return _mutated(rng, data, others, _TEXT if rng.random() < 0.9 else _BINARY)


def _mutated(rng: Random, data: bytes, others: Sequence[bytes], kinds: Sequence[Mutator]) -> bytes:
    for _ in range(1 + min(int(rng.expovariate(0.7)), 12)):
        data = rng.choice(kinds)(rng, data, others)
    return data


def _place(rng: Random, data: bytes) -> int:
    return rng.randrange(len(data) + 1)


def _put(rng: Random, data: bytes, word: bytes) -> bytes:
    """Insert a word, or write it over what is there."""
    at = _place(rng, data)
    return data[:at] + word + data[at + (len(word) if rng.random() < 0.5 else 0) :]


def _flip(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes((data[at] ^ 1 << rng.randrange(8),)) + data[at + 1 :]


def _set(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return _put(rng, data, bytes((rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256))),)))


def _truncate(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: _place(rng, data)]


def _delete(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(rng, data)
    return data[:at] + data[at + rng.choice((1, 2, 4, 8, rng.randrange(1, 200))) :]


def _duplicate(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(rng, data)
    part = data[at : at + rng.choice((1, 4, 16, rng.randrange(1, 500)))]
    times = rng.choice((1, 1, 1, 3, 50))
    if len(data) + len(part) * times > _GROWTH_BYTES_MAX:
        return data
    return data[:at] + part * times + data[at:]


def _splice(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others)
    at = _place(rng, other)
    part = other[at : at + rng.randrange(1, 300)]
    return _put(rng, data, part) if rng.random() < 0.7 else data[: _place(rng, data)] + other[at:]


def _length(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Move a big-endian number a little, or to what a length must not be."""
    size = rng.choice((1, 2, 4, 8))
    if len(data) < size:
        return data
    at = rng.randrange(len(data) - size + 1)
    number = int.from_bytes(data[at : at + size])
    number = rng.choice((number + 1, number - 1, number * 2, len(data), len(data) - at))
    return data[:at] + (number % (1 << 8 * size)).to_bytes(size) + data[at + size :]


def _extreme(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    size = rng.choice((1, 2, 4, 8))
    return _put(rng, data, (rng.choice(_NUMBERS) % (1 << 8 * size)).to_bytes(size))


def _varint(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    number = rng.choice(_NUMBERS) % (1 << 64)
    if rng.random() < 0.5:
        number = number << 1
    return _put(rng, data, write_uvarint(number))


def _word(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return _put(rng, data, rng.choice(_BINARY_WORDS))


def _text_word(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return _put(rng, data, rng.choice(_TEXT_WORDS).encode())


def _token(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Put another token in the place of a string, a number or a word."""
    tokens = list(_TOKEN.finditer(data[:100_000]))
    if not tokens:
        return data
    token = rng.choice(tokens)
    return data[: token.start()] + _new_token(rng, token[0], tokens) + data[token.end() :]


def _new_token(rng: Random, old: bytes, tokens: Sequence["re.Match[bytes]"]) -> bytes:
    made = rng.choice(
        (
            str(rng.choice(_NUMBERS)),
            str(rng.choice(_NUMBERS)) + "0" * rng.choice((1, 20, 400, 5000)),
            rng.choice(("1e300", "1e999", "NaN", "-0.5", "0." + "9" * 40, "Infinity")),
            rng.choice(_TEXT_WORDS),
            f'"{rng.choice(_TEXT_WORDS)}"',
            '"' + "a" * rng.choice((0, 300, 70_000)) + '"',
        )
    ).encode()
    return rng.choice((made, rng.choice(tokens)[0], b"", old + old, b'"' + old + b'"'))


def _nest(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Wrap a part, or a piece of nothing, in deep brackets."""
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"- ", b""), (b"{a: ", b"}")))
    depth = rng.choice((2, 20, 1100, 20_000))
    at = _place(rng, data)
    part = data[at : at + rng.randrange(50)]
    return data[:at] + opening * depth + part + closing * rng.choice((depth, 0)) + data[at:]


def _line(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Take a line out, bring it twice, or indent it."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    return b"\n".join(
        rng.choice(
            (
                lines[:at] + lines[at + 1 :],
                [*lines[: at + 1], *lines[at:]],
                [*lines[:at], b"  " + lines[at], *lines[at + 1 :]],
                [*lines[:at], lines[at].lstrip(), *lines[at + 1 :]],
                [*lines[:at], rng.choice(lines), *lines[at + 1 :]],
            )
        )
    )


_BINARY: Final[Sequence[Mutator]] = (
    _flip,
    _flip,
    _set,
    _truncate,
    _delete,
    _duplicate,
    _splice,
    _length,
    _length,
    _extreme,
    _varint,
    _varint,
    _word,
)
_TEXT: Final[Sequence[Mutator]] = (
    _token,
    _token,
    _token,
    _token,
    _text_word,
    _text_word,
    _line,
    _line,
    _flip,
    _delete,
    _duplicate,
    _truncate,
    _splice,
    _nest,
)
