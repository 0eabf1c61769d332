"""Two real brokers in ZooKeeper mode, with two directories each, as two sources report them.

The poller's facts about their directories are what they have; the content that is read from
ZooKeeper equals their own metadata.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._topic import TopicDescription

from migration.metadata.directory_ids import from_text
from migration.observed.facts import (
    DiskContentSeen,
    DisksSeen,
    DisksUnreachable,
    LogDirSeen,
    OffsetsFell,
    ReplicasBack,
    ReplicasCutOff,
    ZkPartition,
    ZkTopic,
)
from migration.observed.log_dirs import FAILURE_TIMEOUT_MS
from migration.observed.probed import TopicPartition, Unknown
from migration.observed.topic_facts import ZkTopicChanged
from migration.observed.znode_codec import topic_of
from migration.observed.znodes import TOPICS
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.errors import RequestRefusedError
from streams.kafka.broker_values import ClusterView
from streams.kafka.errors import ConnectionFailed, RequestRefused
from streams.kafka.node import EARLIEST, LATEST, Node
from streams.log_dirs.content_snapshots import CONTENT
from streams.log_dirs.memory import Memory
from streams.log_dirs.poll import BrokerPolls, LogDirsConfig, PollTask
from streams.log_dirs.poll_requests import PollRequests
from streams.log_dirs.poller import LogDirsPoller
from streams.net.endpoint import Endpoint
from streams.net.listener import Listener
from streams.net.security import Security
from streams.probe.brokers import alter_log_dirs, ask_brokers, broker_log_dirs
from streams.probe.log_dirs import ask_log_dirs
from streams.zookeeper.content.reader import ContentFact
from tests.streams.log_dirs.journal import Facts, now_ms
from tests.streams.zookeeper.content import (
    Compared,
    all_touched,
    comparing,
    configs_of,
    parts,
    topics_of,
)
from tests.streams.zookeeper.watching import data, wall_ms, watching
from tests.support.lab_steps import add_partitions, reassign, wait_directory_noticed, watermarks
from tests.support.polling import PATIENCE_S, until

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=1.5)]

QUICK = {"zookeeper.session.timeout.ms": "9000"}
NOT_LEADER = 6


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    spec = LabSpec(brokers=2, directories=2, broker_properties=QUICK, zookeeper_chroot="/kafka")
    with Lab(spec) as made:
        made.start_zookeeper()
        made.start_brokers()
        made.create_topic("spread", 8, 2)
        made.create_topic("alone", 3, 1)
        made.create_topic("dotted.name_x", 1, 2)
        made.create_topic("__consumer_offsets", 4, 2)  # else the first watermarks do it, later
        yield made


class Followed:
    """A poller of the lab, and the facts that it appended."""

    def __init__(self, lab: Lab, state: Path) -> None:
        self.lab = lab
        self.facts = Facts()
        self.requests = PollRequests(state / "requests.db")
        self.memory = Memory(state / "disks.db")
        config = LogDirsConfig(
            listener=Listener(Endpoint.parse_list(lab.broker_bootstrap)), cluster="lab"
        )
        self.poller = LogDirsPoller(config, self.memory, self.facts.append, now_ms)

    def poll(self, broker: int | None = None, why: str = "a test") -> int:
        """Request a poll and wait for its end; return the number of facts before it."""
        before = len(self.facts)
        ticket = self.requests.ask(broker, why)
        until(lambda: self.requests.is_answered(ticket))
        return before

    def last_seen(self, broker: int) -> DisksSeen:
        return [each for each in self.facts.of(DisksSeen) if each.broker == broker][-1]

    def content(self) -> list[DiskContentSeen]:
        """Request a snapshot of all disks."""
        self.poll(None, CONTENT)
        return self.facts.of(DiskContentSeen)[-16:]

    def end(self, topic: str, partition: int) -> int | None:
        known = self.memory.partition((topic, partition))
        return None if known is None else known.end_offset


@pytest.fixture
def followed(lab: Lab, tmp_path: Path) -> Iterator[Followed]:
    made = Followed(lab, tmp_path)
    with made.poller:
        made.facts.wait(DisksSeen, lambda each: each.broker == 1)
        made.facts.wait(DisksSeen, lambda each: each.broker == 2)
        made.poll()
        yield made
    made.requests.close()
    made.memory.close()


def log_dirs(lab: Lab, broker: int) -> dict[str, Path]:
    return {str(path): path for path in (lab.directory(broker, 0), lab.directory(broker, 1))}


def folders(path: Path) -> set[str]:
    """Return the partitions in a log directory."""
    found = (each.name for each in path.iterdir() if each.is_dir())
    return {each for each in found if not each.endswith(("-delete", "-stray"))}


def partition_of(folder: str) -> tuple[str, int]:
    topic, _, partition = folder.rpartition("-")
    return topic, int(partition)


def folder_of(lab: Lab, broker: int, partition: str) -> Path:
    return next(
        path / partition for path in log_dirs(lab, broker).values() if partition in folders(path)
    )


def at(lab: Lab, broker: int) -> Endpoint:
    return Endpoint.parse_list(lab.broker_bootstrap)[broker - 1]


def by_path(disks: DisksSeen | DisksUnreachable) -> dict[str, LogDirSeen]:
    return {each.path: each for each in disks.log_dirs}


def test_a_poll_is_what_lies_in_the_directories(lab: Lab, followed: Followed) -> None:
    """KIP-113, "Create DescribeLogDirsResponse": the size of each replica in each directory.

    A broker may still make the folders of a topic that was just created: then the next poll is.
    """
    for broker in (1, 2):
        until(partial(_is_what_lies, followed, broker))
        seen = by_path(followed.last_seen(broker))
        assert seen.keys() == log_dirs(lab, broker).keys()
        for each in seen.values():
            assert (each.error, each.readable, each.directory_id) == (0, True, None)
            assert each.total_bytes
            assert each.usable_bytes
    assert sum(each.replicas for b in (1, 2) for each in followed.last_seen(b).log_dirs) >= 16


def _is_what_lies(followed: Followed, broker: int) -> bool:
    followed.poll(broker)
    seen = followed.last_seen(broker).log_dirs
    return all(each.replicas == len(folders(Path(each.path))) for each in seen)


def lying(snapshot: list[DiskContentSeen]) -> list[tuple[int, str, str]]:
    return sorted(
        (*fact.paths[each.path], f"{topic.name}-{each.partition}")
        for fact in snapshot
        for topic in fact.topics
        for each in topic.replicas
    )


def in_folders(lab: Lab, failed: str = "") -> list[tuple[int, str, str]]:
    return sorted(
        (broker, path, folder)
        for broker in (1, 2)
        for path in log_dirs(lab, broker)
        if path != failed
        for folder in folders(Path(path))
    )


def test_a_snapshot_is_what_lies_in_all_directories(lab: Lab, followed: Followed) -> None:
    """KIP-113, "How to retrieve information ...": partitions and sizes of all log directories."""
    snapshot = followed.content()
    assert lying(snapshot) == in_folders(lab)
    assert len(lying(snapshot)) >= 24
    assert len({each.shard for each in snapshot}) == 16
    assert {(each.comparison, len(each.paths), each.whole) for each in snapshot} == {
        (snapshot[0].comparison, 4, (1, 2))
    }
    with Node(at(lab, 1), Security()) as broker:
        ids = {topic: each.topic_id for (topic, _), each in broker.metadata().partitions.items()}
    assert {t.name: t.topic_id.hex() for each in snapshot for t in each.topics} == ids


def test_sizes_grow_with_what_is_produced(lab: Lab, followed: Followed) -> None:
    def size(disks: DisksSeen) -> int:
        return sum(each.bytes for each in disks.log_dirs)

    before = size(followed.last_seen(2))
    lab.produce("spread", 0, 500, size_bytes=1000)
    followed.facts.wait(DisksSeen, lambda e: e.broker == 2 and size(e) >= before + 500 * 1000)
    followed.poll(2)
    assert followed.end("spread", 0) == watermarks(lab, "spread", 0)[1]


def test_the_client_asks_each_broker_of_its_own(lab: Lab) -> None:
    """KIP-113, "How to retrieve information ...": each broker describes its own."""
    lab.create_topic("placed", assignments=[[1], [2]])
    lab.produce("placed", 1, 7)
    with Node(at(lab, 2), Security()) as broker:
        view = broker.metadata()
        assert view.cluster_id == lab.cluster_id
        assert view.brokers.keys() == {1, 2}
        assert view.partitions["placed", 1].replicas == (2,)
        assert view.partitions["placed", 1].topic_id
        lying = {(r.topic, r.partition) for each in broker.log_dirs() for r in each.replicas}
        assert ("placed", 1) in lying
        assert ("placed", 0) not in lying
        asked = [("placed", 0), ("placed", 1)]
        other, own = broker.offsets(asked, LATEST)
        assert other.error == NOT_LEADER
        assert (own.error, own.offset, own.leader_epoch) == (0, 7, 0)
        assert broker.offsets(asked, EARLIEST)[1].offset == 0


def test_an_address_that_leads_to_another_broker(lab: Lab) -> None:
    """Every broker lists the same addresses: only the settings show which one answers."""
    wrong = Endpoint("localhost", at(lab, 1).port)
    polls = BrokerPolls(Listener((wrong,)), lambda _: None)
    of_one, of_two = (polls.ask(PollTask(id_, wrong, None, None, ())) for id_ in (1, 2))
    assert (of_one.failure, of_two.log_dirs) == (None, None)
    says = f"localhost:{wrong.port} leads to another node than 2"
    assert str(of_two.failure) == says
    unknown = Unknown(says)
    (listed,) = ask_log_dirs(ClusterView(None, {2: wrong}, {}, {}), Security(), [2])
    assert listed.log_dirs == unknown
    (two,) = ask_brokers([wrong], Security()).brokers[1:]
    two = replace(two, endpoint=str(wrong))
    assert broker_log_dirs(two, Security()) == unknown
    assert alter_log_dirs(two, Security(), {TopicPartition("spread", 0): "/d"}) == unknown


def test_what_is_no_broker_is_a_typed_error(lab: Lab) -> None:
    with pytest.raises(ConnectionFailed, match="refused"):
        Node(Endpoint("127.0.0.1", 1), Security())
    zookeeper = Endpoint.parse_list(lab.zookeeper_connect.partition("/")[0])[0]
    with pytest.raises((ConnectionFailed, RequestRefused)):
        Node(zookeeper, Security(), connect_timeout_ms=500)


def test_a_frozen_broker_delays_nobody_else(lab: Lab, followed: Followed) -> None:
    lab.create_topic("mine", assignments=[[1]])
    followed.poll(1)
    mark = len(followed.facts)
    lab.freeze("broker-2")
    try:
        lab.produce("mine", 0, 3000)
        followed.requests.ask(None, "one of them is frozen")
        gone = followed.facts.wait(DisksUnreachable, lambda each: each.broker == 2, after=mark)
        found = followed.facts.all()[mark:]
        other = next(each for each in found if isinstance(each, DisksSeen) and each.broker == 1)
        assert found.index(other) < found.index(gone)
        assert "timed out" in gone.why
        assert [each.readable for each in gone.log_dirs] == [True, True]
        status = followed.poller.status()
        assert status.error is None
        assert "broker 2: " in str(status.waiting)
    finally:
        lab.thaw("broker-2")
        lab.wait_in_sync()
    followed.facts.wait(DisksSeen, lambda each: each.broker == 2, after=mark)


def test_a_failed_directory_cuts_off_what_lay_in_it(
    lab: Lab, followed: Followed, tmp_path: Path
) -> None:
    """KIP-113, "Test Plan": a bad log directory does not affect the good ones."""
    path = str(lab.directory(2, 1))
    lay = folders(Path(path))
    lab.produce("spread", 1, 20)
    ends = {each: watermarks(lab, *partition_of(each))[1] for each in lay}
    mark = followed.poll(2)
    lab.fail_directory(2, 1)
    try:
        assert wait_directory_noticed(lab, 2, 1)
        followed.poll(2)
        seen = followed.facts.wait(
            DisksSeen,
            lambda each: each.broker == 2 and by_path(each)[path].error == 56,
            after=mark,
        )
        assert by_path(seen)[path].readable is False
        assert seen.failure_timeout_ms == FAILURE_TIMEOUT_MS
        (cut,) = followed.facts.of(ReplicasCutOff, after=mark)
        assert (cut.broker, cut.path) == (2, path)
        assert {f"{each.topic}-{each.partition}": each.end_offset for each in cut.replicas} == ends
        assert {each.replicas for each in cut.replicas if each.topic == "spread"} == {2}
        assert at_first_look(lab, tmp_path / "late") == {(2, path): lay}
        snapshot = followed.content()
        assert (snapshot[0].whole, len(snapshot[0].paths)) == ((1,), 3)
        assert lying(snapshot) == in_folders(lab, path)
    finally:
        lab.heal_directory(2, 1)
    lab.stop(2)
    followed.facts.wait(ReplicasBack, lambda each: each.path == path, after=mark)
    lab.start(2)
    lab.wait_in_sync()
    followed.poll(2)
    assert by_path(followed.last_seen(2))[path].error == 0
    assert len(followed.facts.of(ReplicasCutOff, after=mark)) == 1
    assert len(followed.facts.of(ReplicasBack, after=mark)) == 1
    assert not followed.facts.of(OffsetsFell)


def at_first_look(lab: Lab, state: Path) -> dict[tuple[int, str], set[str]]:
    """Return the replicas that a poller without stored facts reports as cut off."""
    late = Followed(lab, state)
    with late.poller:
        late.poll()
        found = late.facts.of(ReplicasCutOff)
    late.requests.close()
    late.memory.close()
    return {
        (each.broker, each.path): {f"{r.topic}-{r.partition}" for r in each.replicas}
        for each in found
    }


def test_a_broker_that_comes_back_with_other_folders(lab: Lab, followed: Followed) -> None:
    """It is stopped, loses a replica and gets others; then it is killed, and loses these.

    Meanwhile the content of ZooKeeper is what the other broker reports.
    """
    lab.create_topic("single", assignments=[[2], [2]])
    lab.produce("single", 0, 120)
    lab.produce("single", 1, 30)
    followed.poll(2)
    path = lab.directory(2, 1)
    served = path / "ghost-0"
    done_with = [path / f"ghost-{n}.{n:032x}-{why}" for n, why in ((1, "stray"), (2, "delete"))]
    model = path / min(each for each in folders(path) if each.startswith("spread"))
    try:
        with comparing(lab.zookeeper_connect) as compared:
            seen = _content_of_both(lab, compared)
            lab.stop(2)
            shutil.rmtree(folder_of(lab, 2, "single-0"))
            for each in (served, *done_with):
                shutil.copytree(model, each)
            _content_of_one(lab, compared, seen)
        lab.start(2)
        lab.wait_in_sync()
        assert all(each.is_dir() for each in done_with)
        _folders_that_kafka_has_done_with_are_in_no_snapshot(lab, followed)
        _a_wiped_replica_without_a_copy_is_a_fall_of_its_offsets(followed)
        mark = len(followed.facts)
        lab.kill("broker-2")
        gone = followed.facts.wait(DisksUnreachable, lambda each: each.broker == 2, after=mark)
        assert {path: each.readable for path, each in by_path(gone).items()} == dict.fromkeys(
            log_dirs(lab, 2), True
        )
    finally:
        lab.kill("broker-2")
        for each in (served, *done_with):
            shutil.rmtree(each, ignore_errors=True)
        lab.start(2)
    _a_killed_broker_is_unreachable_once_and_comes_back(followed, mark)
    lab.wait_in_sync()


def _a_wiped_replica_without_a_copy_is_a_fall_of_its_offsets(followed: Followed) -> None:
    followed.poll(2)
    fell = followed.facts.wait(OffsetsFell, lambda each: each.topic == "single")
    assert (fell.partition, fell.broker) == (0, 2)
    assert (fell.was_end, fell.now_start, fell.now_end) == (120, 0, 0)
    assert fell.was_seen_ms <= fell.seen_ms
    followed.poll(2)
    assert followed.facts.of(OffsetsFell) == [fell]
    assert followed.end("single", 1) == 30


def _folders_that_kafka_has_done_with_are_in_no_snapshot(lab: Lab, followed: Followed) -> None:
    """A log of an unknown topic is served like any other; `-stray` and `-delete` never are.

    KIP-113, "Complete replica data movement".
    """
    snapshot = followed.content()
    assert lying(snapshot) == in_folders(lab)
    ghosts = [t for each in snapshot for t in each.topics if t.name == "ghost"]
    assert [(each.topic_id, len(each.replicas)) for each in ghosts] == [(bytes(16), 1)]
    assert not [each for each in lying(snapshot) if "ghost" in each[2] and each[2] != "ghost-0"]


def _a_killed_broker_is_unreachable_once_and_comes_back(followed: Followed, mark: int) -> None:
    followed.poll(2)
    followed.facts.wait(DisksSeen, lambda each: each.broker == 2, after=mark)
    found = followed.facts.of(DisksUnreachable, after=mark)
    assert len({each.why for each in found}) == len(found)
    assert not followed.facts.of(ReplicasCutOff)
    assert not followed.facts.of(OffsetsFell, after=mark)


def _content_of_both(lab: Lab, compared: Compared) -> dict[str, ZkTopic]:
    seen, facts = until_alike(lab, compared)
    assert {"spread", "alone", "dotted.name_x"} <= set(seen)
    of_shards, read = parts(facts)
    assert read.brokers == (1, 2)
    assert not any(each.unreadable for each in of_shards)
    assert {("topics", name) for name in seen} == set(configs_of(facts))
    return seen


def _content_of_one(lab: Lab, compared: Compared, before: dict[str, ZkTopic]) -> None:
    said, facts = until_alike(lab, compared, before)
    assert parts(facts)[1].brokers == (1,)
    assert {each.leader for topic in said.values() for each in topic.partitions} == {1, -1}


def create_again(lab: Lab) -> None:
    """Create it as soon as its namesake is gone from ZooKeeper; METADATA forgets that earlier."""

    def created() -> bool:
        try:
            lab.create_topic("again", assignments=[[1], [2]])
        except RequestRefusedError as error:
            if "marked for deletion" not in str(error):
                raise
            return False
        return True

    until(created)


def test_a_topic_created_again_lost_nothing(lab: Lab, followed: Followed) -> None:
    for count in (90, 40, 40):
        create_again(lab)
        lab.produce("again", 0, count)
        lab.produce("again", 1, count)
        followed.poll()
        assert followed.end("again", 0) == count
        lab.delete_topic("again")
    followed.poll()
    assert not followed.facts.of(OffsetsFell)
    lying = [path for broker in (1, 2) for path in log_dirs(lab, broker).values()]
    until(lambda: not any(each.startswith("again") for path in lying for each in folders(path)))


ASK = """
import sys
from pathlib import Path
from streams.log_dirs.poll_requests import PollRequests
with PollRequests(Path(sys.argv[1])) as requests:
    ticket = requests.ask(None, "from another process")
    sys.exit(0 if requests.wait_answered(ticket, float(sys.argv[2])) else 3)
