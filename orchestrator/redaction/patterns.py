"""Recognizes secrets whose value is unknown, by the text around them."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

_NAME: Final = (
    rb"(?:pass(?:word|wd|phrase)|\bpwd|secret|token|credential"
    rb"|(?:api|access|private)[_.-]?key)"
)
# The name of a file, a location, a type and the like is not a secret, and it helps with
# troubleshooting.
_REST: Final = rb"(?![\w.-]*(?:file|path|location|dir|type|policy|env)s?(?![\w.-]))[\w.-]{0,64}"
# The value up to its closing quote; escaped quotes, as in JSON within JSON; or up to a space.
_VALUE: Final = (
    rb"(?:\"(?P<double>(?:[^\"\\\r\n]|\\.)+)|'(?P<single>[^'\r\n]+)"
    rb"|\\+\"(?P<escaped>[^\"\r\n]+)|(?P<bare>[^\s\"'][^\s]*))"
)
_TO_THE_END: Final = rb"(?P<line>[^\r\n]+)"
_KEY_TEXT: Final = rb"[A-Za-z0-9+/=\s\\:,.-]"
_KEY_END: Final = rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----"

KEY: Final = "pem"
"""The kind that spans several lines."""

_PATTERNS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rb"(?i:" + _NAME + _REST + rb"[\"'\\]{0,4}[ \t]*(?:=>|:=|=|:)[ \t]*)" + _VALUE,
        rb"(?i:--?[\w.-]{0,64}" + _NAME + _REST + rb"[ \t]+)" + _VALUE,
        rb"(?i:sasl\.jaas\.config[\"'\\]{0,4}[ \t]*[=:][ \t]*)" + _TO_THE_END,
        rb"(?i:(?:authorization|cookie)[\"'\\]{0,4}[ \t]*[:=][ \t]*)" + _TO_THE_END,
        rb"(?i:\b[a-z][a-z0-9+.-]{0,20}://)(?P<userinfo>[^\s/\"'<>]+)(?=@)",
        rb"(?P<pem>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"
        rb"(?:" + _KEY_TEXT + rb"*?" + _KEY_END + rb"|" + _KEY_TEXT + rb"*))",
    )
)
_ALONE: Final = re.compile(rb"(?i).*" + _NAME + _REST)
_NAMES_KEPT: Final = 16_384
"""The console redacts the same keys at every tick."""
_DIRECTORIES: Final = {"PWD", "OLDPWD"}
_FLAG: Final = re.compile(rb"(?i)--?[\w.-]*" + _NAME + _REST)
_KEY_REMAINS: Final = re.compile(rb"\A" + _KEY_TEXT + rb"*?" + _KEY_END)
_KEY_GOES_ON: Final = re.compile(_KEY_TEXT + rb"*")
_LINE_GOES_ON: Final = re.compile(rb"[^\r\n]*")


class SecretMatch(NamedTuple):
    """The place of a text that resembles a secret.

    Attributes:
        begin: the start of the text that marks it as a secret.
        start: the start of the secret itself.
        end: the position after the secret.
        kind: the name of the pattern's group.
    """

    begin: int
    start: int
    end: int
    kind: str


def find(data: bytes) -> Iterator[SecretMatch]:
    """Yield every match of each pattern; matches may overlap."""
    for pattern in _PATTERNS:
        for match in pattern.finditer(data):
            kind = str(match.lastgroup)
            yield SecretMatch(match.start(), match.start(kind), match.end(kind), kind)


def going_on(kind: str) -> re.Pattern[bytes]:
    """Return a pattern that matches the longest continuation of a secret that was cut off."""
    return _KEY_GOES_ON if kind == KEY else _LINE_GOES_ON


def end_of_a_key(data: bytes) -> int:
    """Return the length of the rest of a PEM key that `data` begins with; 0: there is none."""
    remains = _KEY_REMAINS.match(data)
    return 0 if remains is None or b"-----BEGIN" in remains[0] else remains.end()


@lru_cache(_NAMES_KEPT)
def names_a_secret(name: str) -> bool:
    """Return whether a name is that of a secret: `DB_PASSWORD`, `api-key`, not `password_file`."""
    if name in _DIRECTORIES:
        return False
    return _ALONE.fullmatch(name.encode("utf-8", "backslashreplace")) is not None


def is_secret_flag(argument: str) -> bool:
    """Return whether the next argument after this one is a secret: `--password`."""
    return _FLAG.fullmatch(argument.encode("utf-8", "backslashreplace")) is not None
