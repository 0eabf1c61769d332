"""`kraftgate what-if`: its output and exit codes."""

import io
import json
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from migration.image.cluster import ClusterImage, summarize
from migration.metadata.directory_ids import MIGRATING
from migration.observed.probed import Broker, TopicPartition, Unknown
from migration.observed.source_status import SourceStatus
from migration.observed.znode_codec import ZkController
from migration.shard.transitions import ABSENT, MIGRATING_STATE, place
from migration.what_if import Situation, if_broker_fails, if_directory_fails
from orchestrator.cli import what_if as command
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from orchestrator.run import caught_up
from orchestrator.views.terminal.blocks import SHOWN_MAX
from orchestrator.views.terminal.what_if import picture
from streams.probe.brokers import BrokerAnswers
from streams.spark.transition_files import write_transitions
from streams.state.store import BatchResult, Store, TransitionFile
from streams.zookeeper.probe import BrokerAddresses
from tests.migration.what_if.situations import D0, WHY, T, broker, part, situation
from tests.support.fake_store import write_status

ZOOKEEPER = {"zookeeper.connect": "zk1:2181", "log.dirs": "/d0,/d1"}
ENABLED = {**ZOOKEEPER, "zookeeper.metadata.migration.enable": "true"}
KRAFT = {"process.roles": "broker", "log.dirs": "/m,/d0,/d1", "metadata.log.dir": "/m"}
SAFE, ALONE = situation(part((1, 2))), situation(part((1,)))
MANY = situation(*(part((1,), at=TopicPartition("t", n)) for n in range(SHOWN_MAX + 3)))

Gives = Callable[..., None]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kraftgate.yaml"
    path.write_text("cluster: {name: prod}\nbrokers: {bootstrap: 'b1:9092'}\n")
    return path


@pytest.fixture
def gives(monkeypatch: pytest.MonkeyPatch) -> Gives:
    """Replace the cluster with a situation's brokers."""

    def put(now: Situation, settings: Any = ZOOKEEPER, brokers: Any = None) -> None:
        known: dict[int, Broker] = dict(now.brokers) if brokers is None else brokers
        answers = BrokerAnswers(topics=now.topics, brokers=tuple(known.values()))
        monkeypatch.setattr(command, "ask_brokers", lambda *_: answers)
        monkeypatch.setattr(command, "broker_settings", lambda *_: settings)

    return put


def invoke(file: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["what-if", "--config", str(file), *arguments])


def commit(state: Path, written: Path, offset: int) -> None:
    """Store one batch that ends at the offset."""
    image = ClusterImage()
    summary = replace(summarize("prod", image), metadata_offset=offset)
    named = TransitionFile(path=str(written.relative_to(state / "transitions")), rows=1)
    outcome = BatchResult(
        cluster="prod", image=image, summary=summary, brokers=(), gone=(), place={}, events=(),
        files=[named],
    )  # fmt: skip
    with Store.open(state / "store.db") as store:
        store.commit(0, [outcome], 0)


def test_nothing_serious_ends_with_0(file: Path, gives: Gives) -> None:
    gives(SAFE)
    result = invoke(file, "--broker", "1")
    assert result.exit_code == ExitCode.DONE, result.output
    said = " ".join(result.stdout.split())
    assert "prod if broker 1 (zookeeper mode) failed now: no harm is to be expected" in said
    assert "1 leader_moves" in said
    assert "/d0: 1 leader_moves" in said
    assert "/d1: concerns no partition" in said


@pytest.mark.parametrize(
    ("settings", "reassignments", "why"),
    [
        (ZOOKEEPER, WHY, "has no `zookeeper`"),
        (KRAFT, (), "has no `controllers.bootstrap`"),
        (ENABLED, (), "has no `controllers.bootstrap`"),
    ],
)
def test_without_a_controller_that_leads_no_leader_moves(
    file: Path, gives: Gives, settings: Any, reassignments: Any, why: str
) -> None:
    """In KRaft a controller that does not lead answers for the reassignments, too."""
    answering = replace(broker(2, d0=[T]), endpoint="127.0.0.1:1", settings=settings)
    gives(situation(part((1, 2)), brokers={2: answering}, reassignments=reassignments))
    result = invoke(file, "--broker", "1", "--json")
    assert result.exit_code == ExitCode.HAZARD, result.output
    (note,) = json.loads(result.stdout)["notes"]
    assert note.startswith("no controller is known to elect leaders")
    assert note.endswith(why)


