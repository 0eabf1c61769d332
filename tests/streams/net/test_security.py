"""Secrets are read when needed, and are in no value that could be printed."""

from pathlib import Path

import pytest

from streams.net.errors import AuthenticationFailed
from streams.net.security import Security


def test_the_password_is_read_from_the_file_each_time(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("first\n", encoding="utf-8")
    made = Security(protocol="SASL_SSL", sasl_mechanism="PLAIN", username="u", password_file=secret)
    assert made.password() == "first"
    secret.write_text("second", encoding="utf-8")
    assert made.password() == "second"
    assert "second" not in repr(made)


def test_a_missing_secret_file_is_named(tmp_path: Path) -> None:
    made = Security(password_file=tmp_path / "absent")
    with pytest.raises(AuthenticationFailed, match="absent"):
        made.password()


def test_nothing_to_read_without_options() -> None:
    assert Security().password() is None
