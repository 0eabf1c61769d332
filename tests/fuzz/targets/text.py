"""What ZooKeeper, exporters, Prometheus, files and people write as text."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from migration.assessment.meta_properties import META
from migration.image.cluster import ClusterImage, summarize
from migration.image.observe import observe
from migration.moves.plan_file import origin, to_file
from migration.moves.plan_file import read as read_plan
from migration.observed.facts import ZnodeSeen
from migration.observed.probed import TopicPartition
from migration.observed.znode_codec import broker_id_of, state_of, topic_of
from migration.observed.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    DELETE_TOPICS,
    MIGRATION,
    NOTIFICATIONS,
    REASSIGN_PARTITIONS,
)
from migration.values.foreign import Unreadable
from orchestrator.config.load import parse_config
from orchestrator.errors import ProblemsError
from orchestrator.process.owner import Owner
from orchestrator.run.probes.promql import _samples as promql_samples
from orchestrator.runbook.hooks_file import load_hooks
from orchestrator.runbook.load import load, parse, shipped
from streams.jmx.config import PrometheusServer
from streams.jmx.errors import JmxError
from streams.jmx.exposition import numbers_in
from streams.jmx.prometheus import answer, read_prometheus
from streams.log_dirs.local_host import read_local
from streams.metadata import log_files, spool_info
from streams.net.errors import LiveError
from streams.probe.brokers import _read_meta as read_meta
from streams.state.fact_codec import pack, unpack
from streams.state.store import pack_image, summary_json, unpack_image
from streams.zookeeper.config_digests import config_of, quotas_of
from tests.fuzz.mutations import mutate_text
from tests.fuzz.target import Target
from tests.streams.jmx.test_exposition import CONTROLLER as EXPOSITION

_BROKER = {
    "features": {},
    "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
    "endpoints": ["PLAINTEXT://b1:9092"],
    "jmx_port": -1,
    "port": 9092,
    "host": "b1",
    "version": 5,
    "timestamp": "1726000000000",
    "rack": "r1",
}
_ZNODES: Final[Mapping[str, object]] = {
    CONTROLLER: {
        "version": 2,
        "brokerid": 3000,
        "timestamp": "1726000000000",
        "kraftControllerEpoch": 4,
    },
    CONTROLLER_EPOCH: 7,
    MIGRATION: {
        "version": 0,
        "kraft_metadata_offset": 512,
        "kraft_controller_id": 3000,
        "kraft_metadata_epoch": 4,
        "kraft_controller_epoch": 4,
    },
    f"{BROKER_IDS}/1": _BROKER,
    f"{BROKER_IDS}/2147483647": {key: value for key, value in _BROKER.items() if key != "rack"},
    f"{NOTIFICATIONS}/log_dir_event_0000000004": {"version": 1, "broker": 1, "event": 1},
    f"{DELETE_TOPICS}/orders": "",
    REASSIGN_PARTITIONS: {
        "version": 1,
        "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}],
    },
    "/cluster/id": {"version": "1", "id": "AAAAAAAAAAAAAAAAAAAAAA"},
}
_SEEN_MS: Final = 1_726_000_000_000


@cache
def _znodes() -> Sequence[bytes]:
    """Path, a line's end, content."""
    return tuple(
        f"{path}\n{json.dumps(content) if content != '' else ''}".encode()
        for path, content in _ZNODES.items()
    )


def _znode(data: bytes) -> object:
    """From ZooKeeper to the journal, the image and the store, and back: nothing may be lost."""
    path, _, content = data.partition(b"\n")
    # ZooKeeper refuses surrogates in names (PathUtils.validatePath), kazoo what is no UTF-8.
    name = path.decode("utf-8", "replace")
    fact = ZnodeSeen(_SEEN_MS, name, content, 1, 2, _SEEN_MS, 0)
    packed = pack(fact)
    assert unpack(packed) == fact
    image, events = observe(ClusterImage(), [fact, fact])
    for event in events:
        json.dumps(dict(event.fields)).encode()
    assert unpack_image(pack_image(image)) == image
    return summary_json(summarize("cluster", image))


