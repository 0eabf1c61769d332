"""`Lab`: a real Kafka cluster on loopback, and every step of its migration as a method.

with Lab(LabSpec(brokers=2)) as lab:
    lab.start_zookeeper()
    lab.start_brokers()
    lab.create_topic("orders", partitions=4, replication_factor=2)
    lab.migrate(print)

The order of the rollback is that of Kafka 3.9's documentation, "Reverting to ZooKeeper mode During
the Migration": brokers in KRaft mode return to migration mode one by one, the controllers are
deprovisioned, /controller and /migration are deleted immediately, and the brokers restart in
ZooKeeper mode.

Observed on 3.9.1: within milliseconds of the deletion a broker creates /controller, also in
migration mode. Until then a broker that is stopped waits for the KRaft controller, more than a
minute, so the steps refuse another order. A broker's copy of the metadata log may remain: when it
enters migration mode again it deletes the copy (KAFKA-16463).
"""

import base64
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from migration.image.summary import Mode
from migration.observed.znodes import CONTROLLER, CONTROLLER_EPOCH, MIGRATION
from orchestrator.lab import kafka_requests
from orchestrator.lab.cluster import directories
from orchestrator.lab.cluster.data import LabData
from orchestrator.lab.cluster.layout import Member
from orchestrator.lab.errors import WrongStateError

_COPY_S_MAX = 300.0
_ELECTION_S_MAX = 180.0
_INTRODUCED = "transitioning from KRAFT_CONTROLLER_TO_BROKER_COMM to DUAL_WRITE"
_COMPLETED = "Completing the ZK [Mm]igration"
_ONLY_KRAFT = "Only a broker in KRaft mode has its log directories formatted."


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


