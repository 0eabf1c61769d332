"""The TLS and SASL settings of a listener; no printable value contains a secret."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from streams.net.errors import AuthenticationFailed
from streams.net.secret_file import SecretFileRefused, content, first_line

_PATHS: Final = ("password_file", "ca_file", "cert_file", "key_file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """The security settings of a listener, or of ZooKeeper: locations of secrets, never secrets.

    The settings may therefore be in Spark options, which the UI and every plan show. Secrets are
    read at each connection attempt, so a rotated password needs no restart.

    Attributes:
        protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
        sasl_mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI or OAUTHBEARER.
        username: The SASL user; for GSSAPI the principal comes from the credential cache. For
            ZooKeeper, which Kraftgate does not access by SASL, the user of the scheme `digest`.
        password_file: File whose first line is the password (OAUTHBEARER: the token).
        ca_file: PEM file of trusted authorities; None trusts the authorities of the system.
        cert_file: PEM file of the client's certificate, for mutual TLS.
        key_file: PEM file of the client's private key, not encrypted.
        check_hostname: Whether the certificate must name the host that the client connects to.
        key: The configuration key of these settings, for messages.
    """

    protocol: str = "PLAINTEXT"
    sasl_mechanism: str | None = None
    username: str | None = None
    password_file: Path | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    check_hostname: bool = True
    key: str = field(default="security", compare=False)

    @property
    def sasl(self) -> bool:
        return self.protocol.startswith("SASL_")

    @property
    def zookeeper_identity(self) -> bool:
        """Whether ZooKeeper authenticates the client: by `digest`, or by certificate (`x509`)."""
        return self.username is not None or self.cert_file is not None

    @property
    def tls(self) -> bool:
        return self.protocol.endswith("SSL")

    def password(self) -> str | None:
        """Read and return the password; None: none is configured.

        Raises:
            AuthenticationFailed: the file cannot be read, or other users can read it.
        """
        if self.password_file is None:
            return None
        try:
            return first_line(self.password_file)
        except SecretFileRefused as error:
            raise AuthenticationFailed(str(error)) from error

    def private_key(self) -> Path | None:
        """Return the TLS key file for the TLS library, after a check that the file is private.

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
    """Return the settings of a Spark option, in which paths are strings."""
    fields: dict[str, Any] = {
        name: Path(value) if name in _PATHS and value is not None else value
        for name, value in told.items()
    }
    return Security(**fields)
