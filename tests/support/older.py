"""Labs with an older Kafka: of one broker until it is restarted, or of every node."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from migration.image.summary import Mode
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.jars import JarSet, ensure_jars
from orchestrator.lab.machine.java import Java

VERSION: Final = "3.8.1"
RELEASE: Final = "3.8"
_JARS: Final = JarSet(f"kafka-{VERSION}", "older.xml", "older.sha256", Path(__file__).parent)


class LabWithOlderBroker(Lab):
    """`older`: the broker whose first start is one of Kafka 3.8.1; the next one upgrades it."""

    def __init__(self, spec: LabSpec, older: int) -> None:
        super().__init__(spec)
        self._older, self._older_java = older, _older(self._java)

    def start_broker(self, id_: int, mode: Mode | None = None, *, wait: bool = True) -> None:
        newer = self._java
        if id_ == self._older and not self.was_started(self.broker(id_).name):
            self._java = self._older_java
        try:
            super().start_broker(id_, mode, wait=wait)
        finally:
            self._java = newer


class OlderLab(Lab):
    """Every node and every tool is of Kafka 3.8.1, with that release's own protocol version."""

    def __init__(self, spec: LabSpec) -> None:
        protocol = {"inter.broker.protocol.version": RELEASE}
        super().__init__(replace(spec, release_version=RELEASE, broker_properties=protocol))
        self._java = _older(self._java)


def _older(java: Java) -> Java:
    """Return the runtime with the older jars, without the archive of the newer classes."""
    return Java(java.executable, ensure_jars(wanted=_JARS), java.log4j)
