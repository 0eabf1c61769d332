"""`meta-properties` against real nodes: each case, in each mode and role, starts or is refused.

The cases are those of the unit tests. The files are read by Kafka 3.9's MetaPropertiesEnsemble
(KIP-858, "meta.properties").
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from migration.assessment.meta_properties import METADATA_LOG
from migration.assessment.next_start import Effect, NextStart, Role, next_start, role_of
from migration.image.summary import Mode
from migration.observed.probed import MetaProperties
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.cluster import properties
from orchestrator.lab.cluster.layout import Member
from orchestrator.lab.errors import ProcessDiedError
from streams.log_dirs.local_host import read_meta
from tests.migration.assessment.meta_cases import CASES, ID_1, Entries, text

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=2.25)]

DIRECTORIES = 16
"""One for each case that can share a start, and the first."""

CONTROLLER = 3000
NAME = f"controller-{CONTROLLER}"
NOT_REGISTERED = "Shutting down because we were unable to register with the controller quorum"
NO_ELECTION = r"Completed transition to Unattached\(.* electionTimeoutMs=9223372036854775807"
# A broker that stopped is announced by its session's end only, if no controller was active.
SHORT_SESSIONS: Final = {"broker.session.timeout.ms": "3000"}


def test_each_case_in_each_mode() -> None:
    """One broker is stopped, its files are changed, it is started, and they are restored.

    A start with a fault in one file proves that this fault does not prevent it, whatever is in the
    other files: cases with which the broker starts share one start. A refusal has one to itself.
    """
    # A broker that is stopped just after its start has no controller yet to announce it to:
    # it stops after three attempts, and its next start waits for the end of its session.
    settings = {
        "controlled.shutdown.retry.backoff.ms": "100",
        "broker.heartbeat.interval.ms": "1000",
    }
    spec = LabSpec(
        brokers=1,
        directories=DIRECTORIES,
        controllers=1,
        broker_properties=settings,
        controller_properties=SHORT_SESSIONS,
    )

    def in_another_spelling(start: Callable[[Node], Iterable[str | None]]) -> list[str]:
        settings["metadata.log.dir"] = f"{folders[0]}/"
        found = start(replace(node, metadata_log_dir=f"{folders[0]}/"))
        del settings["metadata.log.dir"]
        return [*filter(None, found)]

    with Lab(spec) as lab:
        folders = [lab.directory(1, index) for index in range(DIRECTORIES)]
        node = Node(lab, "broker-1", 1, Role.BROKER, folders)
        lab.start_zookeeper()
        lab.start_brokers()
        lab.stop("broker-1")
        wrong = in_another_spelling(lambda node: node.walk(Mode.ZOOKEEPER))  # does not use it
        lab.start_controllers()
        lab.enter_migration(1)
        lab.wait_copied()
        lab.stop("broker-1")
        wrong += node.walk(Mode.MIGRATING)
        wrong += in_another_spelling(lambda node: [node.compared(Mode.MIGRATING)])
        lab.move_to_kraft(1)
        lab.stop("broker-1")
        wrong += node.walk(Mode.KRAFT)
        wrong += in_another_spelling(lambda node: [node.compared(Mode.KRAFT)])
    assert not wrong, "\n".join(wrong)


def test_a_controller_and_a_combined_node() -> None:
    """The lab's controller has further directories, and becomes a combined node.

    KafkaRaftServer refuses a start before the roles differ, so one of both shows each refusal.
    """
    broker_settings: dict[str, str] = {}
    settings = dict(SHORT_SESSIONS)
    # The lab reads both at each start.
    spec = LabSpec(
        brokers=1,
        directories=1,
        controller_heap_mb=256,
        broker_properties=broker_settings,
        controller_properties=settings,
    )
    with Lab(spec) as lab:
        metadata = lab.controllers[CONTROLLER].directories[0]
        folders = [metadata, *(metadata.with_name(f"d{n}") for n in range(1, DIRECTORIES))]
        settings |= {
            "metadata.log.dir": str(metadata),
            "log.dirs": ",".join(map(str, folders[1:])),
        }
        lab.start_kraft()
        lab.stop("broker-1")
        broker = Node(lab, "broker-1", 1, Role.BROKER, [lab.directory(1, 0)])
        assert role_of(broker.files()) is Role.BROKER
        lab.stop(NAME)
        wrong = Node(lab, NAME, CONTROLLER, Role.CONTROLLER, folders).walk(Mode.KRAFT, 0)
        combined = {
            "process.roles": "broker,controller",
            "listeners": f"CONTROLLER://{lab.controllers[CONTROLLER].address},"
            f"PLAINTEXT://{lab.broker(1).address}",
            "inter.broker.listener.name": "PLAINTEXT",
        }
        settings |= combined
        lab.start(NAME)
        lab.create_topic("orders", partitions=1, replication_factor=1)
        lab.stop(NAME)
        wrong += Node(lab, NAME, CONTROLLER, Role.COMBINED, folders).walk(Mode.KRAFT, 1)
        for key in combined:
            del settings[key]
        broker_settings["initial.broker.registration.timeout.ms"] = "2000"
        wrong += _another_cluster(Node(lab, NAME, CONTROLLER, Role.CONTROLLER, folders), broker)
    assert not wrong, "\n".join(wrong)


class LabWithDynamicQuorum(Lab):
    """A lab whose one controller finds the voters, with their directory ids, in its log."""

    def _write_config(self, member: Member, mode: Mode) -> Path:
        settings = properties.controller_properties(self, member, mode)
        del settings["controller.quorum.voters"]
        settings["controller.quorum.bootstrap.servers"] = member.address
        return properties.write(self.config_file(member.name, mode.value), settings)

    def start_standalone(self, member: Member) -> None:
        self._cluster_id = ID_1
        self._format([member], Mode.KRAFT, ID_1, "--standalone")
        self._start_controller(member, Mode.KRAFT)


def test_a_voter_of_a_dynamic_quorum_without_its_id() -> None:
    """It starts with another directory.id, and never becomes a candidate."""
    with LabWithDynamicQuorum(LabSpec(brokers=0)) as lab:
        member = lab.controllers[CONTROLLER]
        lab.start_standalone(member)
        lab.active_controller()
        lab.stop(NAME)
        node = Node(lab, NAME, CONTROLLER, Role.CONTROLLER, list(member.directories))
        (well,) = node.next_start(Mode.KRAFT, ID_1).directories
        assert well.effect is Effect.KEEPS
        assert role_of(node.files()) is Role.BROKER, "its quorum-state names no voters"
        file = member.directories[0] / "meta.properties"
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(each for each in lines if not each.startswith("directory.id")))
        (harmed,) = node.next_start(Mode.KRAFT, ID_1).directories
        assert (harmed.effect, "is then no voter" in harmed.text) == (Effect.HARMS, True)
        lab.start(NAME)
        lab.wait_for_log(NAME, NO_ELECTION)
        assert node.files()[0].directory_id is not None


@dataclass(frozen=True)
class Node:
    """A node that is stopped, and its directories: the first has the metadata log.

    metadata_log_dir: another spelling of the first; "": there is none.
    """

    lab: Lab
    name: str
    id: int
    role: Role
    folders: list[Path]
    metadata_log_dir: str = ""

    def files(self) -> list[MetaProperties]:
        return [read_meta(each) for each in self.folders]

    def next_start(self, mode: Mode, cluster_id: str) -> NextStart:
        return next_start(
            self.files(),
            mode,
            metadata_log_dir=self.metadata_log_dir or str(self.folders[0]),
            cluster_id=cluster_id,
            node_id=self.id,
            role=self.role,
        )

    def walk(self, mode: Mode, turn: int | None = None) -> list[str]:
        """Return the differences; the files are then as they were.

        turn: 0 or 1: half of the cases that have a start to themselves; None: all of them.
        """
        assert role_of(self.files()) is self.role
        kept = [(each / "meta.properties").read_bytes() for each in self.folders]
        *alone, together = _starts(mode, [self._entries(each) for each in self.files()])
        wrong = []
        for names, texts, metadata_log in [*alone[turn :: 1 if turn is None else 2], together]:
            for index, content in texts.items():
                _write(self.folders[index], content)
            if metadata_log is not None:
                (self.folders[metadata_log] / METADATA_LOG).mkdir(exist_ok=True)
            line = self.compared(mode)
            if line is not None:
                wrong.append(f"{self.role} {mode} {names}: {line}")
            for folder, data in zip(self.folders, kept, strict=True):
                (folder / "meta.properties").write_bytes(data)
            if metadata_log is not None:
                shutil.rmtree(self.folders[metadata_log] / METADATA_LOG)
        return wrong

    def _entries(self, file: MetaProperties) -> Entries:
        """Return a file's entries with version 0, as those of a migrated broker have."""
        entries = {"version": "0", "broker.id": str(self.id), "cluster.id": str(file.cluster_id)}
        return entries | ({"directory.id": file.directory_id} if file.directory_id else {})

    def compared(self, mode: Mode) -> str | None:
        """Return how the start differs from the prediction; None: it does not."""
        predicted = self.next_start(mode, self.lab.cluster_id)
        try:
            self.lab.start(self.name)
        except ProcessDiedError as error:
            said = f"{error}"
            if predicted.refusal is None:
                return f"predicted to start, but: {said}"
            return None if predicted.refusal in said else f"{predicted.refusal!r} is not in: {said}"
        after = self.files()
        self.lab.stop(self.name)
        if predicted.refusal is not None:
            return f"started, predicted: {predicted.refusal}"
        for effect, file in zip(predicted.directories, after, strict=True):
            written = effect.effect is Effect.WRITES or "writes" in effect.text
            if written and not file.readable:
                return f"{effect.path} was not written"
            generated = "directory.id" in effect.text and file.readable
            if generated and file.directory_id is None:
                return f"{effect.path} got no directory.id"
        return None


