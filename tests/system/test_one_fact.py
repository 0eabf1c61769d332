"""The way of one fact, from a reply of the controller to the bar, crosses the listed modules.

Every step runs in one process with its real functions: a follower, the data source, the operator,
the sink, the store, the assessor and the picture. Of Spark and of the connection there is only what
they pass on.
"""

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from io import StringIO
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, Final
from uuid import UUID

import pytest
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i64
from pyspark.sql import Row

from orchestrator.config.load import load_config
from orchestrator.output.rich_console import console
from orchestrator.run.assessed import Assessor
from orchestrator.run.reader import STORE_FILE, Reader
from orchestrator.views.terminal.table import Picture
from streams.kafka import messages
from streams.kafka.messages import ClusterReply, FetchReply, Leader
from streams.spark.data_source import JobReader
from streams.spark.processor import ReplicaTracker
from streams.spark.sink import StoreSink
from streams.state.store import Store
from streams.wire.schema import (
    MetadataRecord,
    PartitionChangeRecordV1,
    PartitionRecordV0,
    RegisterBrokerRecordV3,
    TopicRecordV0,
    ZkMigrationStateRecordV0,
)
from tests.support.wire_writing import write_batch, write_leader_change, write_value

_ROOT: Final = Path(__file__).parents[2]
_MODULES_MAX: Final = 25
_OFF_THE_WAY: Final = {
    # the connection, offsets and positions, which log it is
    "streams/kafka/messages.py",
    "streams/metadata/continuity.py",
    "streams/metadata/index.py",
    "streams/metadata/live_feed.py",
    "streams/metadata/log_files.py",
    "streams/metadata/offsets.py",
    "streams/metadata/plan.py",
    "streams/metadata/rounds.py",
    "streams/metadata/spool_info.py",
    "streams/net/endpoint.py",
    "streams/process/clocks.py",
    "streams/spark/data_source.py",
    # whether the values can be decoded, before a batch begins
    "streams/wire/project.py",
    "streams/wire/records.py",
    "streams/spark/feeds.py",
    "streams/spark/settings.py",
    "migration/metadata/transactions.py",
    "migration/shard/placement.py",
    # files and processes
    "streams/process/background.py",
    "streams/process/bell.py",
    "streams/process/garbage.py",
    "streams/process/pipes.py",
    "streams/state/claim.py",
    "orchestrator/config/state_dir.py",
    "streams/state/files.py",
    "streams/state/source_status.py",
    "streams/state/sqlite.py",
    # arrays, and where a field is in the bytes
    "migration/shard/lists.py",
    "migration/shard/partition_table.py",
    "streams/wire/shapes.py",
    # ids, times and texts
    "migration/image/known_ids.py",
    "migration/metadata/directory_ids.py",
    "migration/metadata/partitions.py",
    "migration/metadata/event_kinds.py",
    "migration/metadata/events.py",
    "migration/values",
    "orchestrator/output",
    "streams/wire/control.py",
    "streams/wire/structure.py",
    "streams/wire/values.py",
    # the other sources, and the phase
    "migration/comparison/result.py",
    "migration/image/observe.py",
    "migration/image/phases.py",
    "migration/observed",
    "orchestrator/run/execution_status.py",
    # branches: other conclusions from the same image, and the rest of the screen
    "migration/assessment",
    "migration/shard/elections.py",
    "orchestrator/views/terminal/blocks.py",
    "orchestrator/views/terminal/head.py",
    "orchestrator/views/terminal/waiting.py",
    "streams/spark/transition_files.py",
}
"""Files and packages that run, and do not hand the record or its effect on to the bar."""

_BROKER: Final = BrokerId(2)
_TOPIC: Final = UUID(int=(7 << 64) + 5)
_DIRECTORY: Final = UUID(int=(9 << 64) + 9)
_NIGHT: Final[list[MetadataRecord]] = [
    ZkMigrationStateRecordV0(zk_migration_state=i8(1)),
    TopicRecordV0(name=TopicName("orders"), topic_id=_TOPIC),
    PartitionRecordV0(
        partition_id=i32(3),
        topic_id=_TOPIC,
        replicas=(_BROKER,),
        isr=(_BROKER,),
        removing_replicas=(),
        adding_replicas=(),
        leader=_BROKER,
        leader_epoch=i32(0),
        partition_epoch=i32(0),
    ),
    RegisterBrokerRecordV3(
        broker_id=_BROKER,
        is_migrating_zk_broker=False,
        incarnation_id=UUID(int=77),
        broker_epoch=i64(4),
        end_points=(),
        features=(),
        rack=None,
        fenced=True,
        in_controlled_shutdown=False,
        log_dirs=(_DIRECTORY,),
    ),
]
"""A broker that is held for its only replica, in the order of the offsets from 1."""
_CHANGE: Final = PartitionChangeRecordV1(
    partition_id=i32(3), topic_id=_TOPIC, directories=(_DIRECTORY,)
)


class Quorum:
    """A controller's log; its `connection` replaces `streams.kafka.connection`."""

    def __init__(self) -> None:
        self.log = write_leader_change(0, 1, 1_000, 3000)
        self.end = 1

    def batch(self, *records: MetadataRecord) -> bytes:
        values = [write_value(each) for each in records]
        return write_batch(self.end, 1, 1_000 * (self.end + 1), values)

    def append(self, batch: bytes, records: int) -> None:
        self.log += batch
        self.end += records

    def connection(self, *_: object, **__: object) -> SimpleNamespace:
        closed = threading.Event()

        def ask(request: Any, **_: object) -> ClusterReply | FetchReply:
            if request.__api_key__ == messages.DESCRIBE_CLUSTER:
                return ClusterReply(cluster_id="a-cluster")
            is_idle = request.topics[0].partitions[0].fetch_offset >= self.end
            if is_idle:
                closed.wait(0.02)  # as a controller that has no new record
            return FetchReply(
                leader=Leader(1, 3000),
                high_watermark=self.end,
                records=b"" if is_idle else self.log,
            )

        return SimpleNamespace(
            version=lambda api_key: messages.APIS[api_key].last,
            ask=ask,
            interrupt=closed.set,
            close=closed.set,
        )


