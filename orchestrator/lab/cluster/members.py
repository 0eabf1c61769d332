"""The part of a lab that starts its members in the right mode and determines when each is ready."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from orchestrator.lab.cluster import properties
from orchestrator.lab.cluster.layout import Mode, Node
from orchestrator.lab.cluster.processes import LabProcesses
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.cluster.zookeeper import ZooKeeperShell
from orchestrator.lab.errors import BindRefusedError, WrongStateError
from orchestrator.lab.kafka import quorum
from orchestrator.lab.kafka.quorum import Quorum
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

    Args:
        spec: The lab's configuration.
        home: An empty or absent directory; None: a temporary one.
    """

    def __init__(self, spec: LabSpec | None = None, home: Path | None = None) -> None:
        super().__init__(spec, home)
        self._modes: dict[str, Mode] = {}
        self._ran: set[str] = set()
        self._zookeeper: ZooKeeperShell | None = None

    @property
    def zookeeper_connect(self) -> str:
        """ZooKeeper's connect string, chroot included."""
        return self._layout.zookeeper_connect

    @property
    def broker_bootstrap(self) -> str:
        """The brokers' addresses."""
        return self._layout.broker_bootstrap

    @property
    def controller_bootstrap(self) -> str:
        """The controllers' addresses, known before the controllers exist."""
        return self._layout.controller_bootstrap

    @property
    def jmx_exporters(self) -> dict[int, str]:
        """The URL of each node's JMX numbers, by node id; empty without `LabSpec.jmx`."""
        return self._layout.jmx_exporters

    @property
    def zookeeper(self) -> ZooKeeperShell:
        """The operations that an operator performs manually in this lab's ZooKeeper.

        Raises:
            WrongStateError: ZooKeeper was not started.
        """
        if self._zookeeper is None:
            raise WrongStateError(
                "the lab has no ZooKeeper", where="lab", fix="Call start_zookeeper first."
            )
        return self._zookeeper

    @property
    def zookeeper_names(self) -> tuple[str, ...]:
        """The names of ZooKeeper's servers."""
        return tuple(node.name for node in self._layout.zookeepers.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all processes: ZooKeeper, controllers, brokers."""
        return tuple(node.name for node in self._layout.nodes)

    def resolve(self, who: str) -> str:
        """Return the process name for a user's input: ``broker-2`` itself, ``2``, or ``3000``.

        Raises:
            WrongStateError: The lab has no such process.
        """
        if not who.isdecimal():
            return self._layout.named(who).name
        id_ = int(who)
        known = self._layout.controllers if id_ in self._layout.controllers else None
        return known[id_].name if known else self._layout.broker(id_).name

    def address(self, name: str) -> str:
        """Return the process's host and port."""
        return self._layout.named(name).address

    def was_started(self, name: str) -> bool:
        """Return whether this process was ever started."""
        return self._layout.named(name).name in self._processes

    def mode(self, name: str) -> Mode | None:
        """Return the mode in which the broker or controller was last started; None: never."""
        return self._modes.get(self._layout.named(name).name)

    @property
    def zookeeper_answers(self) -> bool:
        """Whether more than half of ZooKeeper's servers run, none of those frozen."""
        running = [each for each in self._layout.zookeepers.values() if self._answers(each)]
        return 2 * len(running) > len(self._layout.zookeepers)

    def start_zookeeper(self) -> None:
        """Start every server of ZooKeeper that does not run, and connect.

        Raises:
            LabError: One did not start, or the others that it needs do not run.
        """
        nodes = [each for each in self._layout.zookeepers.values() if not self.is_alive(each.name)]
        if self.spec.zookeepers == 1:
            (node,) = nodes or self._layout.zookeepers.values()
            self._boot(node, lambda: self._zookeeper_command(node), (_ZOOKEEPER_READY,))
        else:
            self._start_together(nodes, self._start_zookeeper_server, _PEER_READY)
        if self._zookeeper is None:
            reader = ZooKeeperShell(self.zookeeper_connect)
            reader.open()
            self._zookeeper = reader
            self._closing.append(reader.close)

    def start_zookeeper_server(self, name: str) -> None:
        """Start one server of several, and wait until it follows or leads.

        Raises:
            LabError: It runs already, or did not find enough others.
        """
        node = self._layout.named(name)
        self._start_zookeeper_server(node)
        self._wait_ready(node, (_PEER_READY,))

    def _start_zookeeper_server(self, node: Node) -> None:
        self._boot(node, lambda: self._zookeeper_command(node), ())

    def _zookeeper_command(self, node: Node) -> list[str]:
        directory = node.directories[0]
        directory.mkdir(parents=True, exist_ok=True)
        if node.peer_ports is not None:
            number = next(n for n, each in self._layout.zookeepers.items() if each is node)
            (directory / "myid").write_text(str(number), "ascii")
        file = self._layout.config_file(node.name, "zookeeper")
        properties.write(file, properties.zookeeper_properties(self._layout, node))
        return self._java.command(self.spec.zookeeper_heap_mb, _ZOOKEEPER_MAIN, str(file))

    def start_broker(self, id_: int, mode: Mode | None = None, *, wait: bool = True) -> None:
        """Start a broker, by default in its last mode; the first one is ZooKeeper mode.

        Args:
            id_: The broker.
            mode: Its configuration.
            wait: Whether to return only when it is ready.

        Raises:
            LabError: It runs already, or did not become ready.
        """
        node = self._layout.broker(id_)
        wanted = mode or self._modes.get(node.name, Mode.ZOOKEEPER)
        if wanted is not Mode.KRAFT:
            self._wait_session_gone(node)

        def command() -> list[str]:
            return self._kafka_command(
                node, wanted, properties.broker_properties(self._layout, node, wanted),
                self.spec.broker_heap_mb,
            )  # fmt: skip

        self._modes[node.name] = wanted
        self._boot(node, command, _BROKER_READY[wanted] if wait else ())

    def quorum(self) -> Quorum | None:
        """Return the quorum as its leader describes it, or None while no controller leads."""
        for node in self._layout.controllers.values():
            found = quorum.describe(node.port) if self._answers(node) else None
            if found is not None:
                return found
        return None

    def active_controller(self, *, timeout_s: float = _LEADER_S_MAX) -> int:
        """Return the id of the controller that leads, waiting for an election if necessary.

        Raises:
            WrongStateError: No controller runs.
            WaitTimedOutError: None leads.
        """
        if not any(self.is_alive(node.name) for node in self._layout.controllers.values()):
            raise WrongStateError("no controller runs", where="lab", fix="Start the controllers.")
        return self._waiter.until(
            "a controller to lead",
            self.quorum,
            timeout_s=timeout_s,
            where=str(self._layout.log_file("controller-*")),
        ).leader

    def _start_controller(self, node: Node, mode: Mode, *, wait: bool) -> None:
        def command() -> list[str]:
            return self._kafka_command(
                node, mode, properties.controller_properties(self._layout, node, mode),
                self.spec.controller_heap_mb,
            )  # fmt: skip

        self._modes[node.name] = mode
        self._boot(node, command, (_RAFT_READY,) if wait else ())

    def _start_all_controllers(self, mode: Mode) -> None:
        nodes = list(self._layout.controllers.values())
        start = partial(self._start_controller, mode=mode, wait=False)
        self._start_together(nodes, start, _RAFT_READY)

    def _start_together(
        self, nodes: Sequence[Node], start: Callable[[Node], None], ready: str
    ) -> None:
        """Start nodes that need each other; restart all of them when a port was taken."""
        for attempt in range(1, _BIND_ATTEMPTS + 1):
            for node in nodes:
                start(node)
            taken = [node for node in nodes if not self._became_ready(node, ready, attempt)]
            if not taken:
                return
            for node in nodes:
                self.kill(node.name)
            for node in taken:
                node.port = self._ports.take()

    def _became_ready(self, node: Node, ready: str, attempt: int) -> bool:
        try:
            self._wait_ready(node, (ready,))
        except BindRefusedError:
            if attempt == _BIND_ATTEMPTS:
                raise
            return False
        return True

    def _format(self, files: Sequence[Path], cluster_id: str) -> None:
        """Write the identity into the directories of nodes that are first started in KRaft mode."""

        def one(file: Path) -> None:
            # One argument: a cluster id may begin with a dash.
            named = f"--cluster-id={cluster_id}"
            release = self.spec.release_version
            arguments = ("format", named, "--release-version", release, "-c", str(file))
            self._java.run_tool(_FORMAT_MAIN, arguments, timeout_s=_FORMAT_S_MAX)

        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(one, files))

    def _kafka_command(
        self, node: Node, mode: Mode, wanted: dict[str, str], heap_mb: int
    ) -> list[str]:
        file = properties.write(self._layout.config_file(node.name, mode.value), wanted)
        options = self._agent_options(node)
        return self._java.command(heap_mb, _KAFKA_MAIN, str(file), options=options)

    def _agent_options(self, node: Node) -> list[str]:
        if self._agent is None:
            return []
        file = self._layout.config_file("jmx_exporter", "all").with_suffix(".yml")
        if not file.exists():
            file.write_text(properties.AGENT, "utf-8")
        return [f"-javaagent:{self._agent}={LOOPBACK}:{node.jmx_port}:{file}"]

    def _boot(self, node: Node, command: Callable[[], list[str]], ready: tuple[str, ...]) -> None:
        """Start a process; on its first start, switch to another port while its port is taken."""
        for attempt in range(1, _BIND_ATTEMPTS + 1):
            self._launch(node, command())
            try:
                self._wait_ready(node, ready)
                break
            except BindRefusedError:
                if node.name in self._ran or attempt == _BIND_ATTEMPTS:
                    raise
                node.port = self._ports.take()
        self._ran.add(node.name)

    def _wait_ready(self, node: Node, ready: tuple[str, ...]) -> None:
        for pattern in ready:
            self.wait_for_log(node.name, pattern, timeout_s=_START_S_MAX)

    def _wait_session_gone(self, node: Node) -> None:
        """Wait for the end of the previous process's session: a broker started earlier dies."""
        self._waiter.until(
            f"the ZooKeeper session of {node.name}'s last life to end",
            lambda: not self.zookeeper.broker_is_present(node.id) or None,
            timeout_s=_GONE_S_MAX,
            where=f"/brokers/ids/{node.id}",
        )

    def _answers(self, node: Node) -> bool:
        return self.is_alive(node.name) and not self.is_frozen(node.name)
