"""The part of a lab that performs the rollback: each step of Apache's reverting procedure.

The order is that of Kafka 3.9's documentation, "Reverting to ZooKeeper mode During the Migration":
brokers in KRaft mode return to migration mode one by one, the controllers are deprovisioned,
/controller and /migration are deleted immediately, and the brokers restart in ZooKeeper mode.

Observed on 3.9.1: within milliseconds of the deletion a broker creates /controller, also in
migration mode. Until then a broker that is stopped waits for the KRaft controller, more than a
minute, so the steps refuse another order. A broker's copy of the metadata log may remain: when it
enters migration mode again it deletes the copy (KAFKA-16463).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.lab.cluster.data import LabData
from orchestrator.lab.cluster.layout import Mode
from orchestrator.lab.errors import WrongStateError
from orchestrator.lab.kafka import quorum

_CONTROLLER = "/controller"
_CONTROLLER_EPOCH = "/controller_epoch"
_MIGRATION = "/migration"
_ELECTION_S_MAX = 180.0


@dataclass(frozen=True, slots=True)
class ClearedZnodes:
    """The znodes that were removed from ZooKeeper.

    Attributes:
        controller: Whether /controller of a KRaft controller was deleted.
        migration: The text of /migration, which an operator should save; None: there was none.
        migration_deleted: Whether it was deleted, too.
    """

    controller: bool
    migration: str | None
    migration_deleted: bool


class LabReverting(LabData):
    """Rolls a cluster back to ZooKeeper from any step before finalization."""

    def revert_to_migration(self, broker: int) -> None:
        """Restart a broker that runs in KRaft mode in migration mode.

        Raises:
            WrongStateError: It is not in KRaft mode, or no controller runs.
            LabError: It did not stop or did not become ready.
        """
        self._expect_mode(broker, Mode.KRAFT, "It is the way back from KRaft mode only.")
        self.active_controller()
        self._change_mode(broker, Mode.MIGRATING, wait=True)

    def deprovision_controllers(self) -> tuple[Path, ...]:
        """Stop the controllers and rename their metadata directories; the next ones start empty.

        Returns:
            The new paths of the metadata directories.

        Raises:
            WrongStateError: There are none, one is frozen, or a broker needs them: it is in KRaft
                mode.
            WaitTimedOutError: One did not stop.
        """
        needing = [n.name for n in self._layout.brokers.values() if self.mode(n.name) is Mode.KRAFT]
        if needing:
            raise WrongStateError(
                f"in KRaft mode still: {', '.join(needing)}",
                where="lab",
                fix="Take them back first: kraftgate lab revert-to-migration ID.",
            )
        provisioned = [n for n in self._layout.controllers.values() if self.mode(n.name)]
        if not provisioned:
            raise WrongStateError(
                "there are no controllers", where="lab", fix="There is nothing to deprovision."
            )
        for node in provisioned:
            if self.is_alive(node.name):
                self.stop(node.name)
        moved = []
        for node in provisioned:
            directory = node.directories[0]
            kept = _free_name(directory)
            directory.rename(kept)
            moved.append(kept)
            del self._modes[node.name]
        return tuple(moved)

    def clear_znodes(self, *, keep_migration: bool = False) -> ClearedZnodes:
        """Delete /controller, and read and delete /migration: the steps of zookeeper-shell.

        Returns once a broker is the controller of the cluster and every running broker reports it.

        Args:
            keep_migration: Leave /migration, as an operator who forgets it does.

        Raises:
            WrongStateError: A KRaft controller runs; it would write both again.
            RequestRefusedError: ZooKeeper did not answer.
            WaitTimedOutError: No broker became the controller.
        """
        running = [n.name for n in self._layout.controllers.values() if self.is_alive(n.name)]
        if running:
            raise WrongStateError(
                f"a KRaft controller runs: {', '.join(running)}",
                where=_CONTROLLER,
                fix="Deprovision the controllers first: kraftgate lab deprovision.",
            )
        found = self.zookeeper.get(_MIGRATION)
        taken = self._kraft_controls()
        if taken:
            self.zookeeper.delete(_CONTROLLER)
        if found is not None and not keep_migration:
            self.zookeeper.delete(_MIGRATION)
        self._wait_controlled_by_broker()
        return ClearedZnodes(
            controller=taken,
            migration=None if found is None else found.decode("utf-8", "replace"),
            migration_deleted=found is not None and not keep_migration,
        )

    def revert_to_zookeeper(self, broker: int) -> None:
        """Restart a broker that runs in migration mode without any setting of KRaft.

        Raises:
            WrongStateError: It is not in migration mode, or a KRaft controller owns /controller: it
                would no longer know the broker.
            LabError: It did not stop or did not become ready.
        """
        self._expect_mode(broker, Mode.MIGRATING, "Take it back to migration mode first.")
        if self._kraft_controls():
            raise WrongStateError(
                "a KRaft controller holds the cluster",
                where=_CONTROLLER,
                fix="Deprovision the controllers and clear the znodes first.",
            )
        self._change_mode(broker, Mode.ZOOKEEPER, wait=True)

    def roll_back(self, progress: Callable[[str], None], *, keep_migration: bool = False) -> None:
        """Run the whole rollback to ZooKeeper from the current step of the migration.

        Args:
            progress: Called before each step with its description.
            keep_migration: Leave /migration, as an operator who forgets it does.

        Raises:
            LabError: A step failed; the lab keeps its current state.
        """
        for id_ in self._in_mode(Mode.KRAFT):
            progress(f"restarting broker {id_} in migration mode")
            self.revert_to_migration(id_)
            self.wait_in_sync()
        progress("deprovisioning the controllers")
        self.deprovision_controllers()
        progress("deleting /controller" + ("" if keep_migration else " and /migration"))
        self.clear_znodes(keep_migration=keep_migration)
        for id_ in self._in_mode(Mode.MIGRATING):
            progress(f"restarting broker {id_} in ZooKeeper mode")
            self.revert_to_zookeeper(id_)
        self.wait_in_sync()
        progress("back in ZooKeeper mode")

    def _kraft_controls(self) -> bool:
        holder = self.zookeeper.controller()
        return holder is not None and holder[1]

    def _wait_controlled_by_broker(self) -> None:
        """Wait until every broker that answers reports the new controller.

        A broker that is stopped earlier waits for minutes for the KRaft controller that is gone.
        """
        running = [node for node in self._layout.brokers.values() if self._answers(node)]

        if not running:
            return
        id_, _ = self._waiter.until(
            "a broker to control the cluster",
            self.zookeeper.controller,
            timeout_s=_ELECTION_S_MAX,
            where=_CONTROLLER,
        )
        epoch = (self.zookeeper.get(_CONTROLLER_EPOCH) or b"").decode()
        ready = f"Ready to serve as the new controller with epoch {epoch} "
        self.wait_for_log(self._layout.broker(id_).name, ready)
        self._waiter.until(
            f"every broker to know that broker {id_} controls",
            lambda: all(quorum.names_controller(n.port, id_) for n in running) or None,
            timeout_s=_ELECTION_S_MAX,
            where=_CONTROLLER,
        )

    def _in_mode(self, mode: Mode) -> list[int]:
        known = self._layout.brokers.values()
        return [node.id for node in known if self.mode(node.name) is mode]

    def _expect_mode(self, broker: int, mode: Mode, fix: str) -> None:
        name = self._layout.broker(broker).name
        found = self.mode(name)
        if found is not mode:
            raise WrongStateError(
                f"{name} is in {found.value if found else 'no'} mode, not in {mode.value} mode",
                where="lab",
                fix=fix,
            )

    def _change_mode(self, broker: int, mode: Mode, *, wait: bool) -> None:
        name = self._layout.broker(broker).name
        if self.is_alive(name):
            self.stop(name)
        self.start_broker(broker, mode, wait=wait)


def _free_name(directory: Path) -> Path:
    """Return the first of ``metadata.1``, ``metadata.2``, ... that is free."""
    number = 1
    while (kept := directory.with_name(f"{directory.name}.{number}")).exists():
        number += 1
    return kept
