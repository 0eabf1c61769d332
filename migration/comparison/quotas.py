"""Quotas of users, clients and IPs: a name of the entity for both sides, and digests of values.

ZooKeeper stores quotas below /config/users, clients and ips, with sanitized names, as text; the
metadata log stores them in ClientQuotaRecords, as floating-point numbers. Credentials, which are in
the same znodes, are neither compared nor stored.
"""

from typing import Final
from urllib.parse import unquote_plus

from migration.values.digests import digest

QUOTA_RESOURCE: Final = -1
"""Used in place of a ConfigResource.Type, which quotas do not have."""
KEYS: Final = frozenset(
    {
        "producer_byte_rate",
        "consumer_byte_rate",
        "request_percentage",
        "controller_mutation_rate",
        "connection_creation_rate",
    }
)
"""The keys of quotas (QuotaConfigs); other keys of such a znode are not quotas."""
_TYPES: Final = {"users": "user", "clients": "client-id", "ips": "ip"}
"""The types of ClientQuotaEntity, by the name of the znode below /config."""
_ORDER: Final = {of: number for number, of in enumerate(_TYPES.values())}
_DEFAULT: Final = "<default>"


def entity_of(parts: dict[str, str | None]) -> str:
    """Return the name of an entity of the metadata log: `user 'a', client-id default`.

    A default has no name there, or an empty one if a migration wrote it.
    """
    ordered = sorted(parts.items(), key=lambda part: (_ORDER.get(part[0], len(_ORDER)), part[0]))
    return ", ".join(f"{of} {repr(name) if name else 'default'}" for of, name in ordered)


def entity_of_path(path: str) -> str | None:
    """Return the name of the entity at a path below /config, like `users/a/clients/<default>`."""
    names = path.split("/")
    pairs = list(zip(names[::2], names[1::2], strict=False))
    branches = tuple(branch for branch, _ in pairs)
    if len(names) % 2 or branches not in (("users",), ("clients",), ("ips",), ("users", "clients")):
        return None
    return entity_of(
        {_TYPES[branch]: None if name == _DEFAULT else unquote_plus(name) for branch, name in pairs}
    )


def digest_of(value: float) -> bytes:
    """Return a digest of a quota's value, independent of its format."""
    return digest(repr(float(value)))