def _another_cluster(controller: Node, broker: Node) -> list[str]:
    """Start a controller of another cluster without its log, then the broker; return differences.

    The broker does not register; KIP-858, "Motivation": the controller's log is in its directory.
    """
    lab = controller.lab
    for folder in controller.folders:
        file = folder / "meta.properties"
        file.write_text(file.read_text().replace(lab.cluster_id, ID_1))
    (belongs, *_) = controller.next_start(Mode.KRAFT, lab.cluster_id).directories
    assert (belongs.effect, f"belongs to cluster {ID_1}" in belongs.text) == (Effect.HARMS, True)
    log = controller.folders[0] / METADATA_LOG
    shutil.rmtree(log)
    (begins, *_) = controller.next_start(Mode.KRAFT, ID_1).directories
    assert (begins.effect, "an empty metadata log" in begins.text) == (Effect.HARMS, True)
    refusal = broker.next_start(Mode.KRAFT, ID_1).refusal
    assert refusal is not None
    lab.start(controller.name)
    lab.active_controller()
    assert log.is_dir()
    lab.start_broker(broker.id, Mode.KRAFT, wait=False)
    lab.wait_dead(broker.name, timeout_s=180)
    printed = lab.log_file(broker.name).read_text("utf-8")
    quoted = (refusal.partition(":")[0], NOT_REGISTERED)
    return [f"{each!r} is not in: {printed[-3000:]}" for each in quoted if each not in printed]


