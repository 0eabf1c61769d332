"""Names and levels of metadata.version; `inter.broker.protocol.version` has the same names.

From MetadataVersion (server-common, 3.9): the levels that occur in migrations.
"""

from typing import Final

JBOD_LEVEL: Final = 17
"""3.7-IV2: the first level with directory assignments."""
JBOD_NAME: Final = "3.7-IV2"
MIGRATION_RELEASE: Final = (3, 7)
"""The first release that migrates brokers with several log directories."""
SETTLED_RELEASE: Final = (3, 9)
"""The release that all tests run, and the last one with ZooKeeper."""
TESTED_RELEASES: Final = ((3, 8), SETTLED_RELEASE)
"""The releases with which the tests make a whole migration (handbook, "Kafka versions")."""

_LEVELS: Final = {
    "3.0-IV1": 1, "3.1-IV0": 2, "3.2-IV0": 3, "3.3-IV0": 4, "3.3-IV1": 5, "3.3-IV2": 6,
    "3.3-IV3": 7, "3.4-IV0": 8, "3.5-IV0": 9, "3.5-IV1": 10, "3.5-IV2": 11, "3.6-IV0": 12,
    "3.6-IV1": 13, "3.6-IV2": 14, "3.7-IV0": 15, "3.7-IV1": 16, "3.7-IV2": 17, "3.7-IV3": 18,
    "3.7-IV4": 19, "3.8-IV0": 20, "3.9-IV0": 21,
}  # fmt: skip


def level_of(name: str) -> int | None:
    """Return the level of a name like `3.9`, `3.9.1` or `3.7-IV2`; 0: older than all levels.

    A release without `-IV` means its last level, as in MetadataVersion.fromVersionString.
    None: the version is unknown.
    """
    name = name.strip()
    if name in _LEVELS:
        return _LEVELS[name]
    release = ".".join(name.partition("-")[0].split(".")[:2])
    if "-" not in name:
        levels = [level for known, level in _LEVELS.items() if known.startswith(f"{release}-")]
        if levels:
            return max(levels)
    numbers = release.split(".")
    old = all(part.isdecimal() for part in numbers) and tuple(map(int, numbers)) < (3, 1)
    return 0 if old else None


def name_of(level: int) -> str:
    """Return the name of a level; of an unknown level, its number."""
    return next((name for name, known in _LEVELS.items() if known == level), f"level {level}")


def untested(level: int) -> str | None:
    """Return, as a sentence, that no migration is tested with this level; None: one is."""
    if release_of_level(level) in TESTED_RELEASES:
        return None
    return f"no migration is tested with metadata.version {name_of(level)} (kraftgate help limits)"


def release_of_level(level: int) -> tuple[int, int]:
    """Return the release whose highest metadata.version this is; (4, 0) for all later ones."""
    name = next((name for name, known in _LEVELS.items() if known == level), None)
    if name is None:
        return (4, 0)
    major, minor = name.partition("-")[0].split(".")
    return int(major), int(minor)
