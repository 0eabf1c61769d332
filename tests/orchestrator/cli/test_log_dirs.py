"""`kraftgate log-dirs`: its rows, formats, filters and errors (KIP-113, KIP-858)."""

import io
import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from migration.comparison.result import Compared, Identity
from migration.image.cluster import ClusterImage, summarize
from migration.metadata.directory_ids import to_text
from migration.observed.facts import LogDirSeen
from migration.observed.log_dirs import BrokerDisks, DisksImage
from migration.observed.source_status import SourceStatus
from orchestrator.api.log_dirs import log_dirs_row
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from orchestrator.views.terminal.blocks import SHOWN_MAX
from orchestrator.views.terminal.log_dirs import picture
from streams.kafka.broker_values import (
    ClusterView,
    LogDirAnswer,
    PartitionView,
    ReplicaPlace,
)
from streams.kafka.errors import ConnectionFailed, NotAuthorized
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.probe.log_dirs import BrokerLogDirs
from streams.state.store import BatchResult, Store
from tests.support.fake_store import write_status

ID0, ID1, ID2 = (to_text(bytes([n]) * 16) for n in (1, 2, 3))
GIB = 2**30
CLUSTER = "cluster-of-the-test"


def place(
    topic: str, partition: int, *, size: int = 70, lag: int = 0, future: bool = False
) -> ReplicaPlace:
    return ReplicaPlace(topic, partition, size, lag, future)


def log_dir(path: str, *replicas: ReplicaPlace, error: int = 0) -> LogDirAnswer:
    return LogDirAnswer(path, error, 100 * GIB, 40 * GIB, replicas)


@dataclass
class Brokers:
    """The brokers that the command reaches; `answers`: of each, its directories or an error.

    Attributes:
        replicas: the brokers of t-0.
    """

    answers: dict[int, tuple[LogDirAnswer, ...] | LiveError] = field(default_factory=dict)
    replicas: tuple[int, ...] = (1, 2)
    host: str = "b"
    cluster_id: str | None = CLUSTER

    def view(self) -> ClusterView:
        part = PartitionView("t", 0, None, 1, 0, self.replicas, self.replicas)
        addresses = {id_: Endpoint(self.host, 9000 + id_) for id_ in self.answers}
        return ClusterView(self.cluster_id, addresses, {("t", 0): part}, {})

    def connect(self, endpoint: Endpoint, *_: object, **__: object) -> "Connected":
        return Connected(self, endpoint.port - 9000)


@dataclass
class Connected:
    """A connection to one of them; the bootstrap address is broker 0's."""

    brokers: Brokers
    id: int

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def metadata(self, **_: bool) -> ClusterView:
        return self.brokers.view()

    def log_dirs(self) -> tuple[LogDirAnswer, ...]:
        found = self.brokers.answers[self.id]
        if isinstance(found, LiveError):
            raise found
        return found


TWO = {
    1: (log_dir("/d0", place("t", 0)), log_dir("/d1", place("t", 0, lag=9, future=True))),
    2: (log_dir("/d0", error=56), log_dir("/d1", place("t", 0, lag=-1), place("u", 1))),
}
"""Broker 1 moves t-0 between its directories; a directory of broker 2 is offline."""


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    made = Brokers(dict(TWO))
    for module in ("streams.probe.asking", "streams.probe.brokers"):
        monkeypatch.setattr(f"{module}.Node", made.connect)
    return made


@pytest.fixture
def run(brokers: Brokers, tmp_path: Path) -> Callable[..., Result]:
    file = tmp_path / "kraftgate.yaml"
    file.write_text(f"cluster: {{name: prod}}\nbrokers: {{bootstrap: '{brokers.host}:9000'}}\n")

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["log-dirs", "--config", str(file), *arguments])

    return invoke


@pytest.mark.parametrize(("found", "named"), [(CLUSTER, CLUSTER), (None, "(not reported)")])
def test_brokers_of_another_cluster_than_the_followed_one_are_rejected(
    run: Callable[..., Result], brokers: Brokers, tmp_path: Path, found: str | None, named: str
) -> None:
    brokers.cluster_id = found
    status = SourceStatus(observed_ms=1, last_reply_ms=1, cluster_id="followed")
    write_status(tmp_path / "kraftgate-state", "prod", status)
    result = run()
    assert (result.exit_code, result.stdout) == (ExitCode.USAGE, "")
    assert f"kraftgate.yaml: the brokers belong to cluster {named}, not followed" in result.stderr


