"""The console's certificate: loaded at the start, and again for new connections after a change."""

import logging
import ssl
from typing import Final

from orchestrator.config.models import ConsoleTls
from orchestrator.errors import ConfigError
from streams.net.secret_file import SecretFileRefused, Stamp, content, stamp
from streams.net.tls import load_pair

_LOG = logging.getLogger(__name__)
_VERSION_MIN: Final = ssl.TLSVersion.TLSv1_2


class Certificate:
    """Gives every new connection the current certificate of the files.

    While a changed pair of files cannot be used (one file is written before the other), new
    connections get the last usable one.

    Attributes:
        context: the TLS context of the listener.

    Raises:
        ConfigError: the files cannot be used.
    """

    def __init__(self, tls: ConsoleTls, where: str) -> None:
        self._tls = tls
        self._stamp = _stamp(tls)
        try:
            self._newest = self.context = _context(tls)
        except (OSError, SecretFileRefused) as error:
            fix = "name a PEM certificate and its key, both readable by kraftgate"
            raise ConfigError([f"{where}: {_files(tls)}: {error}: {fix}"]) from error
        self.context.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLObject, _: str, __: ssl.SSLContext) -> None:
        """Set the connection's context; OpenSSL calls this at the beginning of every handshake."""
        found = _stamp(self._tls)
        if found != self._stamp:
            self._stamp = found
            try:
                self._newest = _context(self._tls)
            except (OSError, SecretFileRefused) as error:
                _LOG.warning(
                    "%s changed and cannot be used (%s): the previous one stays in use",
                    _files(self._tls),
                    error,
                )
        connection.context = self._newest


def _context(tls: ConsoleTls) -> ssl.SSLContext:
    """Return a context with the certificate.

    Raises:
        OSError: a file cannot be read, is not a certificate, or the key does not match it.
        SecretFileRefused: the key's file is not private.
    """
    content(tls.key_file)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = _VERSION_MIN
    load_pair(made, tls.cert_file, tls.key_file)
    return made


def _stamp(tls: ConsoleTls) -> tuple[Stamp, Stamp]:
    return stamp(tls.cert_file), stamp(tls.key_file)


def _files(tls: ConsoleTls) -> str:
    return f"`cert_file` {tls.cert_file} and `key_file` {tls.key_file}"
