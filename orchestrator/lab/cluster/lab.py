"""`Lab`: a real Kafka cluster on loopback, and every step of its migration as a method.

with Lab(LabSpec(brokers=2)) as lab:
    lab.start_zookeeper()
    lab.start_brokers()
    lab.create_topic("orders", partitions=4, replication_factor=2)
    lab.migrate(print)
"""

import base64
import uuid
from collections.abc import Callable
from pathlib import Path

from orchestrator.lab.cluster import properties
from orchestrator.lab.cluster.layout import Mode
from orchestrator.lab.cluster.rollback import LabReverting
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.errors import WrongStateError

_COPY_S_MAX = 300.0
_COMPLETED = "Completing the ZK [Mm]igration"


class Lab(LabReverting):
    """A whole lab: members, topics, migration, directory faults, metadata logs.

    Args:
        spec: The lab's configuration.
        home: An empty or absent directory; None: a temporary one.
    """

    def __init__(self, spec: LabSpec | None = None, home: Path | None = None) -> None:
        super().__init__(spec, home)
        self._cluster_id: str | None = None

    # Members

    @property
    def cluster_id(self) -> str:
        """The cluster's id.

        Raises:
            WrongStateError: The cluster has none yet: no broker was ever started.
        """
        if self._cluster_id is None and self._zookeeper is not None:
            self._cluster_id = self._zookeeper.cluster_id()
        if self._cluster_id is None:
            raise WrongStateError(
                "the cluster has no id yet", where="/cluster/id", fix="Start a broker first."
            )
        return self._cluster_id

    def start_brokers(self) -> None:
        """Start all brokers in ZooKeeper mode, one after the other.

        Raises:
            LabError: One did not become ready.
        """
        for id_ in self.spec.broker_ids:
            self.start_broker(id_)

    def start_controllers(self) -> None:
        """Provision the controllers for the running cluster and start them in migration mode.

        Raises:
            LabError: They run already, or did not become ready.
        """
        self._provision_controllers(Mode.MIGRATING, self.cluster_id)
        self._start_all_controllers(Mode.MIGRATING)
        self.active_controller()

    def start_kraft(self) -> None:
        """Start a cluster that was always in KRaft mode: the controllers, then the brokers.

        Raises:
            LabError: The lab runs already, or did not become ready.
        """
        self._cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        brokers = list(self._layout.brokers.values())
        self._provision_controllers(Mode.KRAFT, self._cluster_id)
        self._start_all_controllers(Mode.KRAFT)
        files = []
        for node in brokers:
            file = self._layout.config_file(node.name, Mode.KRAFT.value)
            wanted = properties.broker_properties(self._layout, node, Mode.KRAFT)
            files.append(properties.write(file, wanted))
        self._format(files, self._cluster_id)
        for node in brokers:
            self.start_broker(node.id, Mode.KRAFT, wait=False)
        for node in brokers:
            self.wait_for_log(node.name, "Kafka Server started", timeout_s=120.0)
        self.active_controller()

    def restart(self, who: int | str) -> None:
        """Stop a process in order if it runs, and start it again in the same mode.

        Raises:
            LabError: It did not stop or did not become ready.
        """
        node = self._named(who)
        if self.is_alive(node.name):
            self.stop(node.name)
        self.start(node.name)

    def start(self, who: int | str) -> None:
        """Start a process that was stopped or killed, in its last mode.

        Raises:
            LabError: It runs already or did not become ready.
        """
        node = self._named(who)
        if node.id in self._layout.controllers:
            mode = self.mode(node.name)
            if mode is None:
                raise WrongStateError(
                    f"{node.name} was never started", where="lab", fix="Start the controllers."
                )
            self._start_controller(node, mode, wait=True)
        elif node.id in self._layout.brokers:
            self.start_broker(node.id)
        elif self.spec.zookeepers == 1:
            self.start_zookeeper()
        else:
            self.start_zookeeper_server(node.name)

    # The migration

    def enter_migration(self, broker: int) -> None:
        """Restart a broker with the migration enabled.

        Raises:
            WrongStateError: The controllers do not run.
            LabError: It did not stop or did not become ready.
        """
        self.active_controller()
        self._change_mode(broker, Mode.MIGRATING, wait=True)

    def wait_copied(self, *, timeout_s: float = _COPY_S_MAX) -> int:
        """Wait until the controllers have copied ZooKeeper's metadata; return its end offset.

        Raises:
            WaitTimedOutError: A broker is not in migration mode, or the driver is stuck.
        """

        def copied() -> int | None:
            offset = self.zookeeper.copied_offset()
            return offset if offset > 0 else None

        return self._waiter.until(
            "the metadata to be copied",
            copied,
            timeout_s=timeout_s,
            where="/migration",
        )

    def move_to_kraft(self, broker: int, *, wait: bool = True) -> None:
        """Restart a broker in KRaft mode.

        Args:
            broker: Its id.
            wait: Whether to wait until it is ready; otherwise it has only been started.

        Raises:
            WrongStateError: The metadata was not copied yet.
            LabError: It did not stop or did not become ready.
        """
        if self.zookeeper.copied_offset() <= 0:
            raise WrongStateError(
                "the metadata was not copied yet",
                where="/migration",
                fix="Enable the migration on every broker, then wait_copied.",
            )
        self._change_mode(broker, Mode.KRAFT, wait=wait)

    def wait_registered(self, broker: int, *, timeout_s: float = 180.0) -> int:
        """Wait until a broker is registered with the controllers; return its broker epoch.

        Raises:
            LabError: It ended, or did not register in time.
        """
        match = self.wait_for_log(
            self._layout.broker(broker).name,
            rf"Successfully registered broker {broker} with broker epoch (\d+)",
            timeout_s=timeout_s,
        )
        return int(match[1])

    def finalize(self, *, early: bool = False) -> None:
        """Restart the controllers one at a time without the migration flag. It has no rollback.

        Args:
            early: Do it even while brokers still need ZooKeeper; Kafka does not prevent it.

        Raises:
            WrongStateError: A broker is not in KRaft mode, and `early` was not given.
            LabError: A controller did not become ready.
        """
        waiting = dict(self._layout.controllers)
        while waiting:
            active = self.active_controller()
            followers = [id_ for id_ in waiting if id_ != active]
            controller = followers[0] if followers else active
            del waiting[controller]
            self.finalize_controller(controller, early=early)
        leader = self._layout.controller(self.active_controller())
        self.wait_for_log(leader.name, _COMPLETED)

    def finalize_controller(self, controller: int, *, early: bool = False) -> None:
        """Restart one controller without the migration flag, and wait until it has caught up.

        The migration is finalized once such a controller leads.

        Raises:
            WrongStateError: A broker is not in KRaft mode, and `early` was not given.
            LabError: The controller did not become ready.
        """
        behind = [n.name for n in self._layout.brokers.values() if self.mode(n.name) != Mode.KRAFT]
        if behind and not early:
            raise WrongStateError(
                f"not in KRaft mode yet: {', '.join(behind)}",
                where="lab",
                fix="Move them first, or say early=True to see what Kafka does then.",
            )
        node = self._layout.controller(controller)
        if self.is_alive(node.name):
            self.stop(node.name)
        self._start_controller(node, Mode.KRAFT, wait=True)
        self.wait_quorum_caught_up()

    def wait_quorum_caught_up(self, *, timeout_s: float = 180.0) -> None:
        """Wait until some controller leads and every voter has all committed records.

        Raises:
            WaitTimedOutError: A voter is down, frozen, or far behind.
        """
        self._waiter.until(
            "every controller to catch up",
            lambda: ((found := self.quorum()) is not None and found.caught_up) or None,
            timeout_s=timeout_s,
            where=str(self.home / "logs"),
        )

    def migrate(self, progress: Callable[[str], None]) -> None:
        """Run the whole migration from ZooKeeper mode to finalized, in the order Kafka documents.

        Args:
            progress: Called before each step with its description.

        Raises:
            LabError: A step failed; the lab keeps its current state.
        """
        progress("starting the controllers in migration mode")
        self.start_controllers()
        for id_ in self.spec.broker_ids:
            progress(f"restarting broker {id_} with the migration enabled")
            self.enter_migration(id_)
            self.wait_in_sync()
        progress("waiting for the metadata to be copied")
        progress(f"copied: metadata offset {self.wait_copied()}")
        for id_ in self.spec.broker_ids:
            progress(f"restarting broker {id_} in KRaft mode")
            self.move_to_kraft(id_)
            self.wait_in_sync()
        progress("finalizing: restarting the controllers without the migration")
        self.finalize()
        progress("finalized")

    def _provision_controllers(self, mode: Mode, cluster_id: str) -> None:
        files = []
        for node in self._layout.controllers.values():
            file = self._layout.config_file(node.name, mode.value)
            properties.write(file, properties.controller_properties(self._layout, node, mode))
            files.append(file)
        self._format(files, cluster_id)
