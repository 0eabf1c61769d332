"""The part of a lab that starts its members in the right mode and knows when each one is ready."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from orchestrator.lab import properties, quorum
from orchestrator.lab.core import LabProcesses
from orchestrator.lab.errors import BindRefusedError, WrongStateError
from orchestrator.lab.layout import Mode, Node
from orchestrator.lab.quorum import Quorum
from orchestrator.lab.spec import LabSpec
from orchestrator.lab.zookeeper import ZooKeeperReader

_START_S_MAX = 120.0
_GONE_S_MAX = 40.0  # an ephemeral znode outlives its broker by 18 s, the session timeout
_LEADER_S_MAX = 60.0
_FORMAT_S_MAX = 120.0
_BIND_ATTEMPTS = 3

_ZOOKEEPER_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_KAFKA_MAIN = "kafka.Kafka"
_FORMAT_MAIN = "kafka.tools.StorageTool"

_ZOOKEEPER_READY = r"PrepRequestProcessor .* started"
_RAFT_READY = r"Kafka Server started"
_BROKER_READY = {
    Mode.ZOOKEEPER: (r"\[KafkaServer id=\d+\] started",),
    Mode.MIGRATING: (r"\[KafkaServer id=\d+\] started", r"Successfully registered broker"),
    Mode.KRAFT: (_RAFT_READY,),
}


class LabMembers(LabProcesses):
    """Starts ZooKeeper, brokers and controllers.

    Args:
        spec: The lab's shape.
        home: An empty or absent directory; a temporary one when None.
    """

    def __init__(self, spec: LabSpec | None = None, home: Path | None = None) -> None:
        super().__init__(spec, home)
        self._modes: dict[str, Mode] = {}
        self._ran: set[str] = set()
        self._zookeeper: ZooKeeperReader | None = None

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
    def zookeeper(self) -> ZooKeeperReader:
        """A reader of this lab's ZooKeeper.

        Raises:
            WrongStateError: ZooKeeper was not started.
        """
        if self._zookeeper is None:
            raise WrongStateError(
                "the lab has no ZooKeeper", where="lab", mend="Call start_zookeeper first."
            )
        return self._zookeeper

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all processes: ZooKeeper, controllers, brokers."""
        return tuple(node.name for node in self._layout.nodes)

    def resolve(self, who: str) -> str:
        """Return the name that a person means: ``broker-2`` by itself, ``2``, or ``3000``.

        Raises:
            WrongStateError: The lab has none such.
        """
        if not who.isdecimal():
            return self._layout.named(who).name
        id_ = int(who)
        known = self._layout.controllers if id_ in self._layout.controllers else None
        return known[id_].name if known else self._layout.broker(id_).name

    def address(self, name: str) -> str:
        """Return where this process listens."""
        return self._layout.named(name).address

    def was_started(self, name: str) -> bool:
        """Whether this process was ever started."""
        return self._layout.named(name).name in self._processes

    def mode(self, name: str) -> Mode | None:
        """Return how the broker or controller was last started; None before its first start."""
        return self._modes.get(self._layout.named(name).name)

    def start_zookeeper(self) -> None:
        """Start ZooKeeper and connect to it.

        Raises:
            LabError: It did not start.
        """
        node = self._layout.zookeeper
        node.directories[0].mkdir(parents=True, exist_ok=True)

        def command() -> list[str]:
            file = self._layout.config_file(node.name, "zookeeper")
            properties.write(file, properties.zookeeper_properties(self._layout))
            return self._java.command(self.spec.zookeeper_heap_mb, _ZOOKEEPER_MAIN, str(file))

        self._boot(node, command, (_ZOOKEEPER_READY,))
        if self._zookeeper is None:
            reader = ZooKeeperReader(self.zookeeper_connect)
            reader.open()
            self._zookeeper = reader
            self._closing.append(reader.close)

    def start_broker(self, id_: int, mode: Mode | None = None, *, wait: bool = True) -> None:
        """Start a broker, in its last mode unless told otherwise; the first is ZooKeeper's.

        Args:
            id_: The broker.
            mode: How it is configured.
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
        """Return the id of the controller that leads, waiting for an election if need be.

        Raises:
            WrongStateError: No controller runs.
            WaitTimedOutError: None leads.
        """
        if not any(self.is_alive(node.name) for node in self._layout.controllers.values()):
            raise WrongStateError("no controller runs", where="lab", mend="Start the controllers.")
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
        """Start every controller; all begin again when a port was taken."""
        nodes = list(self._layout.controllers.values())
        for attempt in range(1, _BIND_ATTEMPTS + 1):
            for node in nodes:
                self._start_controller(node, mode, wait=False)
            taken = [node for node in nodes if not self._became_ready(node, attempt)]
            if not taken:
                return
            for node in nodes:
                self.kill(node.name)
            for node in taken:
                node.port = self._ports.take()

    def _became_ready(self, node: Node, attempt: int) -> bool:
        try:
            self._wait_ready(node, (_RAFT_READY,))
        except BindRefusedError:
            if attempt == _BIND_ATTEMPTS:
                raise
            return False
        return True

    def _format(self, files: Sequence[Path], cluster_id: str) -> None:
        """Write the identity into the directories of nodes that begin their life in KRaft mode."""

        def one(file: Path) -> None:
            # One word: a cluster id may begin with a dash.
            named = f"--cluster-id={cluster_id}"
            arguments = ("format", named, "--release-version", "3.9", "-c", str(file))
            self._java.run_tool(_FORMAT_MAIN, arguments, timeout_s=_FORMAT_S_MAX)

        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(one, files))

    def _kafka_command(
        self, node: Node, mode: Mode, wanted: dict[str, str], heap_mb: int
    ) -> list[str]:
        file = properties.write(self._layout.config_file(node.name, mode.value), wanted)
        return self._java.command(heap_mb, _KAFKA_MAIN, str(file))

    def _boot(self, node: Node, command: Callable[[], list[str]], ready: tuple[str, ...]) -> None:
        """Start a process; on its first start, move to another port while its port is taken."""
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
        """Wait for the end of an earlier incarnation's session: a start within it dies."""
        self._waiter.until(
            f"the ZooKeeper session of {node.name}'s last life to end",
            lambda: not self.zookeeper.broker_is_present(node.id) or None,
            timeout_s=_GONE_S_MAX,
            where=f"/brokers/ids/{node.id}",
        )

    def _answers(self, node: Node) -> bool:
        return self.is_alive(node.name) and not self.is_frozen(node.name)