class Lab(LabData):
    """A whole lab: members, topics, migration and rollback, directory faults, metadata logs.

    A step raises WrongStateError if the migration is not at that step, and another LabError if it
    fails; the lab keeps its current state.

    Args:
        home: An empty or absent directory; None: a temporary one.
    """

    _cluster_id: str | None = None

    @property
    def cluster_id(self) -> str:
        if self._cluster_id is None and self._zookeeper is not None:
            self._cluster_id = self._zookeeper.cluster_id()
        if self._cluster_id is None:
            raise WrongStateError(
                "the cluster has no id yet", where="/cluster/id", fix="Start a broker first."
            )
        return self._cluster_id

    def start_brokers(self) -> None:
        """Start all brokers in ZooKeeper mode, one after the other."""
        for id_ in self.spec.broker_ids:
            self.start_broker(id_)

    def start_controllers(self) -> None:
        """Provision the controllers for the running cluster and start them in migration mode."""
        self._require_zookeeper()
        if self._provisioned():
            raise WrongStateError(
                "the controllers are provisioned already",
                where="lab",
                fix="Start one that has ended: kraftgate lab restart NAME. To provision new ones:"
                " kraftgate lab deprovision.",
            )
        self._format(self.controllers.values(), Mode.MIGRATING, self.cluster_id)
        self._start_all_controllers(Mode.MIGRATING)
        self.active_controller()

    def start_kraft(self) -> None:
        """Start a cluster that was always in KRaft mode: the controllers, then the brokers."""
        self._cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        brokers = self.brokers
        self._format(self.controllers.values(), Mode.KRAFT, self._cluster_id)
        self._start_all_controllers(Mode.KRAFT)
        self._format(brokers.values(), Mode.KRAFT, self._cluster_id)
        for id_ in brokers:
            self.start_broker(id_, Mode.KRAFT, wait=False)
        for member in brokers.values():
            self.wait_for_log(member.name, "Kafka Server started", timeout_s=120.0)
        self.active_controller()

    def restart(self, who: int | str) -> None:
        """Stop a process in order if it runs, and start it again in the same mode."""
        member = self._named(who)
        self._stop_if_alive(member.name)
        self.start(member.name)

    def start(self, who: int | str) -> None:
        """Start a process that was stopped or killed, in its last mode."""
        member = self._named(who)
        if member.id in self.controllers:
            mode = self.mode(member.name)
            if mode is None:
                raise WrongStateError(
                    f"{member.name} was never started",
                    where="lab",
                    fix="Start the controllers: kraftgate lab controllers.",
                )
            self._start_controller(member, mode)
        elif member.id in self.brokers:
            self.start_broker(member.id)
        else:
            self._require_zookeeper()
            if self.spec.zookeepers == 1:
                self.start_zookeeper()
            else:
                self.start_zookeeper_server(member.name)

    def set_directories(self, broker: int, count: int) -> None:
        """Restart a broker in KRaft mode with its first `count` log directories.

        New ones are formatted. Before the broker stops, its replicas in those that it loses are
        moved into its first one.
        """
        self._expect_mode(broker, Mode.KRAFT, _ONLY_KRAFT)
        member = self.broker(broker)
        self.drain_directories(broker, member.directories[count:])
        self._stop_if_alive(member.name)
        member.directories = self._directories(member.name, self._disks(count))
        self._start_formatted(member)

    def replace_directories(self, broker: int) -> None:
        """Stop a broker in KRaft mode, replace its failed log directories by new ones, start it."""
        self._expect_mode(broker, Mode.KRAFT, _ONLY_KRAFT)
        member = self.broker(broker)
        self._stop_if_alive(member.name)
        for index in self.failed_directories(member.name):
            directories.replace(self.directory(broker, index))
        self._start_formatted(member)

    def restore_directories(self, broker: int) -> None:
        """Stop a broker if it runs, heal its failed log directories, and start it."""
        member = self.broker(broker)
        self._stop_if_alive(member.name)
        for index in self.failed_directories(member.name):
            self.heal_directory(broker, index)
        self.start_broker(broker)

    def _start_formatted(self, member: Member) -> None:
        self._format((member,), Mode.KRAFT, self.cluster_id, "--ignore-formatted")
        self.start_broker(member.id)

    def enter_migration(self, broker: int) -> None:
        """Restart a broker with the migration enabled."""
        self.active_controller()
        self._change_mode(broker, Mode.MIGRATING)

    def wait_copied(self, *, timeout_s: float = _COPY_S_MAX) -> int:
        """Wait until the controllers have copied ZooKeeper's metadata; return its end offset.

        Wait also until the active one has sent its first requests to the brokers: a broker that is
        stopped before that asks the former controller three times, ends without a controlled
        shutdown, and cannot register until its session expires (9 s).
        """
        offset = self._waiter.until(
            "the metadata to be copied",
            lambda: max(self.zookeeper.copied_offset(), 0),
            timeout_s=timeout_s,
            where=MIGRATION,
        )
        active = self.controller(self.active_controller())
        if self.mode(active.name) is Mode.MIGRATING:
            self.wait_for_log(active.name, _INTRODUCED, timeout_s=timeout_s)
        return offset

    def move_to_kraft(self, broker: int, *, wait: bool = True) -> None:
        """Restart a broker in KRaft mode; without `wait`, return before it is ready."""
        self._require_copied()
        self._change_mode(broker, Mode.KRAFT, wait=wait)

    def _require_copied(self) -> None:
        if self.zookeeper.copied_offset() <= 0:
            raise WrongStateError(
                "the metadata was not copied yet",
                where=MIGRATION,
                fix="Enable the migration on every broker (kraftgate lab migrate-broker ID), then"
                " run kraftgate lab wait-copied.",
            )

    def finalize(self, *, early: bool = False) -> None:
        """Restart the controllers one at a time without the migration flag. It has no rollback.

        `early`: even while brokers need ZooKeeper; Kafka does not prevent it.
        """
        waiting = dict(self.controllers)
        while waiting:
            active = self.active_controller()
            followers = [id_ for id_ in waiting if id_ != active]
            controller = followers[0] if followers else active
            del waiting[controller]
            self.finalize_controller(controller, early=early)
        leader = self.controller(self.active_controller())
        self.wait_for_log(leader.name, _COMPLETED)

    def finalize_controller(self, controller: int, *, early: bool = False) -> None:
        """Restart one controller without the migration flag, and wait until it has caught up.

        The migration is finalized once such a controller leads.
        """
        self._require_zookeeper()
        member = self.controller(controller)
        behind = [n.name for n in self.brokers.values() if self.mode(n.name) != Mode.KRAFT]
        if behind and not early:
            raise WrongStateError(
                f"not in KRaft mode yet: {', '.join(behind)}",
                where="lab",
                fix="Move them first, or see what Kafka does: kraftgate lab finalize --early",
            )
        self._require_copied()
        self._stop_if_alive(member.name)
        self._start_controller(member, Mode.KRAFT)
        self.wait_quorum_caught_up()

    def wait_quorum_caught_up(self, *, timeout_s: float = 180.0) -> None:
        """Wait until some controller leads and every voter has all committed records."""

        def caught_up() -> bool:
            found = self.quorum()
            return (
                found is not None
                and found.high_watermark is not None
                and all(voter.log_end_offset >= found.high_watermark for voter in found.progress)
            )

        self._waiter.until(
            "every controller to catch up",
            caught_up,
            timeout_s=timeout_s,
            where=str(self.home / "logs"),
        )

    def migrate(self, progress: Callable[[str], None]) -> None:
        """Run the whole migration to finalized, in the order Kafka documents.

        `progress` is called before each step with its description.
        """
        self._require_zookeeper()
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

    def revert_to_migration(self, broker: int) -> None:
        """Restart a broker that runs in KRaft mode in migration mode."""
        self._expect_mode(
            broker, Mode.KRAFT, "Only a broker in KRaft mode can be reverted to migration mode."
        )
        self.active_controller()
        self._change_mode(broker, Mode.MIGRATING)

    def _provisioned(self) -> list[Member]:
        return [each for each in self.controllers.values() if self.mode(each.name)]

    def deprovision_controllers(self) -> tuple[Path, ...]:
        """Stop the controllers and rename their metadata directories; return the new paths.

        The next controllers start empty.
        """
        self._require_zookeeper()
        needing = [n.name for n in self.brokers.values() if self.mode(n.name) is Mode.KRAFT]
        if needing:
            raise WrongStateError(
                f"still in KRaft mode: {', '.join(needing)}",
                where="lab",
                fix="Revert them first: kraftgate lab revert-to-migration ID.",
            )
        provisioned = self._provisioned()
        if not provisioned:
            raise WrongStateError(
                "there are no controllers", where="lab", fix="There is nothing to deprovision."
            )
        for member in provisioned:
            self._stop_if_alive(member.name)
        moved = []
        for member in provisioned:
            directory = member.directories[0]
            kept = directories.free_name(directory)
            directory.rename(kept)
            moved.append(kept)
            del self._modes[member.name]
        return tuple(moved)

    def clear_znodes(self, *, keep_migration: bool = False) -> ClearedZnodes:
        """Delete /controller, and read and delete /migration: the steps of zookeeper-shell.

        Returns once a broker is the controller of the cluster and every running broker reports it.
        `keep_migration`: leave /migration, as an operator who forgets it does.
        """
        self._require_zookeeper()
        running = [n.name for n in self.controllers.values() if self.is_alive(n.name)]
        if running:
            raise WrongStateError(
                f"a KRaft controller runs: {', '.join(running)}",
                where=CONTROLLER,
                fix="Deprovision the controllers first: kraftgate lab deprovision.",
            )
        found = self.zookeeper.get(MIGRATION)
        taken = self._kraft_controls()
        if taken:
            self.zookeeper.delete(CONTROLLER)
        if found is not None and not keep_migration:
            self.zookeeper.delete(MIGRATION)
        self._wait_controlled_by_broker()
        return ClearedZnodes(
            controller=taken,
            migration=None if found is None else found.decode("utf-8", "replace"),
            migration_deleted=found is not None and not keep_migration,
        )

    def revert_to_zookeeper(self, broker: int) -> None:
        """Restart a broker that runs in migration mode without any setting of KRaft."""
        self._expect_mode(broker, Mode.MIGRATING, "Revert it to migration mode first.")
        if self._kraft_controls():
            raise WrongStateError(
                "a KRaft controller owns /controller",
                where=CONTROLLER,
                fix="Deprovision the controllers and clear the znodes first.",
            )
        self._change_mode(broker, Mode.ZOOKEEPER)

    def roll_back(self, progress: Callable[[str], None], *, keep_migration: bool = False) -> None:
        """Run the whole rollback to ZooKeeper from the current step of the migration."""
        self._require_zookeeper()
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
        running = [member for member in self.brokers.values() if self._answers(member)]
        if not running:
            return
        id_, _ = self._waiter.until(
            "a broker to become the controller",
            self.zookeeper.controller,
            timeout_s=_ELECTION_S_MAX,
            where=CONTROLLER,
        )
        epoch = (self.zookeeper.get(CONTROLLER_EPOCH) or b"").decode()
        ready = f"Ready to serve as the new controller with epoch {epoch} "
        self.wait_for_log(self.broker(id_).name, ready)
        self._waiter.until(
            f"every broker to report broker {id_} as the controller",
            lambda: all(kafka_requests.names_controller(n.address, id_) for n in running),
            timeout_s=_ELECTION_S_MAX,
            where=CONTROLLER,
        )

    def _in_mode(self, mode: Mode) -> list[int]:
        known = self.brokers.values()
        return [member.id for member in known if self.mode(member.name) is mode]

    def _expect_mode(self, broker: int, mode: Mode, fix: str) -> None:
        name = self.broker(broker).name
        found = self.mode(name)
        if found is not mode:
            raise WrongStateError(
                f"{name} is in {found.value if found else 'no'} mode, not in {mode.value} mode",
                where="lab",
                fix=fix,
            )

    def _require_zookeeper(self) -> None:
        """Raise WrongStateError before a step changes a lab that was started in KRaft mode."""
        _ = self.zookeeper

    def _change_mode(self, broker: int, mode: Mode, *, wait: bool = True) -> None:
        self._require_zookeeper()
        name = self.broker(broker).name
        self._stop_if_alive(name)
        self.start_broker(broker, mode, wait=wait)

    def _stop_if_alive(self, name: str) -> None:
        if self.is_alive(name):
            self.stop(name)
