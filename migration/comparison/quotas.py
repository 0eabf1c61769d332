"""Quotas of users, clients and IPs: one name for the entity on both sides, and values by digest.

ZooKeeper keeps them below /config/users, clients and ips, under sanitized names, as text; the
metadata log in ClientQuotaRecords, as floating-point numbers. Credentials, which ZooKeeper keeps in
the same znodes, are neither compared nor kept.
"""

from typing import Final
from urllib.parse import unquote_plus

from migration.values.digests import digest

QUOTA_RESOURCE: Final = -1
"""In place of a ConfigResource.Type, of which quotas have none."""
KEYS: Final = frozenset(
    {
        "producer_byte_rate",
        "consumer_byte_rate",
        "request_percentage",
        "controller_mutation_rate",
        "connection_creation_rate",
    }
)
"""QuotaConfigs; whatever else is in such a znode is no quota."""
_TYPES: Final = {"users": "user", "clients": "client-id", "ips": "ip"}
"""ClientQuotaEntity, by the name of the branch below /config."""
_ORDER: Final = {of: number for number, of in enumerate(_TYPES.values())}
_DEFAULT: Final = "<default>"


def entity_of(parts: dict[str, str | None]) -> str:
    """Name an entity of the metadata log: `user 'a', client-id default`.

    A default has no name there, or an empty one where a migration wrote it.
    """
    ordered = sorted(parts.items(), key=lambda part: (_ORDER.get(part[0], len(_ORDER)), part[0]))
    return ", ".join(f"{of} {repr(name) if name else 'default'}" for of, name in ordered)


def entity_of_path(path: str) -> str | None:
    """Name the entity of a path below /config: `users/a/clients/<default>`; None: it is none."""
    names = path.split("/")
    pairs = list(zip(names[::2], names[1::2], strict=False))
    branches = tuple(branch for branch, _ in pairs)
    if len(names) % 2 or branches not in (("users",), ("clients",), ("ips",), ("users", "clients")):
        return None
    return entity_of(
        {_TYPES[branch]: None if name == _DEFAULT else unquote_plus(name) for branch, name in pairs}
    )


def digest_of(value: float) -> bytes:
    """Stand for a quota's value, however it was written."""
    return digest(repr(float(value)))