def listed(result: Result) -> dict[tuple[int, str], dict[str, Any]]:
    """The directories by broker and path."""
    return {
        (broker["id"], each["path"]): each
        for broker in json.loads(result.stdout)["brokers"]
        for each in broker["log_dirs"]
    }


def test_json_has_every_directory_and_replica(run: Callable[..., Result]) -> None:
    """KIP-113, "How to retrieve information ...": size, lag and error; an error is offline."""
    result = run("--json")
    assert result.exit_code == ExitCode.DONE, result.output
    printed = json.loads(result.stdout)
    assert list(printed) == [
        "cluster", "cluster_id", "brokers", "metadata_offset", "observed_at", "notes",
    ]  # fmt: skip
    assert (printed["cluster"], printed["cluster_id"]) == ("prod", CLUSTER)
    assert (printed["metadata_offset"], printed["observed_at"]) == (None, None)
    assert [(each["id"], each["endpoint"], each["unknown"]) for each in printed["brokers"]] == [
        (1, "b:9001", None),
        (2, "b:9002", None),
    ]
    found = listed(result)
    assert found[1, "/d1"] == {
        "path": "/d1",
        "directory": None,
        "directory_known_by": None,
        "state": "online",
        "error": 0,
        "total_bytes": 100 * GIB,
        "usable_bytes": 40 * GIB,
        "partitions": [
            {"topic": "t", "partition": 0, "bytes": 70, "offset_lag": 9, "future": True}
        ],
    }
    offline = found[2, "/d0"]
    assert (offline["state"], offline["error"], offline["partitions"]) == ("offline", 56, None)
    lags = [each["offset_lag"] for each in found[2, "/d1"]["partitions"]]
    assert lags == [None, 0], "Kafka reports an unknown lag as -1"


def test_the_table_counts_and_names_the_future_replicas_first(run: Callable[..., Result]) -> None:
    said = run().stdout
    assert "prod brokers: 2, log directories: 4, offline: 1, replicas that move" in " ".join(
        said.split()
    )
    lines = [line.split() for line in said.splitlines()]
    assert ["t-0", "1", "/d1", "future", "70", "B", "9"] in lines
    assert ["t-0", "2", "/d1", "current", "70", "B", "?"] in lines
    assert lines.index(["t-0", "1", "/d1", "future", "70", "B", "9"]) < lines.index(
        ["t-0", "1", "/d0", "current", "70", "B", "0"]
    )
    assert ["2", "/d0", "offline", "?", "?", "?", "40.0", "GiB", "100.0", "GiB"] in lines
    assert "the other ids are unknown here until `kraftgate run`" in " ".join(said.split())


def test_the_kafka_format_is_the_json_of_kafkas_tool(run: Callable[..., Result]) -> None:
    """KIP-113, "Scripts", as shipped: `error` is the exception's class, or null."""
    result = run("--format", "kafka")
    assert result.stdout.count("\n") == 1
    assert json.loads(result.stdout) == {
        "version": 1,
        "brokers": [
            {
                "broker": 1,
                "logDirs": [
                    {"logDir": "/d0", "error": None, "partitions": [_kafka("t-0", 0)]},
                    {"logDir": "/d1", "error": None, "partitions": [_kafka("t-0", 9, True)]},
                ],
            },
            {
                "broker": 2,
                "logDirs": [
                    {
                        "logDir": "/d0",
                        "error": "org.apache.kafka.common.errors.KafkaStorageException",
                        "partitions": [],
                    },
                    {
                        "logDir": "/d1",
                        "error": None,
                        "partitions": [_kafka("t-0", -1), _kafka("u-1", 0)],
                    },
                ],
            },
        ],
    }


def _kafka(partition: str, lag: int, future: bool = False) -> dict[str, object]:
    return {"partition": partition, "size": 70, "offsetLag": lag, "isFuture": future}


