"""The forms in which a known secret may be printed.

As it is; encoded as in JSON, a URL, HTML or a shell word; and in base64, plain or URL-safe.
"""

import base64
import html
import json
import shlex
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, quote_plus

_LINE_MIN: Final = 8
"""A single line of a multi-line secret is searched for if it has at least this many characters."""


def forms(secret: str) -> set[bytes]:
    """Return what to search for: every form of the secret, and of each of its longer lines."""
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
    yield base64.b64encode(raw).rstrip(b"=")
    yield base64.urlsafe_b64encode(raw).rstrip(b"=")
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