class State:
    """The state store of one shard."""

    def __init__(self) -> None:
        self._value: tuple[bytes] | None = None

    def getValueState(self, *_: object) -> "State":  # noqa: N802  # Spark's name
        return self

    def get(self) -> tuple[bytes] | None:
        return self._value

    def update(self, value: tuple[bytes]) -> None:
        self._value = value


class Pipeline:
    """The way, step by step, for one cluster."""

    def __init__(self, folder: Path, held: ExitStack) -> None:
        file = folder / "kraftgate.yaml"
        file.write_text(
            "cluster: {name: prod}\ncontrollers: {bootstrap: 'c1:9093'}\nstate_dir: state\n"
        )
        config = load_config(file)
        home = config.state_dir / "clusters" / "prod"
        home.mkdir(parents=True, mode=0o700)
        options = {
            "cluster": "prod",
            "path": str(home / "spool"),
            "state": str(home),
            "controllers": '{"bootstrap": "c1:9093", "cluster_id": null, "security": {}}',
        }
        sources = json.dumps([["kraft_metadata", options]])
        self._source = JobReader({"sources": sources, "state": str(home), "waits": "true"})
        held.callback(self._source.stop)
        self._at = self._source.initialOffset()
        self._transitions = str(folder / "transitions")
        self._trackers: dict[int, ReplicaTracker] = {}
        store = held.enter_context(closing(Store.open(config.state_dir / STORE_FILE)))
        self._sink = StoreSink(store, self._now_ms)
        self._batches = 0
        self._assessor = Assessor(config, Reader(config, newest=50))

    def until(self, offset: int) -> str:
        """Process the log up to an offset in one batch; return what the terminal shows."""
        deadline = time.monotonic() + 60
        while True:
            end = self._source.latestOffset(self._at, _no_limit())
            if end["prod/kraft_metadata"]["offset"] >= offset:
                break
            assert time.monotonic() < deadline
        by_shard: dict[int, list[Row]] = {}
        for part in self._source.partitions(self._at, end):
            for _, shard, ordinal, chunk in self._source.read(part):
                by_shard.setdefault(shard, []).append(Row(ordinal=ordinal, chunk=chunk))
        out = [each for shard, rows in by_shard.items() for each in self._tracked(shard, rows)]
        frame: Any = SimpleNamespace(collect=lambda: out)
        self._sink(frame, self._batches)
        self._batches += 1
        self._at = end
        one = self._assessor.tick(self._now_ms()).cluster("prod")
        drawn = StringIO()
        console(file=drawn, width=100).print(Picture(one, 100).draw())
        return drawn.getvalue()

    def _tracked(self, shard: int, rows: list[Row]) -> Iterator[Row]:
        if shard not in self._trackers:
            handle: Any = State()
            self._trackers[shard] = ReplicaTracker(self._transitions)
            self._trackers[shard].init(handle)
        return self._trackers[shard].handleInputRows(("prod", shard), iter(rows), None)

    @staticmethod
    def _now_ms() -> int:
        return time.time_ns() // 1_000_000


def _no_limit() -> Any:
    return None


@contextmanager
def _modules_that_run() -> Iterator[set[str]]:
    """Collect the product's files whose functions are called, by every thread that begins here."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>":
            found.add(code.co_filename)

    set_profile: Callable[[Any], None] = threading.setprofile
    set_profile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        set_profile(None)


def _listed() -> list[str]:
    page = (_ROOT / ".github" / "ARCHITECTURE.md").read_text("utf-8")
    way = page.partition("## The way of one fact")[2].partition("\n\nThese are")[0]
    return re.findall(r"`(\w+/[\w/]+\.py)`", way)


def test_the_way_of_one_fact_is_as_short_as_it_is_said_to_be() -> None:
    listed = _listed()
    assert len(set(listed)) == len(listed) <= _MODULES_MAX
    page = (_ROOT / ".github" / "ARCHITECTURE.md").read_text("utf-8")
    assert f"These are the {len(listed)} modules" in page


def test_a_fact_crosses_the_listed_modules_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quorum = Quorum()
    quorum.append(quorum.batch(*_NIGHT), len(_NIGHT))
    monkeypatch.setattr("streams.metadata.follower.Connection", quorum.connection)
    for name in ("read_fetch", "read_cluster"):
        monkeypatch.setattr(messages, name, lambda reply: reply)
    with _modules_that_run() as found, ExitStack() as held:
        pipeline = Pipeline(tmp_path, held)
        assert "M" * 10 in pipeline.until(quorum.end)
        change = quorum.batch(_CHANGE)
        found.clear()
        quorum.append(change, 1)
        assert "A" * 10 in pipeline.until(quorum.end)
        files = [Path(each) for each in found.copy()]
    inside = [each.relative_to(_ROOT) for each in files if each.is_relative_to(_ROOT)]
    ran = {
        str(each) for each in inside if each.parts[0] in {"orchestrator", "streams", "migration"}
    }
    listed = set(_listed())
    assert listed <= ran
    others = {each for each in ran - listed if not _is_off_the_way(Path(each))}
    assert not others, "add it to the table, or say in _OFF_THE_WAY why it is not on the way"


def _is_off_the_way(file: Path) -> bool:
    return any(str(each) in _OFF_THE_WAY for each in (file, *file.parents))
