"""What `kraftgate preflight` says of a lab."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.config.load import load_config
from orchestrator.config.targets import target_of
from orchestrator.lab import Lab
from streams.probe.gather import Target
from tests.support.cli import kraftgate


@dataclass(frozen=True)
class Told:
    """What one run of the command printed."""

    exit_code: int
    outcome: str
    checks: dict[str, dict[str, Any]]
    phase: str | None

    def of(self, id_: str) -> str:
        """The outcome of one check, and everything that it says."""
        one = self.checks[id_]
        said = [one["outcome"], one["summary"], *one["evidence"], one["what_to_do"] or ""]
        return "\n".join(said)

    def blocking(self) -> set[str]:
        return {id_ for id_, one in self.checks.items() if one["blocking"]}

    def warned(self) -> set[str]:
        return {id_ for id_, one in self.checks.items() if one["outcome"] == "warn"}


def configured(folder: Path, lab: Lab) -> Path:
    """Write a configuration with every address of the lab."""
    file = folder / "preflight.yaml"
    file.write_text(
        f"cluster: {{name: prod, id: {json.dumps(lab.cluster_id)}}}\n"
        f"zookeeper: {{connect: {json.dumps(lab.zookeeper_connect)}}}\n"
        f"brokers: {{bootstrap: {json.dumps(lab.broker_bootstrap)}}}\n"
        f"controllers: {{bootstrap: {json.dumps(lab.controller_bootstrap)}}}\n"
    )
    return file


def target(config: Path) -> Target:
    return target_of(load_config(config).clusters[0])


def preflight(config: Path) -> Told:
    done = kraftgate(config, "preflight", "--json")
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    checks = {one["id"]: one for one in told["checks"]}
    return Told(done.returncode, told["outcome"], checks, told["phase"])
