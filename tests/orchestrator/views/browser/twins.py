"""Two clusters at the same checkpoint, of the same made-up night."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from migration.image.cluster import ClusterImage
from migration.metadata.events import Event
from orchestrator.audit.execution.entries import Body
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.config.load import load_config
from streams.state.store import BatchResult, TransitionFile
from tests.orchestrator.views.console import sample
from tests.orchestrator.views.console.world import World

TWIN: Final = "stage"
_ENTRY: Final = """  - name: {name}
    zookeeper: {{connect: 'zk1:2181/kafka'}}
    controllers: {{bootstrap: 'controller-3000:9093'}}
    brokers: {{bootstrap: 'kafka-001:9092'}}
    runbook: {{file: zk-to-kraft-jbod}}
"""
_REST: Final = "state_dir: state\nconsole: {listen: '127.0.0.1:0'}\n"


class Twins(World):
    """`prod`, and `stage` with the same image, sources and execution; only `prod` moves on."""

    _twin = False

    def __init__(self, folder: Path, now_ms: int) -> None:
        super().__init__(folder, now_ms)
        trail = ExecutionTrail(self.log, TWIN)
        for entry, body in Body.read(self.log.entries("prod")):
            trail.append(body, entry.at_ms)
        shutil.copytree(self._home, self._home.with_name(TWIN))
        file = folder / "twins.yaml"
        entries = "".join(_ENTRY.format(name=each) for each in ("prod", TWIN))
        file.write_text(f"clusters:\n{entries}{_REST}", "utf-8")
        self.config = load_config(file)
        self._twin = True
        self.advance(now_ms, share=0.0)

    def part(self) -> None:
        """From now on only `prod` is written."""
        self._twin = False

    def tell(self, *, stale_ms: int = 0) -> None:
        super().tell(stale_ms=stale_ms)
        if self._twin:
            for each in self._home.glob("*.json"):
                shutil.copy(each, self._home.with_name(TWIN))

    def _commit(self, events: Sequence[Event], files: Sequence[TransitionFile] = ()) -> None:
        super()._commit(events, files)
        if self._twin:
            summary = replace(sample.cluster(self.shape, self.at), cluster=TWIN)
            self._batch += 1
            outcome = BatchResult(
                cluster=TWIN,
                image=ClusterImage(),
                summary=summary,
                brokers=[*summary.brokers],
                gone=[],
                place={"kraft_metadata": self.at.offset},
                events=[],
                files=[],
            )
            self.store.commit(self._batch, [outcome], self.at.now_ms)
