"""The value types of the configuration: strict models, addresses, names, durations, files."""

import ipaddress
import os
import re
import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationInfo

from migration.values.durations import parse_duration
from streams.net.endpoint import Endpoint
from streams.state.directory import is_wrong_path, why_unusable

# A resolver raises a UnicodeError, which is no OSError, for an empty label and a longer one.
_LABEL: Final = "[A-Za-z0-9_-]{1,63}"
_HOST: Final = re.compile(rf"(?!-){_LABEL}(\.{_LABEL})*(?<!-)\.?")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_CHROOT: Final = re.compile(r"(/(?!\.{1,2}(/|\Z))[^/\s,]+)+")


class Strict(BaseModel):
    """A model without coercion, unknown keys, later changes, or values in error messages."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


class ZookeeperConnect(NamedTuple):
    """The addresses of the ZooKeeper ensemble, and Kafka's chroot (or "")."""

    hosts: tuple[Endpoint, ...]
    chroot: str

    def __str__(self) -> str:
        """Return the value in the format of Kafka's zookeeper.connect."""
        return ",".join(map(str, self.hosts)) + self.chroot


def parse_host_port(text: str, *, port_min: int = 1, default_port: int | None = None) -> Endpoint:
    """Parse `host:port`, with an IPv6 host in brackets.

    Raises:
        ValueError: it is not an address; the message has the reason.
    """
    text = text.strip()
    host, port_text = _split(text)
    if port_text is None and default_port is not None:
        port_text = str(default_port)
    if port_text is None:
        raise ValueError(f"{text!r} has no port: write host:port")
    if not re.fullmatch(r"[0-9]{1,5}", port_text) or not port_min <= int(port_text) <= 65535:
        raise ValueError(f"{text!r} has no port from {port_min} to 65535 after its last colon")
    return Endpoint(host, int(port_text))


def _split(text: str) -> tuple[str, str | None]:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(f"{text!r} is no address: write an IPv6 one like [::1]:9093")
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise ValueError(f"{host!r} in brackets is no IPv6 address") from None
        return host, rest[1:] or None
    if text.count(":") > 1:
        raise ValueError(f"{text!r} has several colons: put an IPv6 address in brackets")
    host, colon, port = text.partition(":")
    if not _HOST.fullmatch(host):
        raise ValueError(f"{text!r} names no host: write host:port")
    return host, port if colon else None


def text_like(value: object, example: str) -> str:
    """Return the value unchanged if it is text.

    Raises:
        ValueError: it is not text.
    """
    if isinstance(value, str):
        return value
    fix = "" if isinstance(value, (dict, list)) else ": put it in quotes"
    raise ValueError(f'must be text like "{example}", not {type(value).__name__}{fix}')


def text_matching(pattern: re.Pattern[str], example: str, wrong: str) -> Callable[[object], str]:
    """Return the validator of text that matches a pattern.

    Args:
        pattern: matches the whole text.
        example: such a text, for the message about a value that is not text.
        wrong: what is wrong with other text, as the end of the message.
    """

    def check(value: object) -> str:
        text = text_like(value, example)
        if not pattern.fullmatch(text):
            raise ValueError(f"{text!r} {wrong}")
        return text

    return check


def at_least(shortest: str) -> AfterValidator:
    """Return the validator of a duration that is not shorter than this one."""
    shortest_ = parse_duration(shortest)

    def check(value: timedelta) -> timedelta:
        if value < shortest_:
            raise ValueError(f"must be {shortest} at least")
        return value

    return AfterValidator(check)


def _bootstrap(value: object) -> tuple[Endpoint, ...]:
    found = _addresses(text_like(value, "c1:9093,c2:9093"))
    twice = next((str(address) for address in found if found.count(address) > 1), None)
    if twice is not None:
        raise ValueError(f"names {twice} twice: remove one")
    return found


def _zookeeper(value: object) -> ZookeeperConnect:
    text = text_like(value, "zk1:2181,zk2:2181/kafka").strip()
    hosts, slash, chroot = text.partition("/")
    if slash and not _CHROOT.fullmatch(slash + chroot):
        raise ValueError(f"ends in {slash + chroot!r}, which is no path: write it like /kafka")
    return ZookeeperConnect(_addresses(hosts, default_port=2181), slash + chroot)