def _payloads() -> Sequence[bytes]:
    found = (
        {"version": 3, "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": {"0": [1, 2], "1": [2]}},
        {"version": 1, "leader": 1, "leader_epoch": 2, "isr": [1, 2], "controller_epoch": 3},
        {"version": 1, "config": {"retention.ms": "604800000", "cleanup.policy": "compact"}},
        {"version": 1, "config": {"producer_byte_rate": "1048576.0", "SCRAM-SHA-256": "salt=eA=="}},
        12,
    )
    return tuple(json.dumps(each).encode() for each in found)


def _payload(data: bytes) -> object:
    readers: tuple[Callable[[bytes], object], ...] = (
        topic_of,
        state_of,
        config_of,
        quotas_of,
        lambda each: broker_id_of(each.decode("utf-8", "replace")),
    )
    found = []
    for read in readers:
        try:
            found.append(read(data))
        except Unreadable as error:
            found.append(str(error))
    return found


def _owner(data: bytes) -> object:
    owner = Owner.from_json(data.decode("utf-8", "replace"))
    return None if owner is None else (owner.words(), owner.is_gone())


def _owners() -> Sequence[bytes]:
    return (Owner(host="h1", pid=77, user="kafka", since_ms=_SEEN_MS).to_json().encode(),)


def _exposition(data: bytes) -> object:
    return numbers_in(data.split(b"\n"), "http://b1:7071")


_NOW_S: Final = 1_790_000_000.5


def _prometheus_answers() -> Sequence[bytes]:
    labels = {"__name__": "kafka_controller_KafkaController_Value", "name": "ZkMigrationState"}
    series = {"metric": {**labels, "node": "1"}, "values": [[_NOW_S - 20, "1"], [_NOW_S - 5, "2"]]}
    sample = {"metric": {**labels, "node": "2"}, "value": [_NOW_S, "3"]}
    results = (
        {"resultType": "scalar", "result": [_NOW_S, str(_NOW_S)]},
        {"resultType": "matrix", "result": [series, series]},
        {"resultType": "vector", "result": [sample]},
    )
    good = [{"status": "success", "data": each} for each in results]
    bad = {"status": "error", "errorType": "bad_data", "error": "no such label"}
    return tuple(json.dumps(each).encode() for each in (*good, bad))


class _Http:
    """Answers every query with the same body; the time with a good one, if that is wanted."""

    def __init__(self, body: bytes, good_time: bytes | None = None) -> None:
        self._body, self._good_time = body, good_time

    def body(self, _url: str, fields: Mapping[str, str]) -> bytes:
        if self._good_time is not None and fields["query"] == "time()":
            return self._good_time
        return self._body


def _prometheus(data: bytes) -> object:
    server = PrometheusServer(url="http://p:9090", node_label="node")
    try:
        return read_prometheus(server, _Http(data, _prometheus_answers()[0]))  # type: ignore[arg-type]
    except JmxError:
        return read_prometheus(server, _Http(data))  # type: ignore[arg-type]


def _promql(data: bytes) -> object:
    found = answer("http://p:9090", _Http(data), {"query": "up"})  # type: ignore[arg-type]
    return promql_samples(found)


def _yaml_of(folder: str) -> Sequence[bytes]:
    return tuple(
        path.read_bytes() for path in sorted((Path(__file__).parents[3] / folder).glob("*.yaml"))
    )


def _text(data: bytes) -> str:
    """What a file's bytes are after `read_text`, which refuses others by name."""
    return data.decode("utf-8", "replace")


def _runbook(data: bytes) -> object:
    return parse(_text(data), Path("runbook.yaml"))


_CONFIGS: Final = (
    """\
cluster: {name: prod, id: AAAAAAAAAAAAAAAAAAAAAA}
zookeeper:
  connect: zk1:2181,zk2:2181/kafka
controllers:
  bootstrap: c1:9093,c2:9093
brokers:
  bootstrap: b1:9092
state_dir: state
metrics: {listen: 127.0.0.1:9464}
console: {listen: 127.0.0.1:8080}
stall: {after: 5m}
""",
    """\
clusters:
  - name: a
    controllers: {bootstrap: "c1:9093"}
  - &b
    name: b
    controllers: {bootstrap: "[::1]:9093"}
    jmx: {exporters: {1: "http://b1:7071"}}
state_dir: ./x
""",
)


