"""What looks like a secret without being known: the place where it stands tells."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_NAME: Final = (
    rb"(?:pass(?:word|wd|phrase)|\bpwd|secret|token|credential"
    rb"|(?:api|access|private)[_.-]?key)"
)
# A file's name, and the like, is no secret and helps whoever looks for what went wrong.
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
"""The kind that goes over several lines."""

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
_DIRECTORIES: Final = {"PWD", "OLDPWD"}
_FLAG: Final = re.compile(rb"(?i)--?[\w.-]*" + _NAME + _REST)
_KEY_REMAINS: Final = re.compile(rb"\A" + _KEY_TEXT + rb"*?" + _KEY_END)
_KEY_GOES_ON: Final = re.compile(_KEY_TEXT + rb"*")
_LINE_GOES_ON: Final = re.compile(rb"[^\r\n]*")


class Found(NamedTuple):
    """Where something that looks like a secret stands.

    Attributes:
        begin: of what tells that it is one.
        start: of itself.
        end: behind it.
        kind: what the pattern calls it.
    """

    begin: int
    start: int
    end: int
    kind: str


def find(data: bytes) -> Iterator[Found]:
    """Find all, by each pattern; they may overlap."""
    for pattern in _PATTERNS:
        for match in pattern.finditer(data):
            kind = str(match.lastgroup)
            yield Found(match.start(), match.start(kind), match.end(kind), kind)


def going_on(kind: str) -> re.Pattern[bytes]:
    """Match, at the beginning of what follows, how one that was cut off goes on at most."""
    return _KEY_GOES_ON if kind == KEY else _LINE_GOES_ON


def end_of_a_key(data: bytes) -> int:
    """Tell up to where `data` begins with the remains of a PEM private key; 0: it does not."""
    remains = _KEY_REMAINS.match(data)
    return 0 if remains is None or b"-----BEGIN" in remains[0] else remains.end()


def names_a_secret(name: str) -> bool:
    """Whether what has this name is a secret: `DB_PASSWORD`, `api-key`; not `password_file`."""
    if name in _DIRECTORIES:
        return False
    return _ALONE.fullmatch(name.encode("utf-8", "backslashreplace")) is not None


def is_secret_flag(argument: str) -> bool:
    """Whether a command takes a secret as its next argument: `--password`."""
    return _FLAG.fullmatch(argument.encode("utf-8", "backslashreplace")) is not None