def test_a_loss_ends_with_5_and_names_it(file: Path, gives: Gives) -> None:
    gives(ALONE)
    result = invoke(file, "--broker", "1", "--log-dir", "/d0/")
    assert result.exit_code == ExitCode.HAZARD
    assert result.stderr == "kraftgate: prod: if /d0 failed now: 1 lost: t-0\n"
    said = " ".join(result.stdout.split())
    assert "if /d0 of broker 1 (zookeeper mode) failed now: 1 of 1 partitions in danger" in said
    assert "the only replica" in said


def test_the_exit_code_answers_what_was_asked(file: Path, gives: Gives) -> None:
    """Without the metadata log, a broker's failure is predictable; a KRaft directory's is not."""
    gives(SAFE, KRAFT)
    whole = invoke(file, "--broker", "1")
    assert whole.exit_code == ExitCode.DONE
    assert "/d0: 1 unknown" in " ".join(whole.stdout.split())
    one = invoke(file, "--broker", "1", "--log-dir", D0)
    assert one.exit_code == ExitCode.HAZARD
    said = " ".join(one.stdout.split())
    assert "leader_not_moved cannot be excluded: kraftgate.yaml has no `controllers`" in said


def test_json_is_one_object_with_every_partition(file: Path, gives: Gives) -> None:
    gives(MANY)
    result = invoke(file, "--broker", "1", "--json")
    prediction = json.loads(result.stdout)
    assert list(prediction) == [
        "cluster", "broker", "log_dir", "directory", "directory_known_by", "mode", "halts",
        "serious", "counts", "partitions", "directories", "notes",
    ]  # fmt: skip
    assert (prediction["log_dir"], prediction["mode"], prediction["serious"]) == (
        None,
        "zookeeper",
        True,
    )
    assert prediction["counts"]["lost"] == len(prediction["partitions"]) == SHOWN_MAX + 3
    first = prediction["partitions"][0]
    assert (first["topic"], first["partition"], first["fate"]) == ("t", 0, "lost")
    assert (first["path"], first["replicas"], first["min_isr"]) == (D0, [1], 1)
    assert [each["log_dir"] for each in prediction["directories"]] == ["/d0", "/d1"]
    assert prediction["directories"][0]["counts"]["lost"] == SHOWN_MAX + 3


def test_the_list_for_people_is_bounded(file: Path, gives: Gives) -> None:
    gives(MANY)
    said = invoke(file, "--broker", "1").stdout
    assert said.count("\n  t-") == SHOWN_MAX
    assert said.count("lost: the only replica (from the brokers' metadata)") == 1
    assert "and 3 more: see --json" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--broker", "9"], "prod has no broker 9. Known brokers: 1, 2, 3"),
        (["--broker", "1", "--log-dir", "/nope"], "has no log directory /nope, but: /d0, /d1"),
        (["--broker", "1", "--cluster", "b"], "has no cluster b. Configured clusters: prod"),
        ([], "Missing option '--broker'"),
    ],
)
def test_what_is_not_there_ends_with_2(
    file: Path, gives: Gives, arguments: list[str], words: str
) -> None:
    gives(SAFE)
    result = invoke(file, *arguments)
    assert result.exit_code == ExitCode.USAGE
    assert words in result.stderr


def test_of_several_clusters_one_must_be_named(file: Path, gives: Gives) -> None:
    file.write_text("clusters:\n- {name: a, brokers: {bootstrap: 'b1:9092'}}\n- {name: b}\n")
    gives(SAFE)
    assert invoke(file, "--broker", "1", "--cluster", "a").exit_code == ExitCode.DONE
    unnamed = invoke(file, "--broker", "1")
    assert unnamed.exit_code == ExitCode.USAGE
    assert "pass --cluster with one of: a, b" in unnamed.stderr
    bare = invoke(file, "--broker", "1", "--cluster", "b")
    assert bare.exit_code == ExitCode.USAGE
    assert "cluster `b` has no `brokers`" in bare.stderr


def test_another_cluster_than_configured_ends_with_2(file: Path, gives: Gives) -> None:
    file.write_text("cluster: {name: prod, id: other}\nbrokers: {bootstrap: 'b1:9092'}\n")
    gives(SAFE)
    result = invoke(file, "--broker", "1")
    assert result.exit_code == ExitCode.USAGE
    assert "the brokers belong to cluster c, not other" in result.stderr


def test_another_cluster_than_the_followed_one_ends_with_2(file: Path, gives: Gives) -> None:
    status = SourceStatus(observed_ms=1, last_reply_ms=1, cluster_id="other")
    write_status(file.parent / "kraftgate-state", "prod", status)
    gives(SAFE)
    result = invoke(file, "--broker", "1")
    assert (result.exit_code, result.stdout) == (ExitCode.USAGE, "")
    assert "the brokers belong to cluster c, not other" in result.stderr


