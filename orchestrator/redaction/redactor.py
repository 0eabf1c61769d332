"""Replaces secrets in text that is about to be written: known values, `key=value` and PEM keys.

It prefers to redact too much rather than too little: `password=a,b` loses `,b` too.
"""

import base64
import html
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, TypeVar, get_args, get_origin
from urllib.parse import quote, quote_plus

from pydantic import BaseModel

from orchestrator.output.json_value import JsonValue
from orchestrator.redaction.patterns import (
    KEY,
    SecretMatch,
    end_of_a_key,
    find,
    is_secret_flag,
    names_a_secret,
)

_Model = TypeVar("_Model", bound=BaseModel)

MARK: Final = "[redacted]"
_MARK: Final = MARK.encode()
_KNOWN: Final = "known"
_LINE_MIN: Final = 8
"""A single line of a multi-line secret is searched for if it has at least this many characters."""
_CORE_MIN: Final = 6
"""The same for the part of a base64 text that depends on the secret only."""


class Redactor:
    """Redacts known secrets by their value, and all others by their pattern.

    Args:
        secrets: values; empty ones are ignored.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in set(secrets) for form in forms(secret)}
        self._forms = [re.compile(re.escape(form)) for form in sorted(known)]
        self.longest = max((len(form) for form in known), default=1)
        """The length in bytes of the longest form of a known secret."""
        crossing = (len(form) for form in known if b"\n" in form or b"\r" in form)
        self.longest_crossing = max(crossing, default=1)
        """The same for the forms that contain a line end."""

    def refreshed(self) -> "Redactor":
        """Return the redactor for what is written from now on: this one, or one that knows more."""
        return self

    def text(self, text: str) -> str:
        """Redact text; lone surrogates are escaped in the result."""
        return self.data(text.encode("utf-8", "backslashreplace")).decode()

    def data(self, data: bytes) -> bytes:
        return replaced(data, 0, len(data), self.found(data))

    def argv(self, argv: Sequence[str]) -> list[str]:
        """Redact a command, including the argument after `--password`."""
        return [
            MARK if at > 0 and is_secret_flag(argv[at - 1]) else self.text(argument)
            for at, argument in enumerate(argv)
        ]

    def body(self, body: JsonValue) -> JsonValue:
        """Redact every text in a value, and each text whose key names a secret."""
        return redacted(body, self.text)

    def tail(self, data: bytes) -> tuple[int, bytes]:
        """Redact the last part of a longer output.

        A part that could be the rest of a secret from before is left out: at least the first line,
        and everything if there is no line end.

        Returns:
            the position in `data` where the result begins, and the bytes that may be written.
        """
        found = [*self.found(data), SecretMatch(0, 0, end_of_a_key(data), KEY)]
        start = data.find(b"\n", min(len(data), self.longest)) + 1 or len(data)
        return start, replaced(data, start, len(data), found)

    def output(self, data: bytes, bytes_max: int) -> str:
        """Redact the output of a command, of which only the last `bytes_max` bytes are kept."""
        shown = self.data(data) if len(data) < bytes_max else self.tail(data)[1]
        return shown.decode("utf-8", "replace")

    def found(self, data: bytes) -> list[SecretMatch]:
        """Return every secret in bytes; they may overlap."""
        known = [
            SecretMatch(match.start(), match.start(), match.end(), _KNOWN)
            for form in self._forms
            for match in form.finditer(data)
        ]
        return [*known, *find(data)]


def redacted(body: JsonValue, text: Callable[[str], str]) -> JsonValue:
    """Return a value with every text redacted by `text`, and each whose key names a secret."""
    found: JsonValue = _redacted(body, text)
    return found


def redacted_model(model: _Model, text: Callable[[str], str]) -> _Model:
    """Return a model with the same redacted, except the names of its fields and its literals.

    A password may be `kraftgate` or `broker`, and a report without these words is not valid.
    """
    names = _not_literal(type(model))
    return model.model_copy(update={each: _redacted(getattr(model, each), text) for each in names})


def _redacted(value: Any, text: Callable[[str], str]) -> Any:  # noqa: ANN401  # JSON, or of a field
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {
            text(key): MARK
            if isinstance(each, str) and names_a_secret(key)
            else _redacted(each, text)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(_redacted(each, text) for each in value)
    return redacted_model(value, text) if isinstance(value, BaseModel) else value


@cache
def _not_literal(model: type[BaseModel]) -> tuple[str, ...]:
    fields = model.model_fields.items()
    return tuple(name for name, field in fields if not _is_literal(field.annotation))


def _is_literal(annotation: object) -> bool:
    """Whether a field of this type has only texts that its type names."""
    if get_origin(annotation) is Literal:
        return True
    parts = get_args(annotation)
    return any(map(_is_literal, parts)) and str not in parts


def replaced(data: bytes, start: int, end: int, found: Iterable[SecretMatch]) -> bytes:
    """Return a part of `data` with a mark for each secret; overlapping secrets share one mark."""
    parts, at = [], start
    for first, last in _merged(found):
        begin, behind = max(first, start), min(last, end)
        if begin < behind:
            parts += [data[at:begin], _MARK]
            at = behind
    parts.append(data[at:end])
    return b"".join(parts)


def _merged(found: Iterable[SecretMatch]) -> Iterator[tuple[int, int]]:
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


def forms(secret: str) -> set[bytes]:
    """Return every form of a secret, and of each of its longer lines, in which it may be printed.

    As it is; encoded as in JSON, a URL, HTML or a shell word; and in base64, plain or URL-safe,
    alone or within a longer text, as in the tokens of Basic and of SASL PLAIN.
    """
    return {form for text in _texts(secret) for form in _forms(text) if form}


def _texts(secret: str) -> Iterator[str]:
    whole = secret.strip()
    yield whole
    lines = [line.strip() for line in whole.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _LINE_MIN)


def _forms(text: str) -> Iterator[bytes]:
    raw = text.encode("utf-8", "backslashreplace")
    yield raw
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw).rstrip(b"=")
        for before in range(3):  # bytes of the same group of three, which shift the encoding
            size = (before + len(raw)) * 8 // 6  # without a last character of other bits
            core = encode(bytes(before) + raw)[(before * 8 + 5) // 6 : size]
            if len(core) >= _CORE_MIN:
                yield core
    printed = raw.decode()
    for form in (
        json.dumps(printed)[1:-1],
        json.dumps(printed, ensure_ascii=False)[1:-1],
        quote(printed),
        quote(printed, safe=""),
        quote_plus(printed),
        html.escape(printed),
        shlex.quote(printed).strip("'"),
    ):
        yield form.encode()