def _config(data: bytes) -> object:
    return parse_config(_text(data), Path("kraftgate.yaml"))


@cache
def _temporary() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="kraftgate-fuzz-")


def _folder() -> Path:
    """One folder for the whole process, which goes with it."""
    return Path(_temporary().name)


def _hooks(data: bytes) -> object:
    file = _folder() / "hooks.yaml"
    file.write_bytes(data)
    return load_hooks(file, load(min(shipped())).runbook)


_META: Final = (
    b"#Sun Nov 22 12:00:00 UTC 2026\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=1\n",
    b"cluster.id=AAAAAAAAAAAAAAAAAAAAAA\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\nnode.id=1\n",
    b"broker.id=2147483647\nversion=0\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\n",
)


def _meta(data: bytes) -> object:
    (_folder() / META).write_bytes(data)
    return read_local(_folder(), 1, "AAAAAAAAAAAAAAAAAAAAAA"), read_meta(str(_folder()))


def _about(data: bytes) -> object:
    (_folder() / log_files.INFO_NAME).write_bytes(data)
    found = spool_info.load(_folder())
    return [each and each.timestamp_ms for each in found.heads]


def _abouts() -> Sequence[bytes]:
    head = {"offset": 1, "header": "00" * 61}
    told = {"version": 2, "cluster_id": "AAAAAAAAAAAAAAAAAAAAAA", "logs": [head, None]}
    return (json.dumps(told).encode(),)


def _plans() -> Sequence[bytes]:
    moved = to_file(
        {
            TopicPartition("orders", 0): [(1, "/data/d0"), (2, "any")],
            TopicPartition("orders", 1): [(2, "/data/d1")],
        }
    )
    rows = [{"id": 1, "throttle": 1000}, {"id": 2}]
    mine = {"kraftgate": {"cluster_id": "c", "brokers": rows}}
    return tuple(
        json.dumps(each, indent=indent).encode()
        for each, indent in ((moved, None), (moved | mine, 2))
    )


def _plan(data: bytes) -> object:
    """A file without problems is written again as it was read."""
    wanted, problems = read_plan(data)
    assert bool(wanted) or problems
    if problems:
        return problems
    pairs = {one.at: list(zip(one.replicas, one.log_dirs, strict=True)) for one in wanted}
    again, none = read_plan(json.dumps(to_file(pairs)).encode())
    assert not none
    assert sorted(one[1:] for one in again) == sorted(one[1:] for one in wanted)
    return wanted, origin(data)


def _target(
    name: str,
    seeds: Callable[[], Sequence[bytes]],
    parse_: Callable[[bytes], object],
    *errors: type[Exception],
    cost: int = 2,
) -> Target:
    return Target(
        name=name, seeds=seeds, parse=parse_, errors=errors, mutate=mutate_text, cost=cost
    )


TARGETS = (
    _target("znode", _znodes, _znode, cost=10),
    _target("znode-payload", _payloads, _payload),
    _target("move-plan", _plans, _plan, Unreadable),
    _target("lock-owner", _owners, _owner),
    _target("jmx-exposition", lambda: (EXPOSITION,), _exposition, JmxError, cost=5),
    _target("prometheus", _prometheus_answers, _prometheus, JmxError),
    _target("promql", _prometheus_answers, _promql, JmxError, ValidationError),
    _target("runbook-yaml", partial(_yaml_of, "runbooks"), _runbook, ProblemsError, cost=1000),
    _target("hooks-yaml", partial(_yaml_of, "runbooks/hooks"), _hooks, ProblemsError, cost=300),
    _target(
        "config-yaml", lambda: tuple(map(str.encode, _CONFIGS)), _config, ProblemsError, cost=100
    ),
    _target("meta-properties", lambda: _META, _meta, cost=5),
    _target("spool-json", _abouts, _about, LiveError, cost=5),
)
