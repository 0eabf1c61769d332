"""Why TLS failed, with the fix, for the clients of Kafka, ZooKeeper, JMX and receivers."""

import ssl
from collections.abc import Mapping
from typing import Final

from streams.net.security import Security

_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING")
"""The reasons of OpenSSL 3.0 and 3.2 for bytes that are not TLS, and for no bytes."""
_TRUST: Final = "{why}: check `{key}.ca_file`"
_NAME: Final = (
    "{why}: issue a certificate that names it, or, if that is not possible, set"
    " `{key}.check_hostname: false`"
)
_CLIENT: Final = (
    "the server rejects the client: {why}: check `{key}.cert_file` and `{key}.key_file`"
)
_CERTIFICATE_ALERTS: Final = (
    "SSLV3_ALERT_BAD_CERTIFICATE",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "TLSV1_ALERT_UNKNOWN_CA",
)
_FIXES: Final[Mapping[int | str, str]] = {
    10: "the server's {why}: renew it on the server",
    **dict.fromkeys((18, 19, 20, 21), _TRUST),
    **dict.fromkeys((62, 64), _NAME),
    **dict.fromkeys(_NO_TLS, "{spoken}"),
    **dict.fromkeys(_CERTIFICATE_ALERTS, _CLIENT),
}
"""By OpenSSL's X509_V_ERR (expired, not signed by a trusted authority, another host or address), or
by the reason of another error."""


def tls_reason(error: ssl.SSLError, security: Security) -> str:
    """Return why TLS failed, with the fix if it is known."""
    if isinstance(error, ssl.SSLCertVerificationError):
        cause: int | str = error.verify_code
        why = error.verify_message.rstrip(".")
    else:
        cause = _NO_TLS[-1] if isinstance(error, ssl.SSLEOFError) else error.reason or ""
        why = cause.partition("ALERT_")[2].replace("_", " ").lower() or str(error)
    fix = _FIXES.get(cause, "{why}")
    return fix.format(why=why, key=security.key, spoken=is_spoken(security))


def is_spoken(security: Security) -> str:
    """Return the question whether the server speaks the configured protocol, with its key."""
    with_mechanism = f" with {security.sasl_mechanism}" if security.sasl else ""
    return (
        f"does that listener speak {security.protocol}{with_mechanism}?"
        f" check `{security.key}.protocol`"
    )
