"""How to reach a controller that wants TLS or SASL, without a secret in any printable value."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from streams.net.errors import AuthenticationFailed
from streams.net.secret_file import SecretFileRefused, content, first_line

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_PATHS: Final = ("password_file", "ca_file", "cert_file", "key_file", "key_password_file")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER")


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """Security of a listener, or of ZooKeeper. It holds where secrets are, never what they are.

    So it may stand in Spark options, which the UI and every plan show. Secrets are read again at
    each connection attempt, so a rotated password needs no restart.

    Attributes:
        protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
        sasl_mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI or OAUTHBEARER.
        username: The SASL user; for GSSAPI the principal comes from the credential cache. Of
            ZooKeeper, which is not reached by SASL, the user of the scheme `digest`.
        password_file: File whose first line is the password (OAUTHBEARER: the token).
        password_env: Name of an environment variable instead of that file.
        ca_file: PEM file of trusted authorities; None trusts the system's.
        cert_file: PEM file of the client's certificate, for mutual TLS.
        key_file: PEM file of its key; may be encrypted with `key_password_file`.
        key_password_file: File whose first line decrypts the key.
        check_hostname: Whether the certificate must name the host that was dialled.
        key: The configuration's key that says all this, for messages.
    """

    protocol: str = "PLAINTEXT"
    sasl_mechanism: str | None = None
    username: str | None = None
    password_file: Path | None = None
    password_env: str | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    key_password_file: Path | None = None
    check_hostname: bool = True
    key: str = field(default="security", compare=False)

    def __post_init__(self) -> None:
        """Refuse what could only fail later.

        Raises:
            ValueError: an unknown protocol or mechanism, or SASL without a mechanism.
        """
        if self.protocol not in _PROTOCOLS:
            raise ValueError(f"protocol {self.protocol!r} is none of {', '.join(_PROTOCOLS)}")
        if self.sasl and self.sasl_mechanism not in _MECHANISMS:
            raise ValueError(
                f"{self.protocol} needs a sasl_mechanism of {', '.join(_MECHANISMS)},"
                f" not {self.sasl_mechanism!r}"
            )
        if self.password_file is not None and self.password_env is not None:
            raise ValueError("give password_file or password_env, not both")

    @property
    def sasl(self) -> bool:
        """Whether the listener authenticates by SASL."""
        return self.protocol.startswith("SASL_")

    @property
    def zookeeper_identity(self) -> bool:
        """Whether ZooKeeper is told who asks: by `digest`, or by a certificate (`x509`)."""
        return self.username is not None or self.cert_file is not None

    @property
    def tls(self) -> bool:
        """Whether the listener speaks TLS."""
        return self.protocol.endswith("SSL")

    def password(self) -> str | None:
        """Read the password now.

        Raises:
            AuthenticationFailed: the file cannot be read or the variable is not set.
        """
        if self.password_file is not None:
            return _secret(self.password_file)
        if self.password_env is not None:
            try:
                return os.environ[self.password_env]
            except KeyError:
                raise AuthenticationFailed(
                    f"the environment variable {self.password_env} (password_env) is not set"
                ) from None
        return None

    def key_password(self) -> str | None:
        """Read the TLS key's password now.

        Raises:
            AuthenticationFailed: the file cannot be read.
        """
        return None if self.key_password_file is None else _secret(self.key_password_file)

    def private_key(self) -> Path | None:
        """Return the file of the TLS key for the TLS library, after a check that it is private.

        Raises:
            AuthenticationFailed: the file cannot be read, or other users can read it.
        """
        if self.key_file is not None:
            try:
                content(self.key_file)
            except SecretFileRefused as error:
                raise AuthenticationFailed(str(error)) from error
        return self.key_file


def parse_security(told: Mapping[str, Any]) -> Security:
    """Read its fields from a Spark option, where files are names.

    Raises:
        ValueError: it cannot work.
    """
    fields: dict[str, Any] = {
        name: Path(value) if name in _PATHS and value is not None else value
        for name, value in told.items()
    }
    return Security(**fields)


def _secret(path: Path) -> str:
    try:
        return first_line(path)
    except SecretFileRefused as error:
        raise AuthenticationFailed(str(error)) from error
