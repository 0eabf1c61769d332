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

    Every setting of type PASSWORD in Kafka 3.9 holds one, even with the prefix of a listener
    (`ssl.keystore.key`, `sasl.jaas.config`, `password.encoder.secret` and others). Kafka treats
    each unknown name as a secret; here an unknown name, such as a plugin's, must contain a word
    that suggests a secret.
    """
    lower = name.lower()
    return any(part in lower for part in _PARTS) or lower.endswith(_ENDS)


def setting_digest(name: str, value: str) -> bytes:
    """Return a digest of a setting's value; all secrets have the same digest.

    Raises:
        UnicodeEncodeError: the value contains a lone surrogate, which has no UTF-8.
    """
    return digest("" if is_sensitive(name) else value)