def test_the_controller_of_another_cluster_elects_no_leader(
    file: Path, gives: Gives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a known id, ZooKeeper must still belong to the brokers' cluster."""
    file.write_text(file.read_text() + "zookeeper: {connect: 'z:2181'}\n")
    for cluster_id, code in (("c", ExitCode.DONE), ("other", ExitCode.HAZARD)):
        holder = ZkController(id=2, kraft_epoch=-1, claimed_ms=0)
        led = BrokerAddresses(cluster_id=cluster_id, listeners={}, controller=holder)
        monkeypatch.setattr(command, "ask_addresses", lambda _, led=led: led)
        gives(SAFE)
        result = invoke(file, "--broker", "1", "--json")
        assert result.exit_code == code, result.output
    (note,) = json.loads(result.stdout)["notes"]
    assert note.endswith("ZooKeeper (/cluster/id) belongs to cluster other, not c")


def test_a_broker_that_does_not_tell_its_directories_ends_with_4(file: Path, gives: Gives) -> None:
    gives(SAFE, WHY, {1: Broker(id=1, release=WHY, log_dirs=WHY), 2: broker(2, d0=[T])})
    whole = invoke(file, "--broker", "1")
    assert whole.exit_code == ExitCode.HAZARD
    hidden = "partitions may be hidden from the principal, which needs DESCRIBE on CLUSTER and on"
    assert f"prod: if broker 1 failed now: {hidden} all topics: it is not reported" in whole.stderr
    assert "failed now: unknown: partitions may be hidden" in " ".join(whole.stdout.split())
    result = invoke(file, "--broker", "1", "--log-dir", D0)
    assert result.exit_code == ExitCode.NO_DATA
    assert "the directories of broker 1 are unknown: it is not reported" in result.stderr


def test_brokers_that_are_not_there_end_with_4(file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    file.write_text(f"cluster: {{name: prod}}\nbrokers: {{bootstrap: '127.0.0.1:{port}'}}\n")
    result = invoke(file, "--broker", "1")
    assert result.exit_code == ExitCode.NO_DATA
    assert f"prod: no broker answers: 127.0.0.1:{port} refused" in result.stderr


def test_settings_that_are_not_told_leave_the_mode_unknown(file: Path, gives: Gives) -> None:
    gives(SAFE, Unknown("DESCRIBE_CONFIGS on CLUSTER is needed"))
    prediction = json.loads(invoke(file, "--broker", "1", "--log-dir", D0, "--json").stdout)
    assert (prediction["mode"], prediction["halts"], prediction["counts"]["unknown"]) == (
        None,
        None,
        1,
    )


@pytest.mark.parametrize(
    ("age_ms", "read", "fate"),
    [(0, 10, "leader_not_moved"), (60_000, 10, "unknown"), (0, 5, "unknown")],
)
def test_only_what_is_followed_up_to_now_is_taken_from_the_metadata_log(
    file: Path, gives: Gives, monkeypatch: pytest.MonkeyPatch, age_ms: int, read: int, fate: str
) -> None:
    """The replica is migrating by the store; the source's age and the store's lag decide."""
    monkeypatch.setattr(caught_up, "_CATCH_UP_S_MAX", 0.0)
    state = file.parent / "kraftgate-state"
    now_ms = time.time_ns() // 1_000_000 - age_ms
    status = SourceStatus(observed_ms=now_ms, last_reply_ms=now_ms, high_watermark=11)
    write_status(state, "prod", status)
    rows = np.array([[5, 0, 0, 0, 1, ABSENT, place(0, MIGRATING_STATE)]])
    topics, ids = [(b"topic-id-of-t---", "t")], [MIGRATING]
    commit(
        state, write_transitions(state / "transitions", "prod", 0, (1, 6), rows, topics, ids), read
    )
    file.write_text(f"{file.read_text()}controllers: {{bootstrap: 'c1:9093'}}\n")
    gives(SAFE, KRAFT)
    result = invoke(file, "--broker", "1", "--log-dir", D0, "--json")
    assert result.exit_code == ExitCode.HAZARD
    assert json.loads(result.stdout)["counts"][fate] == 1


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_picture_keeps_to_the_terminal(width: int) -> None:
    console = Console(width=width, record=True, file=(sink := io.StringIO()))
    for now in (SAFE, MANY, situation(part((1, 2)), assignments=WHY)):
        directories = [if_directory_fails(now, D0)]
        console.print(picture("prod", if_broker_fails(now), directories, ["a note"]))
        console.print(picture("prod", directories[0], []))
    assert max(map(len, sink.getvalue().splitlines())) <= width


def test_the_help_has_an_example() -> None:
    result = CliRunner().invoke(main, ["what-if", "--help"])
    assert "kraftgate what-if --broker 3" in result.stdout
