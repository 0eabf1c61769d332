"""Makes TLS contexts from PEM files, which are read again for every context."""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from streams.net.security import Security
from streams.process.pipes import read_file


def client_context(security: Security) -> ssl.SSLContext:
    """Return the context of a client, which trusts only `ca_file` if there is one.

    Raises:
        OSError: a file cannot be used; the message names it.
        AuthenticationFailed: the file of a secret cannot be read, or other users can read it.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = security.check_hostname
    if security.ca_file is None:
        context.load_default_certs()
    else:
        _read("ca_file", security.ca_file, context.load_verify_locations)
    if security.cert_file is not None:
        load_pair(context, security.cert_file, security.private_key())
    return context


def load_pair(context: ssl.SSLContext, cert: Path, key: Path | None) -> None:
    """Load a certificate and its private key.

    OpenSSL would read the password of an encrypted key from the terminal, or from a pipe, at every
    connection.

    Raises:
        OSError: a file cannot be used, or the key is encrypted; the message names it.
    """

    def encrypted() -> NoReturn:
        file = key or cert
        raise OSError(
            f"its private key in {file} is encrypted. Decrypt it: openssl pkey -in {file} -out NEW,"
            " and name the new file as `key_file`"
        )

    _read(
        "cert_file, or the key_file that belongs to it,",
        cert,
        lambda file: context.load_cert_chain(file, key, encrypted),
    )


def _read(what: str, file: Path, load: Callable[[Path], None]) -> None:
    try:
        read_file(file)  # OpenSSL would wait for the writer of a pipe
        load(file)
    except (OSError, ValueError) as error:  # ssl.SSLError is the first
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise OSError(f"the {what} {file} cannot be used: {why}") from error
