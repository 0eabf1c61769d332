"""The admin client gets the security settings that every other connection has."""

import os
from pathlib import Path

import pytest

from streams.kafka.errors import ConnectionFailed, RequestRefused
from streams.kafka.librdkafka import client_settings
from streams.kafka.throttle import Throttles
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed
from streams.net.security import Security


def private(folder: Path, text: str) -> Path:
    (file := folder / text).write_text(text)
    file.chmod(0o600)
    return file


def test_scram_over_tls(tmp_path: Path) -> None:
    given = Security(
        protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        username="kraftgate",
        password_file=private(tmp_path, "secret"),
        ca_file=tmp_path / "ca.pem",
        check_hostname=False,
    )
    settings = client_settings(given)
    assert settings.pop("client.id")
    assert settings == {
        "security.protocol": "SASL_SSL",
        "log_level": 0,
        "ssl.endpoint.identification.algorithm": "none",
        "ssl.ca.location": str(tmp_path / "ca.pem"),
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "kraftgate",
        "sasl.password": "secret",
    }


def test_mutual_tls(tmp_path: Path) -> None:
    given = Security(
        protocol="SSL",
        cert_file=tmp_path / "cert.pem",
        key_file=private(tmp_path, "key"),
    )
    settings = client_settings(given)
    assert settings["ssl.certificate.location"] == str(tmp_path / "cert.pem")
    assert settings["ssl.key.location"] == str(tmp_path / "key")
    assert settings["ssl.endpoint.identification.algorithm"] == "https"


def test_an_unreadable_secret_is_named(tmp_path: Path) -> None:
    given = Security(protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN", password_file=tmp_path)
    with pytest.raises(AuthenticationFailed):
        client_settings(given)


def test_a_pipe_in_place_of_the_authorities_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ca.pem")
    given = Security(protocol="SSL", ca_file=tmp_path / "ca.pem", key="publish.security")
    with pytest.raises(ConnectionFailed, match=r"it is not a file \(`publish.security`\)"):
        Throttles((Endpoint("127.0.0.1", 1),), given).read(1)


def test_a_mechanism_that_librdkafka_lacks_is_named() -> None:
    given = Security(protocol="SASL_PLAINTEXT", sasl_mechanism="GSSAPI", key="brokers.security")
    with pytest.raises(RequestRefused, match=r"`brokers\.security`: .*GSSAPI"):
        Throttles((Endpoint("127.0.0.1", 1),), given).read(1)


def test_no_answer_names_broker_and_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.kafka.throttle._ANSWER_S_MAX", 0.2)
    with pytest.raises(
        ConnectionFailed, match=r"broker 1 \(127\.0\.0\.1:1\) does not describe its"
    ):
        Throttles((Endpoint("127.0.0.1", 1),), Security()).read(1)
