"""A lab that was started in KRaft mode refuses each step of a migration before it changes anything.

The members are stand-ins: a step that begins to start, stop or format one fails the test.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn
from unittest.mock import MagicMock

import pytest

from migration.image.summary import Mode
from orchestrator.lab.cluster.lab import Lab
from orchestrator.lab.cluster.layout import Layout
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.errors import NoSuchIdError, WrongStateError
from orchestrator.lab.machine.ports import Ports

_STEPS: Final[dict[str, Callable[[Lab], object]]] = {
    "controllers": Lab.start_controllers,
    "migrate": lambda lab: lab.migrate(_never),
    "migrate-broker": lambda lab: lab.enter_migration(1),
    "kraft-broker": lambda lab: lab.move_to_kraft(1),
    "finalize": Lab.finalize,
    "finalize-controller": lambda lab: lab.finalize_controller(3000),
    "revert-to-migration": lambda lab: lab.revert_to_migration(1),
    "deprovision": Lab.deprovision_controllers,
    "clear-znodes": lambda lab: lab.clear_znodes(),
    "restart zookeeper": lambda lab: lab.restart("zookeeper"),
    "roll-back": lambda lab: lab.roll_back(_never),
}


def _never(*_: object, **__: object) -> NoReturn:
    raise AssertionError("the step has begun")


class _KraftLab(Lab):
    """A lab after `start_kraft`, without its processes."""

    def __init__(self, home: Path, ports: Ports, brokers: int) -> None:
        Layout.__init__(self, LabSpec(brokers=brokers), home, ports)
        self._zookeeper = None
        self._cluster_id = "id"
        self._modes = {each.name: Mode.KRAFT for each in self.members if each.id}

    def active_controller(self, **_: Any) -> int:
        return 3000

    def is_alive(self, name: str) -> bool:
        return name in self._modes

    start_zookeeper = start_broker = stop = _format = _start_controller = _start_all_controllers = (
        _never
    )


@pytest.fixture
def ports() -> Iterator[Ports]:
    ports = Ports()
    yield ports
    ports.close()


@pytest.mark.parametrize(
    ("step", "brokers"), [*((step, 1) for step in _STEPS), ("roll-back", 0), ("deprovision", 0)]
)
def test_a_step_of_a_migration_changes_nothing_without_zookeeper(
    step: str, brokers: int, ports: Ports, tmp_path: Path
) -> None:
    lab = _KraftLab(tmp_path, ports, brokers)
    with pytest.raises(WrongStateError, match="no ZooKeeper: there is nothing to migrate") as found:
        _STEPS[step](lab)
    assert "kraftgate lab start" in found.value.fix


def test_a_finalized_controller_has_a_known_id_and_no_broker_needs_zookeeper(
    ports: Ports, tmp_path: Path
) -> None:
    lab = _KraftLab(tmp_path, ports, 1)
    lab._zookeeper = MagicMock()
    lab._modes["broker-1"] = Mode.MIGRATING
    with pytest.raises(NoSuchIdError, match="no controller 1"):
        lab.finalize_controller(1)
    with pytest.raises(WrongStateError, match="not in KRaft mode yet: broker-1") as found:
        lab.finalize_controller(3000)
    assert found.value.fix.endswith("kraftgate lab finalize --early")
