"""The archive of Kafka's classes with which the lab's JVMs start in half the time.

It is Java's class data sharing (ArchiveClassesAtExit). Nothing depends on the archive: a JVM
ignores an archive that does not match. `python -m orchestrator.lab.warm` creates it.
"""

import hashlib
import os
from pathlib import Path
from typing import Final

from orchestrator.lab.machine.jars import KAFKA_VERSION
from streams.process.java import build_of
from streams.state.directory import cache_root

_OTHERS_MAY_WRITE: Final = 0o022
# Without it a JVM reports an archive that does not match on its standard output, which has a tool's
# result.
_QUIET: Final = ("-Xlog:disable", "-Xlog:all=error:stderr")


def class_archive(java: str) -> Path:
    """Return the path of the archive for this java program; each build has its own archive."""
    digest = hashlib.sha256(build_of(java).encode()).hexdigest()[:8]
    return cache_root() / f"kafka-{KAFKA_VERSION}-{digest}.jsa"


def sharing(java: str) -> tuple[str, ...]:
    """Return the options with which a JVM uses the archive.

    They are empty when there is no archive, or when another user could have written it: the jars
    are verified at each start, an archive cannot be.
    """
    archive = class_archive(java)
    try:
        private = all(_only_ours(each) for each in (archive, archive.parent))
    except FileNotFoundError:
        return ()
    return (f"-XX:SharedArchiveFile={archive}", *_QUIET) if private else ()


def _only_ours(path: Path) -> bool:
    about = path.stat()
    return about.st_uid == os.geteuid() and not about.st_mode & _OTHERS_MAY_WRITE
