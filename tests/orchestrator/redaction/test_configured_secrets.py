"""Secrets are named by where they are, and one that cannot be read is not written by accident."""

import json
import re
from pathlib import Path

import pytest

from orchestrator.api.console.answers import Problem
from orchestrator.audit.opening import open_verified
from orchestrator.config.load import parse_config
from orchestrator.errors import ExitCode, SecretUnknown
from orchestrator.redaction.configured_secrets import configured_files, redactor_of
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.redaction.redactor import MARK
from orchestrator.views.console.access.redaction import RedactedJson

ROTATED = """
cluster: {name: prod}
brokers:
  bootstrap: "b1:9092"
  security: {protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN, username: u, password_file: pw}
"""


def test_every_secret_file_of_the_configuration_is_found(tmp_path: Path) -> None:
    for name in ("one", "two", "key.pem", "cert.pem"):
        (tmp_path / name).write_text("x")
    text = """
cluster: {name: prod}
controllers:
  bootstrap: "c1:9093"
  security: {protocol: SASL_SSL, sasl_mechanism: PLAIN, username: u, password_file: one,
             key_file: key.pem, cert_file: cert.pem}
brokers:
  bootstrap: "b1:9092"
  security: {protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN, username: u, password_file: two}
"""
    config = parse_config(text, tmp_path / "kraftgate.yaml")
    assert set(configured_files(config)) == {tmp_path / name for name in ("one", "key.pem", "two")}


def test_secrets_are_taken_from_variables_and_files(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("s3\nthis is a comment\n")
    environment = {"MINE": "abc", "X_TOKEN": "guessed", "MAX_TOKENS": "12", "HOME": "/root"}
    redactor = Secrets(variables=("MINE",), files=(file,)).redactor(environment)
    assert redactor.text("abc s3 guessed 12 /root") == f"{MARK} {MARK} {MARK} 12 /root"


@pytest.mark.parametrize(
    ("secret", "answer"),
    [
        ("Bearer s3cr3t-abcdef", "invalid access key {s3cr3t-abcdef}"),
        ("https://host:8443/v1/hooks/T0KEN-abcdef1", "unknown integration {T0KEN-abcdef1}"),
        ("https://host/hook?key=T0KEN-abcdef1&to=ops", "no such key {T0KEN-abcdef1}"),
        ("https://user:pa55w0rdX@host/", "bad login {pa55w0rdX}"),
        ("https://host/v1/notifications/T0KEN-abcdef1", "unknown path v1/notifications"),
        ("https://host/ping?source=kafka-prod-eu1", "broker 3 of kafka-prod-eu1"),
        ("https://token:x@host/", "prefix x"),
    ],
)
def test_a_part_that_is_a_secret_alone_is_one(tmp_path: Path, secret: str, answer: str) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{secret}\n")
    redacted = re.sub(r"{.*}", MARK, answer)
    plain = answer.replace("{", "").replace("}", "")
    assert Secrets(files=(file,)).redactor({}).text(plain) == redacted


def test_a_secret_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SecretUnknown, match="MINE"):
        Secrets(variables=("MINE",)).redactor({})
    with pytest.raises(SecretUnknown, match="absent"):
        Secrets(files=(tmp_path / "absent",)).redactor({})


def test_a_secret_file_that_others_can_read_is_an_error_of_the_configuration(
    tmp_path: Path,
) -> None:
    """Another start does not help, so a service manager must not restart it."""
    text = "cluster: {name: prod}\nconsole: {token_file: token}\n"
    (tmp_path / "token").write_text("correct-horse-battery\n")
    (tmp_path / "token").chmod(0o644)
    said = "kraftgate.yaml: `console.token_file`: the secret file .* has mode 0644.*: chmod 0600 "
    with pytest.raises(SecretUnknown, match=said) as refused:
        open_verified(parse_config(text, tmp_path / "kraftgate.yaml"))
    assert refused.value.code is ExitCode.USAGE
    (tmp_path / "token").unlink()
    with pytest.raises(
        SecretUnknown, match=r"`console.token_file`: .*token cannot be read: No such"
    ):
        open_verified(parse_config(text, tmp_path / "kraftgate.yaml"))


def test_a_rotated_secret_is_known_at_once_and_the_earlier_one_remains(tmp_path: Path) -> None:
    file, other = tmp_path / "password", tmp_path / "other"
    file.write_text("first-password\n")
    other.write_text("another\n")
    redactor = Secrets(files=(file, other)).redactor({})
    assert redactor.refreshed() is redactor
    file.unlink()
    assert redactor.refreshed() is redactor, "a file that is being replaced is read later"
    file.write_text("second-password\n")
    rotated = redactor.refreshed()
    assert rotated.text("first-password second-password another") == f"{MARK} {MARK} {MARK}"
    assert rotated.refreshed() is rotated


def test_audit_trail_and_console_know_a_rotated_secret(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text("first-password\n")
    config = parse_config(ROTATED, tmp_path / "kraftgate.yaml")
    cleaner = RedactedJson(redactor_of(config))
    said = "login second-password"
    model = Problem(code="c", message=said)
    assert json.loads(cleaner.json(model))["message"] == said
    with open_verified(config) as log:
        (tmp_path / "pw").write_text("second-password\n")
        assert log.append("prod", "note", {"o": said}, 1).body == {"o": f"login {MARK}"}
    assert json.loads(cleaner.json(model))["message"] == f"login {MARK}"


def test_an_address_that_is_a_secret_is_one_without_its_host_too(tmp_path: Path) -> None:
    file = tmp_path / "hook"
    file.write_text("https://hooks.example.com/services/T0/very-secret\n")
    redactor = Secrets(files=(file,)).redactor({})
    assert redactor.text("POST /services/T0/very-secret") == f"POST /{MARK}"
    assert redactor.text("to https://hooks.example.com") == "to https://hooks.example.com"
    file.write_text("https://[very-secret\n")
    assert "very-secret" not in Secrets(files=(file,)).redactor({}).text("to https://[very-secret")
