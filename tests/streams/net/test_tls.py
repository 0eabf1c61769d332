"""OpenSSL asks nobody for the password of an encrypted key, and messages name the file."""

import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from streams.net.security import Security
from streams.net.tls import client_context, load_pair
from tests.streams.zookeeper.certificates import Authority, Certificate

PASSWORD = "hunter22"  # noqa: S105
LOADS = """
import ssl, sys
from pathlib import Path
from streams.net.tls import load_pair
try:
    load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), *map(Path, sys.argv[1:]))
except OSError as error:
    print(error, "|", sys.stdin.read())
"""


@pytest.fixture
def encrypted(tmp_path: Path) -> Certificate:
    """A certificate whose key needs the password."""
    plain = Authority(tmp_path).issue("client")
    key = tmp_path / "encrypted.key"
    made = ["-aes256", "-passout", f"pass:{PASSWORD}", "-in", plain.key, "-out", key]
    subprocess.run(["openssl", "pkey", *map(str, made)], check=True)
    return Certificate(plain.cert, key, plain.both)


@pytest.mark.slow
def test_nothing_is_read_as_the_password_of_a_key(encrypted: Certificate) -> None:
    """Without a terminal OpenSSL reads stdin, from which Spark orders its Python processes."""
    ended = subprocess.run(
        [sys.executable, "-c", LOADS, str(encrypted.cert), str(encrypted.key)],
        input="an order",
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    assert f"{encrypted.key} is encrypted. Decrypt it: openssl pkey -in" in ended.stdout
    assert ended.stdout.endswith("| an order\n")
    assert not ended.stderr


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(OSError, match=f"ca_file {pipe} cannot be used: it is not a file"):
        client_context(Security(protocol="SSL", ca_file=pipe))
    with pytest.raises(OSError, match=f"{pipe} cannot be used: it is not a file"):
        load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pipe, None)