def _addresses(text: str, default_port: int | None = None) -> tuple[Endpoint, ...]:
    parts = text.split(",")
    if any(not part.strip() for part in parts):
        raise ValueError("has an empty entry: write host:port, separated by single commas")
    return tuple(parse_host_port(part, default_port=default_port) for part in parts)


def _listen(value: object) -> Endpoint:
    return parse_host_port(text_like(value, "127.0.0.1:9464"), port_min=0)


def _path(value: object, info: ValidationInfo) -> Path:
    text = text_like(value, "./file")
    if not text or "\0" in text:
        raise ValueError("must name a path")
    base: Path = info.context["base"] if info.context else Path()
    try:
        return base / Path(text).expanduser()
    except RuntimeError as error:  # pathlib raises it for ~user
        raise ValueError(f"{text}: there is no home directory of that user") from error


def _file(value: object, info: ValidationInfo) -> Path:
    path = _path(value, info)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise ValueError(f"{path} is a directory: set a file")
    if not stat.S_ISREG(mode):
        raise ValueError(f"there is no file {path}: relative paths start at the configuration's")
    return path


def _secret_file(value: object, info: ValidationInfo) -> Path:
    """Parse the file of a secret, which is missing while it is replaced: its readers report that.

    An operator's pause, and commands that read only the state directory, do not read it.
    """
    path = _path(value, info)
    return _file(value, info) if os.path.lexists(path) else path


def _directory(value: object, info: ValidationInfo) -> Path:
    """Parse a directory that may not exist yet; an existing one must be readable."""
    path = _path(value, info)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return path  # the command that creates it reports why it cannot
    except OSError as error:
        if not is_wrong_path(path, error):
            return path  # likewise: the configuration is not wrong
        raise ValueError(why_unusable(path, error)) from error
    if not stat.S_ISDIR(mode):
        raise ValueError(f"{path} is a file: set a directory")
    if not os.access(path, os.R_OK | os.X_OK):
        raise ValueError(f"{path} cannot be read: run as the user who owns it")
    return path


def _shipped_or_file(value: object, info: ValidationInfo) -> str | Path:
    """Return the name of a bundled file, or the path if the value has a slash or a suffix."""
    given = text_like(value, "zk-to-kraft-jbod")
    if "/" in given or given.endswith((".yaml", ".yml")):
        return _file(given, info)
    return given


_host_name: Final = text_matching(
    _HOST, "kraftgate.example.com", "names no host: write it without a scheme and a port"
)
_name: Final = text_matching(
    _NAME,
    "prod",
    "cannot name a cluster: up to 64 letters, digits, '.', '_' and '-', beginning with a letter or"
    " digit",
)
_topic: Final = text_matching(
    _TOPIC, "kraftgate", "cannot name a topic: up to 249 letters, digits, '.', '_' and '-'"
)

HostName: TypeAlias = Annotated[str, BeforeValidator(_host_name), AfterValidator(str.lower)]
Bootstrap: TypeAlias = Annotated[tuple[Endpoint, ...], BeforeValidator(_bootstrap)]
Zookeeper: TypeAlias = Annotated[ZookeeperConnect, BeforeValidator(_zookeeper)]
Listen: TypeAlias = Annotated[Endpoint, BeforeValidator(_listen)]
ClusterName: TypeAlias = Annotated[str, BeforeValidator(_name)]
TopicName: TypeAlias = Annotated[str, BeforeValidator(_topic)]
Directory: TypeAlias = Annotated[Path, BeforeValidator(_directory)]
File: TypeAlias = Annotated[Path, BeforeValidator(_file)]
SecretFile: TypeAlias = Annotated[Path, BeforeValidator(_secret_file)]
Duration: TypeAlias = Annotated[timedelta, BeforeValidator(parse_duration)]
ShippedOrFile: TypeAlias = Annotated[str | Path, BeforeValidator(_shipped_or_file)]