def _starts(
    mode: Mode, files: list[Entries]
) -> Iterator[tuple[str, Mapping[int, str | None], int | None]]:
    """Yield each start: its cases, the texts by directory, and where a metadata log is made.

    The last one is that of all cases with which the node starts, each with a second file of its
    own, unless another case has the same one.
    """
    first, shared = dict(files[0]), dict[int, str | None]()
    names, shared_log = [], None
    for case in CASES:
        if mode in case.refused or case.is_everywhere:
            texts = case.change([dict(files[0]), dict(files[1])])
            # Directories without a case would hide that no file is left to read.
            others = dict.fromkeys(range(2, DIRECTORIES), texts[1]) if case.is_everywhere else {}
            yield case.name, dict(enumerate(texts)) | others, case.metadata_log_in
            continue
        index = 1 + len(shared)
        changed, second = case.change([dict(first), dict(files[index])])
        assert changed is not None
        first = dict(line.split("=", 1) for line in changed.splitlines())
        index = next((at for at, other in shared.items() if other == second), index)
        shared[index] = second
        if case.metadata_log_in is not None:
            shared_log = index
        names.append(case.name)
    yield ", ".join(names), {0: text(first), **shared}, shared_log


def _write(folder: Path, content: str | None) -> None:
    if content is None:
        (folder / "meta.properties").unlink()
    else:
        (folder / "meta.properties").write_text(content, "latin-1")
