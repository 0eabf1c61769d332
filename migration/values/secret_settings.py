"""Which settings hold secrets, by their names."""

from typing import Final

from migration.values.digests import digest

_PARTS: Final = (
    "password",
    "passphrase",
    "secret",
    "jaas",
    "credential",
    "certificate",
    "keystore.key",
    "private.key",
)
_ENDS: Final = (".key", ".token", ".pin")


def is_sensitive(name: str) -> bool:
    """Whether a setting of this name holds a secret.

    Every setting of type PASSWORD in Kafka 3.9 is one, with the prefix of a listener too
    (`ssl.keystore.key`, `sasl.jaas.config`, `password.encoder.secret` and others). Kafka takes each
    name that it does not know for one; here such a name, of a plugin perhaps, has to look like it.
    """
    lower = name.lower()
    return any(part in lower for part in _PARTS) or lower.endswith(_ENDS)


def setting_digest(name: str, value: str) -> bytes:
    """Stand for a setting's value; every secret has the same digest, which tells nothing of it.

    Raises:
        UnicodeEncodeError: it holds a lone surrogate, which has no UTF-8.
    """
    return digest("" if is_sensitive(name) else value)