"""


def test_another_process_asks_and_is_answered(followed: Followed) -> None:
    asked = [sys.executable, "-c", ASK, str(followed.requests.path), str(PATIENCE_S)]
    assert subprocess.run(asked, check=False, timeout=2 * PATIENCE_S).returncode == 0


def described(lab: Lab) -> dict[str, ZkTopic]:
    """Return every topic from the brokers' metadata; a broker that is down is not asked again."""
    admin = AdminClient({"bootstrap.servers": lab.broker_bootstrap, "log_level": 0})
    names = list(admin.list_topics(timeout=PATIENCE_S).topics)
    asked = admin.describe_topics(TopicCollection(names), request_timeout=PATIENCE_S)
    return {name: _topic(one.result()) for name, one in asked.items()}


def _topic(said: TopicDescription) -> ZkTopic:
    partitions = (
        ZkPartition(
            partition=each.id,
            replicas=tuple(one.id for one in each.replicas),
            leader=-1 if each.leader is None else each.leader.id,
            isr=tuple(one.id for one in each.isr),
        )
        for each in said.partitions
    )
    id_ = from_text(str(said.topic_id))
    return ZkTopic(id_, said.name, tuple(sorted(partitions)))


def until_alike(
    lab: Lab, compared: Compared, before: dict[str, ZkTopic] | None = None
) -> tuple[dict[str, ZkTopic], tuple[ContentFact, ...]]:
    """Read until the brokers, which are updated shortly after ZooKeeper, report the same topics."""
    deadline = time.monotonic() + 180
    facts = compared.until_reported()
    while (said := described(lab)) != topics_of(facts) or said == before:
        assert time.monotonic() < deadline, (said, topics_of(facts))
        all_touched(compared)
        facts = compared.until_reported(len(compared.reported()) + 1)
    return said, facts


