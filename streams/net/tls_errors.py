"""Why TLS failed, with the fix, for the clients of Kafka, ZooKeeper, JMX and receivers."""

import ssl
from collections.abc import Mapping
from http.client import BadStatusLine
from typing import Final, TypeAlias

from urllib3.exceptions import HTTPError

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
    "SSLV3_ALERT_CERTIFICATE_REVOKED",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "TLSV1_ALERT_UNKNOWN_CA",
)
_Fixes: TypeAlias = Mapping[int | str, str]
_FIXES: Final[_Fixes] = {
    10: "the server's {why}: renew it on the server",
    **dict.fromkeys((18, 19, 20, 21), _TRUST),
    **dict.fromkeys((62, 64), _NAME),
    **dict.fromkeys(_NO_TLS, "{spoken}"),
    **dict.fromkeys(_CERTIFICATE_ALERTS, _CLIENT),
}
"""By OpenSSL's X509_V_ERR (expired, not signed by a trusted authority, another host or address), or
by the reason of another error."""
_HTTPS_FIXES: Final[_Fixes] = {
    **_FIXES,
    **dict.fromkeys((18, 19, 20, 21), "{why}: check `ca_file`, or the system's authorities"),
    **dict.fromkeys((62, 64), "{why}: issue a certificate that names it"),
    **dict.fromkeys(_NO_TLS, "it does not speak TLS: check the address"),
    **dict.fromkeys(
        _CERTIFICATE_ALERTS, "it requires a client certificate, which is not supported"
    ),
}
"""Those of an https address, which has neither `check_hostname` nor `cert_file`."""


def is_client_rejected(error: ssl.SSLError) -> bool:
    """Return whether the server rejects the client's certificate."""
    return error.reason in _CERTIFICATE_ALERTS


def tls_reason(error: ssl.SSLError, security: Security) -> str:
    """Return why TLS failed, with the fix if it is known."""
    return _words(error, _FIXES, key=security.key, spoken=is_spoken(security))


def https_reason(error: BaseException) -> str:
    """Return why TLS to an https address failed, with the fix if it is known."""
    return _words(error, _HTTPS_FIXES) if isinstance(error, ssl.SSLError) else str(error)


def http_fix(url: str, cause: BaseException) -> str:
    """Return the fix, after a colon, if `url` may be the http address of a TLS server."""
    is_closed = isinstance(cause, BadStatusLine | ConnectionResetError)
    return ": if it speaks TLS, use https" if is_closed and url.startswith("http:") else ""


def http_cause(error: HTTPError | OSError) -> BaseException:
    """Return the error that urllib3 wraps: the cause of its error, or an argument of it."""
    behind = (error.__cause__, *error.args) if isinstance(error, HTTPError) else ()
    return next((each for each in behind if isinstance(each, BaseException)), error)


def _words(error: ssl.SSLError, fixes: _Fixes, **names: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        cause: int | str = error.verify_code
        why = error.verify_message.rstrip(".")
    else:
        cause = _NO_TLS[-1] if isinstance(error, ssl.SSLEOFError) else error.reason or ""
        why = cause.partition("ALERT_")[2].replace("_", " ").lower() or str(error)
    return fixes.get(cause, "{why}").format(why=why, **names)


def is_spoken(security: Security) -> str:
    """Return the question whether the server speaks the configured protocol, with its key."""
    with_mechanism = f" with {security.sasl_mechanism}" if security.sasl else ""
    return (
        f"does that listener speak {security.protocol}{with_mechanism}?"
        f" check `{security.key}.protocol`"
    )
