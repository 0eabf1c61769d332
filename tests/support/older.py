"""A lab in which one broker runs an older Kafka until it is restarted."""

from pathlib import Path
from typing import Final

from migration.image.summary import Mode
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.jars import JarSet, ensure_jars
from orchestrator.lab.machine.java import Java

VERSION: Final = "3.8.1"
_JARS: Final = JarSet(f"kafka-{VERSION}", "older.xml", "older.sha256", Path(__file__).parent)


class LabWithOlderBroker(Lab):
    """`older`: the broker whose first start is one of Kafka 3.8.1; the next one upgrades it."""

    def __init__(self, spec: LabSpec, older: int) -> None:
        self._jars = ensure_jars(wanted=_JARS)
        super().__init__(spec)
        self._older = older

    def start_broker(self, id_: int, mode: Mode | None = None, *, wait: bool = True) -> None:
        newer = self._java
        if id_ == self._older and not self.was_started(self.broker(id_).name):
            self._java = Java(newer.executable, self._jars, newer.log4j)
        try:
            super().start_broker(id_, mode, wait=wait)
        finally:
            self._java = newer
