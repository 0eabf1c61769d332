"""A file with a secret is refused when other users can read or change it."""

import os
import shlex
from pathlib import Path

import pytest

from orchestrator.errors import ConfigError, SecretUnknown
from orchestrator.notify.http_post import Undelivered, secret_in
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.views.console.access import bearer_token
from streams.jmx.config import Access
from streams.jmx.errors import AccessRefused
from streams.jmx.http import Http
from streams.net.errors import AuthenticationFailed
from streams.net.secret_file import SecretFileRefused, content, first_line
from streams.net.security import Security

_NOBODY = 65534
_SECRET = "correct horse battery staple"  # noqa: S105


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "the secret"
    path.write_text(f"{_SECRET}\nmore")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o440, 0o640, 0o700])
def test_a_private_file_is_read(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert first_line(file) == _SECRET


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o620, 0o602, 0o666])
def test_a_file_of_another_mode_is_refused_with_the_command_that_fixes_it(
    file: Path, mode: int
) -> None:
    file.chmod(mode)
    with pytest.raises(SecretFileRefused, match=f"has mode {mode:04o}") as refused:
        content(file)
    assert str(refused.value).endswith(f"chmod 0600 {shlex.quote(str(file))}")
    assert _SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("written", "why"), [(b"", "is empty"), (b"\nx", "is empty"), (b"\xff", "is not UTF-8")]
)
def test_a_file_without_a_secret_is_refused(file: Path, written: bytes, why: str) -> None:
    file.write_bytes(written)
    with pytest.raises(SecretFileRefused, match=why):
        first_line(file)


def test_the_mark_of_an_editor_is_no_part_of_the_secret(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + _SECRET.encode())
    assert first_line(file) == _SECRET
    assert _SECRET not in Secrets(files=(file,)).redactor({}).text(f"login {_SECRET}")
    file.write_bytes(b"\xef\xbb\xbf\n")
    with pytest.raises(SecretFileRefused, match="is empty"):
        first_line(file)


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(SecretFileRefused, match="cannot be read: it is not a regular file"):
        content(pipe)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SecretFileRefused, match="cannot be read: Is a directory"):
        content(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(
    ("owner", "group", "mode", "read"),
    [
        (0, _NOBODY, 0o640, True),
        (0, 0, 0o444, False),
        (_NOBODY, 0, 0o600, True),
        (_NOBODY, _NOBODY, 0o640, True),
        (1, _NOBODY, 0o640, False),
    ],
)
def test_who_else_may_own_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, owner: int, group: int, mode: int, read: bool
) -> None:
    """For a process of the user and group nobody."""
    os.chown(file, owner, group)
    file.chmod(mode)
    monkeypatch.setattr(os, "geteuid", lambda: _NOBODY)
    monkeypatch.setattr(os, "getegid", lambda: _NOBODY)
    monkeypatch.setattr(os, "getgroups", lambda: [_NOBODY])
    if read:
        assert first_line(file) == _SECRET
        return
    with pytest.raises(SecretFileRefused):
        first_line(file)


def test_every_reader_refuses_it(file: Path) -> None:
    file.chmod(0o644)
    said = r"chmod 0600 '.*the secret'"
    listener = Security(
        protocol="SASL_SSL",
        sasl_mechanism="PLAIN",
        username="u",
        password_file=file,
        key_file=file,
    )
    for read in (listener.password, listener.private_key):
        with pytest.raises(AuthenticationFailed, match=said):
            read()
    for access in (Access(username="u", password_file=file), Access(bearer_token_file=file)):
        with pytest.raises(AccessRefused, match=said):
            Http(access, 1.0)._credentials()
    with pytest.raises(Undelivered, match=said):
        secret_in(file)
    with pytest.raises(SecretUnknown, match=said):
        Secrets(files=(file,)).redactor({})
    with pytest.raises(ConfigError, match=said):
        bearer_token.configured(file, Path("kraftgate.yaml"))
