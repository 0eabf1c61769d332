"""`kraftgate what-if` for a lab, and what the brokers then show."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from orchestrator.cli.program import main
from orchestrator.lab import Lab
from streams.kafka.errors import ConnectionFailed
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from tests.support.polling import until

Partitions = dict[tuple[str, int], tuple[int | None, frozenset[int]]]
"""Leader and ISR."""


@dataclass(frozen=True)
class Predicted:
    """The output of one run of the command."""

    exit_code: int
    answer: dict[str, Any]

    @property
    def lines(self) -> Mapping[tuple[str, int], dict[str, Any]]:
        return {(one["topic"], one["partition"]): one for one in self.answer["partitions"]}

    def fates(self, topic: str) -> set[str]:
        return {one["fate"] for (name, _), one in self.lines.items() if name == topic}


@dataclass(frozen=True)
class Real:
    """A lab and a configuration for it."""

    lab: Lab
    file: Path

    def what_if(self, broker: int, log_dir: Path | None = None) -> Predicted:
        arguments = ["what-if", "--config", str(self.file), "--broker", str(broker), "--json"]
        if log_dir is not None:
            arguments += ["--log-dir", str(log_dir)]
        result = CliRunner().invoke(main, arguments)
        assert result.stdout, result.stderr
        return Predicted(result.exit_code, json.loads(result.stdout))

    def views(self) -> list[Partitions]:
        """Return the metadata of each running broker; one may lag behind the others."""
        return [_view(self.lab.address(name)) for name in self._running()]

    def now(self, partitions: int) -> Partitions:
        """Wait until all brokers show the same, complete metadata."""
        shown: list[Partitions] = []

        def alike() -> bool:
            shown[:] = self.views()
            return all(one == shown[0] and len(one) == partitions for one in shown)

        until(alike)
        return shown[0]

    def wait_as_told(self, prediction: Predicted, before: Partitions, broker: int) -> None:
        """Wait until every broker shows each partition as predicted, or unchanged."""
        wrong: list[str] = []

        def predicted() -> bool:
            wrong[:] = [
                each for one in self.views() for each in _wrong(one, prediction, before, broker)
            ]
            return not wrong

        until(predicted, seen=lambda: wrong)

    def _running(self) -> list[str]:
        names = [name for name in self.lab.names if name.startswith("broker-")]
        return [name for name in names if self.lab.is_alive(name)]


def _view(address: str) -> Partitions:
    host, _, port = address.rpartition(":")
    try:
        with Node(Endpoint(host, int(port)), Security()) as client:
            found = client.metadata().partitions.items()
    except ConnectionFailed:
        return {}  # a busy one; it is asked again
    return {at: (each.leader, frozenset(each.isr)) for at, each in found}


def _wrong(view: Partitions, prediction: Predicted, before: Partitions, broker: int) -> list[str]:
    wrong = []
    for at, (leader, isr) in before.items():
        line = prediction.lines.get(at)
        if line is not None:
            leader, isr = line["leader_after"], frozenset(line["isr_after"])
        seen_leader, seen_isr = view.get(at, (None, frozenset()))
        # The last one in an ISR stays in it, although it is away.
        good = seen_isr == isr or (not isr and seen_isr <= {broker})
        if at not in view or seen_leader != leader or not good:
            wrong.append(f"{at}: leader {seen_leader}, isr {set(seen_isr)}; predicted {line}")
    return wrong