def test_filters_keep_the_named_brokers_and_topics(run: Callable[..., Result]) -> None:
    """KIP-113, "Scripts": --broker and --topics; a deleted topic may still be in a directory."""
    found = listed(run("--json", "--broker", "2", "--topic", "u", "--topic", "t"))
    assert found.keys() == {(2, "/d0"), (2, "/d1")}
    assert len(found[2, "/d1"]["partitions"]) == 2
    found = listed(run("--json", "--broker", "1", "--broker", "2", "--topic", "u"))
    assert {at: len(each["partitions"] or ()) for at, each in found.items()} == {
        (1, "/d0"): 0,
        (1, "/d1"): 0,
        (2, "/d0"): 0,
        (2, "/d1"): 1,
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--broker", "9"], "prod has no broker 9. Known brokers: 1, 2\n"),
        (["--topic", "nope"], "prod has no topic nope, or Kraftgate's principal may not describe"),
        (["--json", "--format", "kafka"], "pass either --json or --format"),
        (["--cluster", "other"], "has no cluster other. Configured clusters: prod"),
    ],
)
def test_what_does_not_exist_ends_with_2(
    run: Callable[..., Result], arguments: list[str], words: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == ExitCode.USAGE
    assert words in result.stderr
    assert not result.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cluster: {name: prod, id: other}\nbrokers: {bootstrap: 'b:9000'}\n", "not other"),
        ("cluster: {name: prod}\nzookeeper: {connect: 'z:2181'}\n", "no `brokers`, which log-dirs"),
    ],
)
@pytest.mark.usefixtures("brokers")
def test_a_configuration_that_does_not_fit_ends_with_2(
    tmp_path: Path, text: str, words: str
) -> None:
    (file := tmp_path / "kraftgate.yaml").write_text(text)
    result = CliRunner().invoke(main, ["log-dirs", "--config", str(file)])
    assert result.exit_code == ExitCode.USAGE
    assert words in result.stderr


@pytest.mark.parametrize("error", [ConnectionFailed("b:9002 timed out"), NotAuthorized("denied")])
def test_a_broker_that_does_not_answer_ends_with_4_after_the_others(
    brokers: Brokers, run: Callable[..., Result], error: LiveError
) -> None:
    brokers.answers[2] = error
    result = run("--json")
    assert result.exit_code == ExitCode.NO_DATA
    why = f"prod: broker 2 does not describe its log directories: {error}"
    assert why in result.stderr
    assert json.loads(result.stdout)["brokers"][1]["unknown"] == str(error)
    assert listed(result).keys() == {(1, "/d0"), (1, "/d1")}
    assert run("--broker", "1").exit_code == ExitCode.DONE
    kafka = run("--format", "kafka")
    assert kafka.exit_code == ExitCode.NO_DATA
    assert [each["broker"] for each in json.loads(kafka.stdout)["brokers"]] == [1]
    assert f"broker 2 does not describe its log directories: {error}" in run().stdout


def test_a_broker_that_is_down_is_known_by_its_replicas(
    brokers: Brokers, run: Callable[..., Result]
) -> None:
    del brokers.answers[2]
    result = run("--json")
    assert result.exit_code == ExitCode.NO_DATA
    assert "no broker lists it as alive" in json.loads(result.stdout)["brokers"][1]["unknown"]


def test_a_directory_with_another_error_is_unknown(
    brokers: Brokers, run: Callable[..., Result]
) -> None:
    """Only 56 shows that a directory is offline; unknown is never treated as online."""
    brokers.answers[2] = (log_dir("/d0", error=-1), log_dir("/d1"))
    result = run("--json")
    assert result.exit_code == ExitCode.NO_DATA
    assert "prod: broker 2 does not describe /d0: error -1" in result.stderr
    found = listed(result)[2, "/d0"]
    assert (found["state"], found["error"], found["partitions"]) == ("unknown", -1, None)
    kafka = json.loads(run("--format", "kafka").stdout)["brokers"][1]["logDirs"][0]
    assert kafka["error"] == "org.apache.kafka.common.errors.UnknownServerException"


