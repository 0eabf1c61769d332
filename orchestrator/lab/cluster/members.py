"""The part of a lab that starts its members in the right mode and determines when each is ready."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from migration.image.summary import Mode
from migration.observed.probed import Quorum
from orchestrator.lab import kafka_requests
from orchestrator.lab.cluster import properties
from orchestrator.lab.cluster.layout import Member
from orchestrator.lab.cluster.processes import LabProcesses
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.cluster.zookeeper import ZooKeeperShell
from orchestrator.lab.errors import BindRefusedError, WrongStateError
from orchestrator.lab.machine.ports import LOOPBACK

_START_S_MAX = 120.0
_GONE_S_MAX = 120.0  # an ephemeral znode outlives its broker by 18 s, the session timeout
_LEADER_S_MAX = 180.0
_FORMAT_S_MAX = 120.0
_BIND_ATTEMPTS = 3

_ZOOKEEPER_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_KAFKA_MAIN = "kafka.Kafka"
_FORMAT_MAIN = "kafka.tools.StorageTool"

_ZOOKEEPER_READY = r"PrepRequestProcessor .* started"
_PEER_READY = r"Peer state changed: (leading|following) - broadcast"
_RAFT_READY = r"Kafka Server started"
_BROKER_READY = {
    Mode.ZOOKEEPER: (r"\[KafkaServer id=\d+\] started",),
    Mode.MIGRATING: (r"\[KafkaServer id=\d+\] started", r"Successfully registered broker"),
    Mode.KRAFT: (_RAFT_READY,),
}


class LabMembers(LabProcesses):
    """Starts ZooKeeper, brokers and controllers.

    A method that starts a member raises WrongStateError if it runs already, and another LabError if
    it does not become ready.
    """

    def __init__(self, spec: LabSpec | None = None, home: Path | None = None) -> None:
        super().__init__(spec, home)
        self._modes: dict[str, Mode] = {}
        self._ran: set[str] = set()
        self._zookeeper: ZooKeeperShell | None = None

    @property
    def zookeeper(self) -> ZooKeeperShell:
        """The operations that an operator performs manually in this lab's ZooKeeper."""
        if self._zookeeper is None:
            raise WrongStateError(
                "this lab has no ZooKeeper: there is nothing to migrate",
                where="lab",
                fix="For a lab with ZooKeeper, run kraftgate lab start without --kraft.",
            )
        return self._zookeeper

    @property
    def zookeeper_names(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.zookeepers.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all processes: ZooKeeper, controllers, brokers."""
        return tuple(member.name for member in self.members)

    def resolve(self, who: str) -> str:
        """Return the process name for a user's input: ``broker-2`` itself, ``2``, or ``3000``."""
        if not who.isdecimal():
            return self.named(who).name
        controller = self.controllers.get(int(who))
        return (controller or self.broker(int(who))).name

    def address(self, name: str) -> str:
        return self.named(name).address

    def was_started(self, name: str) -> bool:
        return self.named(name).name in self._processes

    def mode(self, name: str) -> Mode | None:
        """Return the mode in which the broker or controller was last started; None: never."""
        return self._modes.get(self.named(name).name)

    @property
    def zookeeper_answers(self) -> bool:
        """Whether more than half of ZooKeeper's servers run, none of those frozen."""
        running = [each for each in self.zookeepers.values() if self._answers(each)]
        return 2 * len(running) > len(self.zookeepers)

    def start_zookeeper(self) -> None:
        """Start every server of ZooKeeper that does not run, and connect."""
        servers = self.zookeepers.values()
        if self.spec.zookeepers == 1:
            (member,) = servers
            self._boot(member, lambda: self._zookeeper_command(member), (_ZOOKEEPER_READY,))
        else:
            stopped = [each for each in servers if not self.is_alive(each.name)]
            self._start_together(stopped, self._start_zookeeper_server, _PEER_READY)
        if self._zookeeper is None:
            shell = ZooKeeperShell(self.zookeeper_connect)
            self._closing.append(shell.close)
            shell.open()
            self._zookeeper = shell

    def start_zookeeper_server(self, name: str) -> None:
        """Start one server of several, and wait until it follows or leads."""
        member = self.named(name)
        self._start_zookeeper_server(member)
        self._wait_ready(member, (_PEER_READY,))

    def _start_zookeeper_server(self, member: Member) -> None:
        self._boot(member, lambda: self._zookeeper_command(member), ())

    def _zookeeper_command(self, member: Member) -> list[str]:
        directory = member.directories[0]
        directory.mkdir(parents=True, exist_ok=True)
        if member.peer_ports is not None:
            number = next(n for n, each in self.zookeepers.items() if each is member)
            (directory / "myid").write_text(str(number), "ascii")
        file = self.config_file(member.name, "zookeeper")
        properties.write(file, properties.zookeeper_properties(self, member))
        return self._java.command(self.spec.zookeeper_heap_mb, _ZOOKEEPER_MAIN, str(file))

    def start_broker(self, id_: int, mode: Mode | None = None, *, wait: bool = True) -> None:
        """Start a broker, by default in its last mode, and at first in ZooKeeper mode.

        With `wait`, return when it is ready.
        """
        member = self.broker(id_)
        mode = mode or self._modes.get(member.name, Mode.ZOOKEEPER)
        if mode is not Mode.KRAFT:
            self._wait_session_gone(member)
        self._start_kafka(
            member, mode, self.spec.broker_heap_mb, _BROKER_READY[mode] if wait else ()
        )

    def quorum(self) -> Quorum | None:
        """Return the quorum as its leader describes it, or None while no controller leads."""
        for member in self.controllers.values():
            found = kafka_requests.quorum(member.address) if self._answers(member) else None
            if found is not None:
                return found
        return None

    def active_controller(self, *, timeout_s: float = _LEADER_S_MAX) -> int:
        """Return the id of the controller that leads, waiting for an election if necessary."""
        if not any(self.is_alive(member.name) for member in self.controllers.values()):
            raise WrongStateError(
                "no controller runs",
                where="lab",
                fix="Run kraftgate lab controllers, or kraftgate lab restart if they ended.",
            )
        return self._waiter.until(
            "a controller to lead",
            self.quorum,
            timeout_s=timeout_s,
            where=str(self.home / "logs"),
        ).leader

    def _start_controller(self, member: Member, mode: Mode, *, wait: bool = True) -> None:
        ready = (_RAFT_READY,) if wait else ()
        self._start_kafka(member, mode, self.spec.controller_heap_mb, ready)

    def _start_all_controllers(self, mode: Mode) -> None:
        members = list(self.controllers.values())
        start = partial(self._start_controller, mode=mode, wait=False)
        self._start_together(members, start, _RAFT_READY)

    def _start_kafka(
        self, member: Member, mode: Mode, heap_mb: int, ready: tuple[str, ...]
    ) -> None:
        def command() -> list[str]:  # written again if the port has changed
            file = str(self._write_config(member, mode))
            options = self._agent_options(member)
            return self._java.command(heap_mb, _KAFKA_MAIN, file, options=options)

        self._modes[member.name] = mode
        self._boot(member, command, ready)

    def _write_config(self, member: Member, mode: Mode) -> Path:
        is_broker = member.id in self.brokers
        kind = properties.broker_properties if is_broker else properties.controller_properties
        file = self.config_file(member.name, mode.value)
        return properties.write(file, kind(self, member, mode))

    def _start_together(
        self, members: Sequence[Member], start: Callable[[Member], None], ready: str
    ) -> None:
        """Start members that need each other; restart all of them when a port was taken."""
        for attempt in range(1, _BIND_ATTEMPTS + 1):
            for member in members:
                start(member)
            taken = [member for member in members if not self._became_ready(member, ready, attempt)]
            if not taken:
                return
            for member in members:
                self.kill(member.name)
            for member in taken:
                member.port = self._ports.take()

    def _became_ready(self, member: Member, ready: str, attempt: int) -> bool:
        try:
            self._wait_ready(member, (ready,))
        except BindRefusedError:
            if attempt == _BIND_ATTEMPTS:
                raise
            return False
        return True

    def _format(
        self, members: Iterable[Member], mode: Mode, cluster_id: str, *options: str
    ) -> None:
        """Write config files, and the identity into the members' new directories."""

        def one(member: Member) -> None:
            # One argument: a cluster id may begin with a dash.
            named = f"--cluster-id={cluster_id}"
            release = self.spec.release_version
            file = str(self._write_config(member, mode))
            arguments = ("format", named, "--release-version", release, "-c", file, *options)
            self._java.run_tool(_FORMAT_MAIN, arguments, timeout_s=_FORMAT_S_MAX)

        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(one, members))

    def _agent_options(self, member: Member) -> list[str]:
        if self._agent is None:
            return []
        file = self.config_file("jmx_exporter", "all").with_suffix(".yml")
        if not file.exists():
            file.write_text(properties.AGENT, "utf-8")
        return [f"-javaagent:{self._agent}={LOOPBACK}:{member.jmx_port}:{file}"]

    def _boot(
        self, member: Member, command: Callable[[], list[str]], ready: tuple[str, ...]
    ) -> None:
        """Start a process; on its first start, switch to another port while its port is taken."""
        for attempt in range(1, _BIND_ATTEMPTS + 1):
            self._launch(member, command())
            try:
                self._wait_ready(member, ready)
                break
            except BindRefusedError:
                if member.name in self._ran or attempt == _BIND_ATTEMPTS:
                    raise
                member.port = self._ports.take()
        self._ran.add(member.name)

    def _wait_ready(self, member: Member, ready: tuple[str, ...]) -> None:
        for pattern in ready:
            self.wait_for_log(member.name, pattern, timeout_s=_START_S_MAX)

    def _wait_session_gone(self, member: Member) -> None:
        """Wait for the end of the previous process's session: a broker started earlier dies."""
        self._waiter.until(
            f"the ZooKeeper session of the last {member.name} to end",
            lambda: not self.zookeeper.broker_is_present(member.id),
            timeout_s=_GONE_S_MAX,
            where=f"/brokers/ids/{member.id}",
        )

    def _answers(self, member: Member) -> bool:
        return self.is_alive(member.name) and not self.is_frozen(member.name)