def test_what_kafka_does_to_topics_is_told_as_it_does_it(lab: Lab) -> None:
    """In ZooKeeper mode, without another source: create, extend, move, configure, delete."""

    def until(what: str) -> ZkTopicChanged:
        def found() -> ZkTopicChanged | None:
            return next((each for each in of_topic() if each.what == what), None)

        watched.until(lambda: found() is not None)
        each = found()
        assert each is not None
        return each

    def of_topic() -> list[ZkTopicChanged]:
        found = (each for each in watched.appended() if isinstance(each, ZkTopicChanged))
        return [each for each in found if each.topic == "young"]

    with watching(lab.zookeeper_connect) as watched:
        watched.until_seen()
        began_ms = wall_ms()
        lab.create_topic("young", 2, 1)
        appeared = until("appeared")
        assert appeared.at_ms is not None
        assert began_ms <= appeared.at_ms <= appeared.seen_ms
        add_partitions(lab, "young", 3)
        extended = until("reassigned")
        assert (extended.was, extended.now, extended.moved) == (2, 3, 0)
        before = topic_of(data(watched.of(f"{TOPICS}/young")[-1])).replicas
        reassign(lab, {("young", 0): [3 - before[0][0]]})
        watched.until(lambda: any(each.moved for each in of_topic()))
        moved = next(each for each in of_topic() if each.moved)
        assert moved.named[0][:2] == (0, before[0])
        lab.delete_topic("young")
        assert until("vanished").topic_id == appeared.topic_id
        assert sum(each.what in {"appeared", "vanished"} for each in of_topic()) == 2