def test_brokers_that_do_not_exist_end_with_4(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    (file := tmp_path / "kraftgate.yaml").write_text(
        f"cluster: {{name: prod}}\nbrokers: {{bootstrap: '127.0.0.1:{port}'}}\n"
    )
    result = CliRunner().invoke(main, ["log-dirs", "--config", str(file)])
    assert result.exit_code == ExitCode.NO_DATA
    assert f"prod: no broker answers: 127.0.0.1:{port} refused" in result.stderr


@pytest.mark.parametrize("command", ["log-dirs", "preflight"])
@pytest.mark.parametrize(
    ("text", "mode", "words"), [("x", 0o644, "has mode 0644"), ("", 0o600, "is empty")]
)
def test_a_secret_file_that_cannot_be_used_ends_with_2_before_a_broker_is_asked(
    tmp_path: Path, command: str, text: str, mode: int, words: str
) -> None:
    (secret := tmp_path / "secret").write_text(text)
    secret.chmod(mode)
    (file := tmp_path / "kraftgate.yaml").write_text(
        "cluster: {name: prod}\nbrokers:\n  bootstrap: 127.0.0.1:1\n  security:\n"
        f"    {{protocol: SASL_SSL, sasl_mechanism: PLAIN, username: u, password_file: {secret}}}\n"
    )
    result = CliRunner().invoke(main, [command, "--config", str(file)])
    assert result.exit_code == ExitCode.USAGE
    assert f"{file}: `brokers.security`: the secret file {secret} {words}" in result.stderr


def meta(folder: Path, broker: int, more: str = "") -> str:
    folder.mkdir(parents=True)
    text = f"version=1\nnode.id={broker}\ncluster.id={CLUSTER}\n{more}"
    (folder / "meta.properties").write_text(text)
    return str(folder)


def test_ids_on_this_host_are_those_of_meta_properties(
    brokers: Brokers, run: Callable[..., Result], tmp_path: Path
) -> None:
    """KIP-858, "Future work": only meta.properties has a path's id; in ZooKeeper mode none."""
    brokers.host = "127.0.0.1"
    own = meta(tmp_path / "own", 1, f"directory.id={ID0}\n")
    bare = meta(tmp_path / "bare", 1)
    draft = meta(tmp_path / "draft", 1, f"directory.id={ID1}\ndirectory.ids=x\n")
    other = meta(tmp_path / "other", 7, f"directory.id={ID2}\n")
    brokers.answers = {1: tuple(map(log_dir, (own, bare, draft, other)))}
    brokers.replicas = (1,)
    result = run("--json")
    ids = {path: _known(each) for (_, path), each in listed(result).items()}
    assert ids == {
        own: (ID0, "meta.properties"),
        bare: (None, "meta.properties"),
        draft: (ID1, "meta.properties"),
        other: (None, None),
    }
    draft_note, unknown_note = json.loads(result.stdout)["notes"]
    assert draft in draft_note
    assert "early draft of KIP-858" in draft_note
    assert "`kraftgate run`" in unknown_note
    lines = [line.split() for line in run().stdout.splitlines()]
    assert {line[-2] for line in lines if line[-1:] == ["meta.properties"]} == {ID0, ID1, "none"}
    assert "unknown" in {line[-1] for line in lines if line}


def _known(log_dir: dict[str, Any]) -> tuple[str | None, str | None]:
    return log_dir["directory"], log_dir["directory_known_by"]


def identity(broker: int, path: str, directory: str) -> Identity:
    return Identity(
        broker=broker, path=path, directory=directory, by="replicas", agreeing=5, others=0
    )


def seen(path: str, directory: str | None) -> LogDirSeen:
    return LogDirSeen(path, 0, None, None, 0, 0, 0, 0, directory, None)


def store(state: Path, *identities: Identity, disks: DisksImage | None = None) -> None:
    """Store the state that `kraftgate run` left, at metadata offset 41."""
    image = ClusterImage()
    summary = replace(
        summarize("prod", image),
        metadata_offset=41,
        observed_ms=0,
        places=Compared(identities=identities),
        disks=disks,
    )
    state.mkdir(parents=True)
    outcome = BatchResult(
        cluster="prod", image=image, summary=summary, brokers=(), gone=(), place={}, events=(),
        files=[],
    )  # fmt: skip
    with Store.open(state / "store.db") as opened:
        opened.commit(0, [outcome], 0)


def test_ids_on_other_hosts_are_those_of_the_stored_state(
    brokers: Brokers, run: Callable[..., Result], tmp_path: Path
) -> None:
    """KIP-858, "Replica management": assignments join path and id; a doubtful id is unknown."""
    disks = DisksImage(
        brokers={
            2: BrokerDisks(id=2, log_dirs=(seen("/d0", ID2), seen("/d1", None))),
            3: BrokerDisks(id=3, log_dirs=(seen("/d0", ID1),)),
            4: BrokerDisks(id=4, log_dirs=(seen("/d0", ID0), seen("/d1", ID0))),
        }
    )
    twice = identity(2, "/d1", ID1), identity(2, "/d9", ID1)
    store(tmp_path / "kraftgate-state", identity(1, "/d0", ID0), *twice, disks=disks)
    brokers.replicas = (1, 2, 3, 4)
    result = run("--json")
    printed = json.loads(result.stdout)
    assert (printed["metadata_offset"], printed["observed_at"]) == (41, "1970-01-01T00:00:00.000Z")
    found = listed(result)
    assert {at: _known(each) for at, each in found.items()} == {
        (1, "/d0"): (ID0, "replicas"),
        (1, "/d1"): (None, None),
        (2, "/d0"): (ID2, "meta.properties"),
        (2, "/d1"): (None, None),
        (3, "/d0"): (ID1, "meta.properties"),
        (4, "/d0"): (None, None),
        (4, "/d1"): (None, None),
    }
    assert "as of metadata offset 41" in printed["notes"][0]
    down = found[3, "/d0"]
    assert (down["state"], down["error"], down["partitions"]) == ("unknown", None, None)
    assert result.exit_code == ExitCode.NO_DATA, "brokers 3 and 4 are down"


def test_a_stored_failure_of_a_directory_that_its_broker_describes_as_online_is_a_note(
    brokers: Brokers, run: Callable[..., Result], tmp_path: Path
) -> None:
    """The answer is newer, but does not show that the directory is readable on its host."""
    bad = seen("/d1", ID1)._replace(readable=False)
    disks = {id_: BrokerDisks(id=id_, log_dirs=(seen("/d0", ID0), bad)) for id_ in (1, 3)}
    store(tmp_path / "kraftgate-state", disks=DisksImage(brokers=disks))
    del brokers.answers[2]
    result = run("--json", "--broker", "1")
    assert listed(result)[1, "/d1"]["state"] == "online"
    note = "broker 1 now describes /d1 as online, but in the stored state it is not readable on its"
    assert [each for each in json.loads(result.stdout)["notes"] if "/d" in each] == [
        f"{note} host: check it on the broker's host"
    ]


def test_an_id_that_its_file_no_longer_has_is_not_known_by_it(
    brokers: Brokers, run: Callable[..., Result], tmp_path: Path
) -> None:
    """The stored state may be older than the file."""
    brokers.host = "127.0.0.1"
    bare, other = tmp_path / "bare", meta(tmp_path / "other", 7)
    bare.mkdir()
    disks = BrokerDisks(id=1, log_dirs=(seen(str(bare), ID0), seen(other, ID1)))
    store(
        tmp_path / "kraftgate-state",
        identity(1, other, ID2),
        disks=DisksImage(brokers={1: disks}),
    )
    brokers.answers = {1: (log_dir(str(bare)), log_dir(other))}
    brokers.replicas = (1,)
    ids = {path: _known(each) for (_, path), each in listed(run("--json")).items()}
    assert ids == {str(bare): (None, None), other: (ID2, "replicas")}


def test_the_stored_state_of_another_cluster_is_rejected(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    config = tmp_path / "kraftgate.yaml"
    config.write_text(config.read_text().replace("name: prod", f"name: prod, id: {CLUSTER}"))
    assert run().exit_code == ExitCode.DONE
    state = tmp_path / "kraftgate-state"
    write_status(state, "prod", SourceStatus(observed_ms=1, cluster_id="theirs"))
    result = run()
    assert (result.exit_code, result.stdout) == (ExitCode.USAGE, "")
    assert f"the state of prod in {state} belongs to cluster theirs, not {CLUSTER}" in result.stderr


def test_a_state_that_cannot_be_read_is_a_note(run: Callable[..., Result], tmp_path: Path) -> None:
    state = tmp_path / "kraftgate-state"
    state.mkdir()
    (state / "store.db").write_bytes(b"not a store" * 1000)
    result = run("--json")
    assert result.exit_code == ExitCode.DONE
    assert json.loads(result.stdout)["notes"][0].startswith("the stored state is not used: ")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_picture_is_bounded(width: int) -> None:
    many = tuple(place("topic-with-a-name", n, size=n * GIB) for n in range(SHOWN_MAX + 3))
    answers = [BrokerLogDirs(1, None, (log_dir("/var/lib/kafka/data/d0", *many),), {})]
    console = Console(width=width, file=(sink := io.StringIO()))
    console.print(picture(log_dirs_row("prod", None, answers, None, ())))
    said = sink.getvalue()
    assert max(map(len, said.splitlines())) <= width
    assert "and 3 more: see --json" in said
