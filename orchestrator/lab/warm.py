"""`python -m orchestrator.lab.warm`: creates the archive that `machine.archive` uses.

A broker in migration mode loads most classes of the lab's processes: it is started once, and its
JVM writes the classes that it loaded.
"""

import os
import sys

from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.archive import class_archive
from orchestrator.lab.machine.java import find_java

_DUMP_S_MAX = 120.0


def main() -> None:
    """Create the archive unless it exists; exit with 1 if the JVM did not write it."""
    archive = class_archive(find_java())
    if archive.is_file():
        return
    with Lab(LabSpec(brokers=1, directories=1, controllers=1)) as lab:
        fresh = lab.home / archive.name
        lab.start_zookeeper()
        lab.start_brokers()
        lab.start_controllers()
        # The next JVM that starts is the broker's.
        os.environ["JAVA_TOOL_OPTIONS"] = f"-XX:ArchiveClassesAtExit={fresh}"
        lab.enter_migration(1)
        lab.wait_copied()
        lab.stop("broker-1", timeout_s=_DUMP_S_MAX)
        if not fresh.is_file():
            sys.exit("The JVM wrote no class archive; the lab starts without it.")
        kept = archive.with_suffix(f".{os.getpid()}.tmp")
        kept.write_bytes(fresh.read_bytes())
        kept.chmod(0o600)
        kept.replace(archive)


if __name__ == "__main__":
    main()
