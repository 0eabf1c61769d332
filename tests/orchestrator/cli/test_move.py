"""`kraftgate move`: its output, files and exit codes (KIP-113)."""

import hashlib
import io
import json
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from migration.assessment.conditions import hazards_not_known
from migration.assessment.hazards import Hazard, HazardKind
from migration.image.summary import ClusterSummary, Mode
from migration.moves.planner import THROTTLE, Move
from migration.moves.steps import Measured, Step
from migration.moves.verify import Progress, Verified
from migration.observed.probed import Broker, Maybe, TopicPartition, Topics, Unknown
from migration.observed.source_status import SourceStatus
from orchestrator.api.moves import Planned
from orchestrator.audit.log import AUDIT_FILE, AuditLog
from orchestrator.audit.move_entries import Body, MoveBegan, MoveThrottled
from orchestrator.cli import move as command
from orchestrator.cli.program import main
from orchestrator.config.load import load_config
from orchestrator.errors import ExitCode
from orchestrator.execution import moves as moves_module
from orchestrator.execution.locks.store_lock import StoreLock
from orchestrator.execution.moves import Requests
from orchestrator.process.owner import Owner
from orchestrator.run.caught_up import caught_up
from orchestrator.views.terminal.blocks import SHOWN_MAX
from orchestrator.views.terminal.live import Stop
from orchestrator.views.terminal.moves import (
    MovesView,
    moving_line,
    plan_picture,
    verified_picture,
)
from streams.kafka.errors import NotAuthorized
from streams.kafka.throttle import Throttle
from streams.probe.brokers import BrokerAnswers
from streams.zookeeper.probe import BrokerAddresses
from tests.migration.moves.brokers import D0, D1, at, broker, log_dir, topics
from tests.migration.moves.test_permission import hazard, summary
from tests.support.fake_store import write_status
from tests.support.polling import PATIENCE_S

ZOOKEEPER = {"zookeeper.connect": "z:2181"}
PLACED = topics({"t-0": (1, 2), "t-1": (2, 1)}, frozenset({1, 2}))


@dataclass
class Cluster:
    """What the commands read.

    Attributes:
        throttle: of every broker.
        not_known: why a source is not current; None: `kraftgate run` never ran.
    """

    topics: Maybe[Topics] = PLACED
    brokers: list[Broker] = field(default_factory=list)
    throttle: str = str(2**63 - 1)
    summary: ClusterSummary = field(default_factory=lambda: summary(Mode.ZOOKEEPER))
    hazards: tuple[Hazard, ...] = ()
    not_known: tuple[str, ...] | None = ()

    def put(self, *found: Broker) -> None:
        self.brokers = [replace(each, settings=ZOOKEEPER) for each in found]

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            command,
            "ask_brokers",
            lambda *_: BrokerAnswers(topics=self.topics, brokers=tuple(self.brokers)),
        )
        monkeypatch.setattr(command, "broker_settings", lambda *_: {THROTTLE: self.throttle})
        monkeypatch.setattr(command, "Requests", lambda *_: Kafka(self))
        monkeypatch.setattr(
            "streams.log_dirs.poll_requests.poll_disks", lambda *_: self.not_known is not None
        )

        def view(*given: Any) -> Any:
            if self.not_known is None:
                return caught_up(*given)
            _, (entry,) = given
            return {entry.name: SimpleNamespace(summary=self.summary, due_hazards=self.hazards)}

        monkeypatch.setattr(command, "caught_up", view)
        monkeypatch.setattr(
            command,
            "hazards_not_known",
            lambda *given: hazards_not_known(*given) if self.not_known is None else self.not_known,
        )


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Broker 1 has t-0 and t-1 in D0, broker 2 in D0 and D1."""
    made = Cluster()
    made.put(
        broker(1, log_dir(D0, {"t-0": 600, "t-1": 200}), log_dir(D1)),
        broker(2, log_dir(D0, {"t-0": 600}), log_dir(D1, {"t-1": 200})),
    )
    made.install(monkeypatch)
    return made


@pytest.fixture
def run(cluster: Cluster, tmp_path: Path) -> Callable[..., Result]:
    assert cluster.brokers
    file = tmp_path / "kraftgate.yaml"
    file.write_text("cluster: {name: prod}\nbrokers: {bootstrap: 'b:9000'}\n")

    def invoke(verb: str, *arguments: object) -> Result:
        given = ["move", verb, "--config", str(file), *map(str, arguments)]
        return CliRunner().invoke(main, given)

    return invoke


DRAIN = ("--broker", 1, "--drain", D0)


def test_a_plan_is_a_reassignment_with_what_kraftgate_adds(
    run: Callable[..., Result], cluster: Cluster, tmp_path: Path
) -> None:
    """KIP-113, "Scripts": version, partitions, log_dirs; further keys are ignored by the tool."""
    cluster.throttle = "100"
    out = tmp_path / "plan.json"
    result = run("plan", *DRAIN, "--json", "--out", out)
    assert result.exit_code == ExitCode.DONE, result.output
    printed = json.loads(result.stdout)
    assert printed == json.loads(out.read_text())
    assert printed["version"] == 1
    assert printed["partitions"] == [
        {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": [D1, "any"]},
        {"topic": "t", "partition": 1, "replicas": [2, 1], "log_dirs": ["any", D1]},
    ]
    mine = printed["kraftgate"]
    assert (mine["cluster"], mine["cluster_id"]) == ("prod", "c")
    assert mine["moves"][0] == {
        "topic": "t", "partition": 0, "broker": 1, "from": D0, "to": D1, "bytes": 600,
    }  # fmt: skip
    assert mine["brokers"] == [
        {
            "id": 1, "moves": 2, "bytes": 800, "throttle": None, "seconds": 8.0, "forbidden": [],
            "unknown": [],
        }
    ]  # fmt: skip
    assert mine["directories"] == [
        {"broker": 1, "path": D1, "free_before": 1000, "free_after": 200}
    ]
    again = run("plan", "--from", out, "--json")
    assert json.loads(again.stdout) == printed


def test_the_table_shows_moves_bytes_time_and_space(run: Callable[..., Result]) -> None:
    lines = [line.split() for line in run("plan", *DRAIN, "--throttle", 10).stdout.splitlines()]
    assert ["prod", "moves:", "2,", "800", "B"] in lines
    assert ["1", "2", "800", "B", "10", "B/s", "1m20s"] in lines
    assert ["1", D1, "1000", "B", "200", "B"] in lines
    assert ["t-0", "1", D0, D1, "600", "B"] in lines


def test_without_a_throttle_the_time_is_unknown(run: Callable[..., Result]) -> None:
    lines = [line.split() for line in run("plan", *DRAIN).stdout.splitlines()]
    assert ["1", "2", "800", "B", "none", "known", "?"] in lines


def test_an_even_broker_has_nothing_to_move(run: Callable[..., Result], tmp_path: Path) -> None:
    """KIP-113, "Changes in Operational Procedures"."""
    out = tmp_path / "plan.json"
    assert run("plan", *DRAIN, "--out", out).exit_code == ExitCode.DONE
    result = run("plan", "--broker", 2, "--even", "count", "--out", out)
    assert result.exit_code == ExitCode.DONE
    assert "nothing to move" in result.stdout
    assert json.loads(out.read_text())["partitions"] == [], "not the moves of an earlier plan"
    moved = json.loads(run("plan", "--broker", 1, "--even", "bytes", "--json").stdout)
    assert [each["bytes"] for each in moved["kraftgate"]["moves"]] == [600]


def test_a_plan_without_moves_is_applied(
    run: Callable[..., Result], kafka: "Kafka", tmp_path: Path
) -> None:
    """Without --yes, too: nothing is written."""
    out = tmp_path / "plan.json"
    assert run("plan", "--broker", 2, "--even", "count", "--out", out).exit_code == ExitCode.DONE
    result = run("apply", out)
    assert (result.exit_code, result.stderr) == (ExitCode.DONE, "")
    assert "nothing to move" in result.stdout
    for verb in ("verify", "cancel"):
        assert run(verb, out).exit_code == ExitCode.DONE
    with AuditLog.open(_state(tmp_path) / AUDIT_FILE) as log:
        left = MoveThrottled(broker=1, previous="5", value="1000")
        log.append("prod", left.kind, left.as_json(), 1)
    kafka.own = "1000"
    assert run("apply", out).exit_code == ExitCode.USAGE
    assert run("apply", out, "--yes").exit_code == ExitCode.DONE
    assert kafka.own == "5"
    assert not kafka.sent


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "pass one of --drain, --even and --from"),
        ((*DRAIN, "--even", "bytes"), "pass one of --drain, --even and --from"),
        (("--drain", D0), "pass --broker with --drain or --even"),
        (("--broker", 9, "--even", "count"), "prod has no broker 9. Known brokers: 1, 2"),
        (("--broker", 1, "--drain", "/x"), "broker 1 has no log directory /x, but: /d0, /d1"),
        ((*DRAIN, "--throttle", 0), "--throttle"),
    ],
)
def test_bad_usage_ends_with_2(
    run: Callable[..., Result], arguments: tuple[object, ...], words: str
) -> None:
    result = run("plan", *arguments)
    assert result.exit_code == ExitCode.USAGE
    assert words in " ".join(result.stderr.split())


VERBS = (("plan", "--from"), ("verify",), ("apply", "--yes"), ("cancel",))
CONTRADICTIONS = (
    "the cluster has no such topic",
    "the cluster has no such partition",
    "broker 1 has no log directory /x",
    "does not change the preferred leader",
    "does not move replicas between brokers",
    "there is no broker 3",
)
"""Of a file and the cluster as it is now."""
LONG = "x" * 249


def entry(**changes: object) -> str:
    good = {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": [D1, "any"]}
    return json.dumps(good | changes)


def file_of(*entries: str, version: int = 1) -> str:
    """One entry a line, from line 2 on."""
    lines = ",\n".join(entries)
    return f'{{"version": {version}, "partitions": [\n{lines}]}}'


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", [(1, "it is not JSON")]),
        (file_of("{]"), [(2, "it is not JSON")]),
        (file_of(entry(), version=2), [(1, "its version is 2")]),
        (file_of(), [(1, "is empty: there is nothing to move")]),
        (file_of(entry(), entry()), [(3, "t-0 is listed twice, first in line 2")]),
        (file_of(entry(replicas=[1, 1])), [(2, "a broker is in its `replicas` twice")]),
        (file_of(entry(log_dirs=[D1])), [(2, "has another length than its `replicas`")]),
        (file_of(entry(log_dirs=["d1", "any"])), [(2, "neither an absolute path nor")]),
        (file_of(entry(), entry(topic="u")), [(3, "the cluster has no such topic")]),
        (file_of(entry(partition=9)), [(2, "the cluster has no such partition")]),
        (file_of(entry(log_dirs=["/x", "any"])), [(2, "broker 1 has no log directory /x")]),
        (file_of(entry(replicas=[2, 1])), [(2, "does not change the preferred leader")]),
        (
            file_of(entry(replicas=[1, 3])),
            [(2, "does not move replicas between brokers"), (2, "there is no broker 3")],
        ),
        (file_of(entry(topic=LONG)), [(2, "would have a name of 291 bytes")]),
        (
            file_of(entry(log_dirs=["/x", "any"]), entry(partition=1), entry(topic=LONG, z=1)),
            [
                (2, "has no log directory"),
                (3, "it is assigned to the brokers [2, 1] now"),
                (4, "unknown key `z`"),
                (4, "would have a name of 291 bytes"),
            ],
        ),
    ],
)
def test_a_bad_file_ends_with_2_names_every_problem_and_sends_nothing(
    run: Callable[..., Result],
    kafka: "Kafka",
    tmp_path: Path,
    verb: tuple[str, ...],
    text: str,
    said: list[tuple[int, str]],
) -> None:
    """KIP-113, "Scripts": problems of the file, and those that only the cluster shows."""
    file = tmp_path / "bad.json"
    file.write_text(text)
    result = run(*verb, file)
    if verb == ("cancel",) and all(words in CONTRADICTIONS for _, words in said):
        assert result.exit_code != ExitCode.USAGE, "what the cluster has lost prevents no end"
    else:
        assert result.exit_code == ExitCode.USAGE, result.output
        assert not result.stdout
    lines = result.stderr.splitlines()
    assert len(lines) == len(said), lines
    for number, words in said:
        assert any(each.startswith(f"{file}:{number}: ") and words in each for each in lines), lines
    assert not kafka.sent
    assert not kafka.throttles


def test_problems_of_the_file_need_no_cluster(
    run: Callable[..., Result], cluster: Cluster, tmp_path: Path
) -> None:
    cluster.topics = Unknown("b:9000 refused")
    file = tmp_path / "bad.json"
    file.write_text("{")
    assert run("verify", file).exit_code == ExitCode.USAGE
    assert run("plan", *DRAIN).exit_code == ExitCode.NO_DATA


def test_an_unreadable_file_ends_with_2(run: Callable[..., Result], tmp_path: Path) -> None:
    assert run("verify", tmp_path / "none.json").exit_code == ExitCode.USAGE


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_plan_for_another_cluster_is_refused(
    run: Callable[..., Result],
    kafka: "Kafka",
    cluster: Cluster,
    tmp_path: Path,
    verb: tuple[str, ...],
) -> None:
    """A second cluster may have the same topics, brokers and directories."""
    out = tmp_path / "plan.json"
    assert run("plan", *DRAIN, "--out", out).exit_code == ExitCode.DONE
    cluster.topics = replace(PLACED, cluster_id="other")
    result = run(*verb, out)
    assert result.exit_code == ExitCode.USAGE, result.output
    assert f"{out}: it was planned for cluster c, and prod is cluster other" in result.stderr
    assert not kafka.sent


def test_brokers_of_another_cluster_than_the_followed_one_are_rejected(
    run: Callable[..., Result], kafka: "Kafka", tmp_path: Path
) -> None:
    """Nothing is sent, also for a plan that was made of the other cluster."""
    out = tmp_path / "plan.json"
    assert run("plan", *DRAIN, "--out", out).exit_code == ExitCode.DONE
    status = SourceStatus(observed_ms=1, last_reply_ms=1, cluster_id="followed")
    write_status(tmp_path / "kraftgate-state", "prod", status)
    for given in (("plan", *DRAIN), *((*verb, out) for verb in VERBS)):
        result = run(*given)
        assert result.exit_code == ExitCode.USAGE, result.output
        assert "the brokers belong to cluster c, not followed" in result.stderr
    assert not kafka.sent


def test_a_hazard_forbids_and_nothing_is_written(
    run: Callable[..., Result], cluster: Cluster, tmp_path: Path
) -> None:
    cluster.hazards = (hazard(HazardKind.DIRECTORY_IDS), hazard(HazardKind.ONE_DIRECTORY_LEFT))
    out = tmp_path / "plan.json"
    result = run("plan", *DRAIN, "--out", out, "--json")
    assert result.exit_code == ExitCode.HAZARD
    assert "prod: hazard directory_ids: it is so" in result.stderr
    (row,) = json.loads(result.stdout)["kraftgate"]["brokers"]
    assert len(row["forbidden"]) == 1
    assert not out.exists()


@pytest.mark.parametrize(
    "now", [summary(Mode.KRAFT, held=True), summary(Mode.MIGRATING)], ids=["held", "migrating"]
)
def test_a_held_broker_and_one_in_migration_mode_are_forbidden(
    run: Callable[..., Result], cluster: Cluster, now: ClusterSummary
) -> None:
    """KIP-858, "Broker registration" and "Migrating a cluster in ZK mode ..."."""
    cluster.summary = now
    result = run("plan", *DRAIN)
    assert result.exit_code == ExitCode.HAZARD
    assert "forbidden: broker 1 is" in result.stdout


def test_an_obstacle_ends_with_5(run: Callable[..., Result], cluster: Cluster) -> None:
    cluster.put(
        broker(1, log_dir(D0, {"t-0": 600}), log_dir(D1, free=10)),
        broker(2, log_dir(D0, error=56), log_dir(D1)),
    )
    result = run("plan", *DRAIN)
    assert result.exit_code == ExitCode.HAZARD
    assert "/d1 would be 590 bytes too small" in result.stderr
    refused = run("plan", "--broker", 2, "--drain", D0)
    assert refused.exit_code == ExitCode.HAZARD
    assert "/d0 is not online (error 56)" in refused.stderr


@pytest.mark.parametrize("known", [("the disks are stale",), None])
def test_unknown_data_ends_with_4_and_nothing_is_written(
    run: Callable[..., Result],
    cluster: Cluster,
    tmp_path: Path,
    known: tuple[str, ...] | None,
) -> None:
    """None: no `kraftgate run` has ever run here."""
    cluster.not_known = known
    out = tmp_path / "plan.json"
    result = run("plan", *DRAIN, "--out", out, "--json")
    assert result.exit_code == ExitCode.NO_DATA
    assert "prod: not known: " in result.stderr
    assert len(json.loads(result.stdout)["partitions"]) == 2
    assert not out.exists()


def test_a_silent_broker_ends_with_4(run: Callable[..., Result], cluster: Cluster) -> None:
    cluster.brokers = [Broker(id=1, settings=ZOOKEEPER, log_dirs=Unknown("b1 refused"))]
    result = run("plan", *DRAIN)
    assert result.exit_code == ExitCode.NO_DATA
    assert "broker 1 does not describe its log directories: b1 refused" in result.stderr


def test_unknown_free_space_ends_with_4(run: Callable[..., Result], cluster: Cluster) -> None:
    cluster.put(broker(1, log_dir(D0, {"t-0": 600}), log_dir(D1, free=None)))
    result = run("plan", *DRAIN)
    assert result.exit_code == ExitCode.NO_DATA
    assert "not known: the free space of /d1 on broker 1" in result.stderr


def test_a_replica_that_the_metadata_does_not_list_ends_with_4(
    run: Callable[..., Result], cluster: Cluster, tmp_path: Path
) -> None:
    """Its topic may be about to be deleted; or the principal may not describe it."""
    cluster.topics = topics({"t-0": (1, 2), "t-1": (2,)}, frozenset({1, 2}))
    cluster.put(broker(1, log_dir(D0, {"t-0": 600, "t-1": 9, "secret-0": 9}), log_dir(D1)))
    out = tmp_path / "plan.json"
    result = run("plan", *DRAIN, "--json", "--out", out)
    assert result.exit_code == ExitCode.NO_DATA, result.output
    assert "broker 1 has secret-0, t-1 in /d0, and the cluster's metadata does" in result.stderr
    assert "its topic was deleted and the log is left (`replica_not_in_metadata`" in result.stderr
    rest = tmp_path / "rest.json"
    rest.write_text(result.stdout)
    assert "To move the others now, pass the output of --json with --from" in result.stderr
    again = run("plan", "--from", rest, "--out", tmp_path / "again.json")
    assert again.exit_code == ExitCode.DONE, again.output
    (moved,) = json.loads(result.stdout)["kraftgate"]["moves"]
    assert (moved["topic"], moved["partition"]) == ("t", 0)
    assert not out.exists()


def test_a_plan_that_cannot_be_written_ends_with_1(run: Callable[..., Result]) -> None:
    result = run("plan", *DRAIN, "--out", "/nonexistent/plan.json")
    assert result.exit_code == ExitCode.FAILED
    assert "/nonexistent/plan.json: No such file or directory" in result.stderr


@pytest.mark.parametrize(
    ("out", "because"),
    [("kraftgate-state/audit.db", "in the state directory"), ("kraftgate.yaml", "configuration")],
)
def test_a_plan_does_not_overwrite_a_file_of_kraftgate_s_own(
    run: Callable[..., Result], tmp_path: Path, out: str, because: str
) -> None:
    file = tmp_path / out
    file.parent.mkdir(exist_ok=True)
    file.touch()
    before = file.read_bytes()
    result = run("plan", *DRAIN, "--out", file)
    assert (result.exit_code, result.stdout) == (ExitCode.USAGE, "")
    assert because in result.stderr
    assert file.read_bytes() == before


def test_a_slash_at_the_end_of_a_directory_is_left_out(run: Callable[..., Result]) -> None:
    result = run("plan", "--broker", 1, "--drain", f"{D0}/", "--json")
    assert result.stdout == run("plan", *DRAIN, "--json").stdout


@pytest.fixture
def plan(run: Callable[..., Result], tmp_path: Path) -> Path:
    run("plan", *DRAIN, "--out", (out := tmp_path / "plan.json"))
    return out


def test_verify_follows_the_moves_to_their_end(
    run: Callable[..., Result], cluster: Cluster, plan: Path
) -> None:
    """KIP-113, "How to reassign replica ...": verification."""
    result = run("verify", plan)
    assert result.exit_code == ExitCode.GATE_NOT_MET
    assert "not moving: 2" in result.stdout
    cluster.put(
        broker(1, log_dir(D0, {"t-0": 600}), log_dir(D1, {"t-1": 200}, futures={"t-0": 7})),
        broker(2, log_dir(D0), log_dir(D1)),
    )
    result = run("verify", plan, "--json")
    assert result.exit_code == ExitCode.GATE_NOT_MET
    assert result.stderr == "kraftgate: prod: t-0 on broker 1: moving\n"
    printed = json.loads(result.stdout)
    assert printed["completed"] is False
    assert printed["moves"][0] == {
        "topic": "t", "partition": 0, "broker": 1, "to": D1, "progress": "moving", "log_dir": D0,
        "future_log_dir": D1, "offset_lag": 7, "directory": None, "recorded": None, "why": None,
    }  # fmt: skip
    cluster.put(broker(1, log_dir(D0), log_dir(D1, {"t-0": 600, "t-1": 200})))
    result = run("verify", plan)
    assert result.exit_code == ExitCode.DONE, result.output
    assert "completed: 2" in result.stdout


def test_verify_without_an_answer_ends_with_4(
    run: Callable[..., Result], cluster: Cluster, plan: Path
) -> None:
    cluster.brokers = [Broker(id=1, settings=ZOOKEEPER, log_dirs=Unknown("b1 refused"))]
    result = run("verify", plan)
    assert result.exit_code == ExitCode.NO_DATA
    assert "t-0 on broker 1: unknown (b1 refused)" in result.stderr


def test_verify_in_kraft_mode_needs_the_metadata_log(
    run: Callable[..., Result], cluster: Cluster, plan: Path
) -> None:
    """KIP-858, "Intra-broker replica movement": the disks alone do not complete a move."""
    done = broker(1, log_dir(D0), log_dir(D1, {"t-0": 600, "t-1": 200}))
    cluster.brokers = [replace(done, settings={"process.roles": "broker"})]
    result = run("verify", plan)
    assert result.exit_code == ExitCode.NO_DATA
    assert "has no `controllers` for prod" in result.stderr


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_pictures_are_bounded(width: int) -> None:
    many = {f"topic-with-a-name-{n}": 10**9 for n in range(SHOWN_MAX + 3)}
    one = broker(1, log_dir(D0, many, free=10**12), log_dir(D1, free=10**12))
    moves = tuple(Move(1, at(name), D0, D1, size) for name, size in many.items())
    found = Planned(
        cluster="prod",
        topics=PLACED,
        brokers={1: one},
        moves=moves,
        throttles={},
        rates={1: 50_000_000},
        permissions={},
        obstacles=("an obstacle",),
        unknown=(),
    )
    verified = [Verified(1, each.at, D1, Progress.NOT_MOVING, D0) for each in moves]
    for picture in (plan_picture(found), verified_picture("prod", verified)):
        Console(width=width, file=(sink := io.StringIO())).print(picture)
        said = sink.getvalue()
        assert max(map(len, said.splitlines())) <= width
        assert "and 3 more: see --json" in said


class Kafka(Requests):
    """Brokers that move a replica at once, unless it is refused.

    Attributes:
        sent: the targets by replica, in order.
        own: the throttle of every broker.
        refused: the error for each replica.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.sent: list[tuple[int, str, str]] = []
        self.own: str | None = None
        self.throttles: list[str | None] = []
        self.refused: dict[TopicPartition, str] = {}

    def log_dirs(self, brokers: Collection[int]) -> Mapping[int, Broker]:
        return {each.id: each for each in self.cluster.brokers if each.id in brokers}

    def alter(
        self, broker: int, targets: Mapping[TopicPartition, str]
    ) -> Maybe[Mapping[TopicPartition, str]]:
        self.sent += [(broker, str(one), path) for one, path in targets.items()]
        (asked,) = self.log_dirs([broker]).values()
        assert not isinstance(asked.log_dirs, Unknown)
        moved = {one: path for one, path in targets.items() if one not in self.refused}
        sizes = {one: n for each in asked.log_dirs for one, n in each.sizes.items() if one in moved}
        dirs = []
        for each in asked.log_dirs:
            here = {one: n for one, n in each.sizes.items() if one not in moved}
            here |= {one: sizes[one] for one, path in moved.items() if path == each.path}
            left = each.futures - moved.keys()
            dirs.append(replace(each, sizes=here, replicas=frozenset(here), futures=left))
        done = replace(asked, log_dirs=tuple(dirs))
        self.cluster.brokers = [done if b.id == broker else b for b in self.cluster.brokers]
        return {one: why for one, why in self.refused.items() if one in targets}

    def throttle(self, broker: int) -> Throttle:  # noqa: ARG002
        return Throttle(self.own, self.own)

    def set_throttle(self, broker: int, value: str | None) -> None:  # noqa: ARG002
        self.own = value
        self.throttles.append(value)


@pytest.fixture
def kafka(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Kafka:
    made = Kafka(cluster)
    monkeypatch.setattr(command, "Requests", lambda *_: made)
    monkeypatch.setattr(moves_module, "_POLL_S", 0.0)
    return made


@pytest.mark.parametrize("verb", VERBS[2:], ids=lambda verb: verb[0])
def test_the_lock_must_be_in_the_zookeeper_of_the_cluster(
    run: Callable[..., Result],
    plan: Path,
    kafka: Kafka,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: tuple[str, ...],
) -> None:
    """Nothing is known of the cluster but what its brokers and ZooKeeper answer."""
    with (tmp_path / "kraftgate.yaml").open("a") as file:
        file.write("zookeeper: {connect: 'z:2181'}\n")
    other = BrokerAddresses(cluster_id="other", listeners={})
    monkeypatch.setattr(command, "ask_addresses", lambda _: other)
    result = run(*verb, plan)
    assert result.exit_code == ExitCode.USAGE, result.output
    assert "ZooKeeper (/cluster/id) belongs to cluster other, not c" in result.stderr
    assert not kafka.sent


def test_apply_moves_what_the_plan_says(
    run: Callable[..., Result], plan: Path, kafka: Kafka, tmp_path: Path
) -> None:
    """KIP-113, "Initiate replica movement ..."; the throttle is deleted again."""
    result = run("apply", plan, "--yes", "--throttle", 1000)
    assert result.exit_code == ExitCode.DONE, result.output
    assert "prod: all replicas are in their target" in result.stdout
    assert "prod: 2 of 2 replicas, 800 B of 800 B" in result.stdout
    assert kafka.sent == [(1, "t-0", D1), (1, "t-1", D1)]
    assert kafka.throttles == ["1000", None]
    assert run("verify", plan).exit_code == ExitCode.DONE
    again = run("apply", plan, "--yes")
    assert again.exit_code == ExitCode.DONE
    assert len(kafka.sent) == 2, "nothing was left"
    with AuditLog.open_readonly(_state(tmp_path) / AUDIT_FILE) as log:
        bodies = [body for _, body in Body.read(log.entries("prod"))]
    began = bodies[0]
    assert isinstance(began, MoveBegan)
    assert (began.plan, began.replicas) == (str(plan), 2)
    assert began.sha256 == hashlib.sha256(plan.read_bytes()).hexdigest()
    assert [body.sentence() for body in bodies[1:5]] == [
        "the throttle of the moves of broker 1 becomes 1000, before: not set",
        "broker 1 is asked to move 2 replicas",
        "the throttle of the moves of broker 1 was restored to not set",
        "`move apply` ended: 2 done, 0 left",
    ]


def _state(folder: Path) -> Path:
    return load_config(folder / "kraftgate.yaml").state_dir


def test_apply_uses_the_throttle_of_the_plan(
    run: Callable[..., Result], kafka: Kafka, tmp_path: Path
) -> None:
    """KIP-113, "Broker Config"."""
    out = tmp_path / "plan.json"
    assert run("plan", *DRAIN, "--throttle", 77, "--out", out).exit_code == ExitCode.DONE
    kafka.own = "5"
    assert run("apply", out, "--yes").exit_code == ExitCode.DONE
    assert kafka.throttles == ["77", "5"]


def test_a_plan_without_a_throttle_sets_none(
    run: Callable[..., Result], cluster: Cluster, kafka: Kafka, tmp_path: Path
) -> None:
    """What the broker happens to have when it is planned is not what the plan asks for."""
    out = tmp_path / "plan.json"
    cluster.throttle = kafka.own = "1000"
    assert run("plan", *DRAIN, "--out", out).exit_code == ExitCode.DONE
    kafka.own = None
    assert run("apply", out, "--yes").exit_code == ExitCode.DONE
    assert kafka.throttles == []


@pytest.mark.parametrize(
    "mine", ["[]", '{"brokers": 1}', '{"brokers": [{"id": 1, "throttle": 0}]}']
)
def test_a_damaged_throttle_in_the_plan_ends_with_2(
    run: Callable[..., Result], kafka: Kafka, plan: Path, mine: str
) -> None:
    written = json.loads(plan.read_text())
    written["kraftgate"] = json.loads(mine)
    plan.write_text(json.dumps(written))
    result = run("apply", plan, "--yes")
    assert result.exit_code == ExitCode.USAGE
    assert result.stderr.startswith(f"{plan}: ")
    assert not kafka.sent


def test_apply_asks_unless_yes_is_passed(
    run: Callable[..., Result], kafka: Kafka, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run("apply", plan)
    assert result.exit_code == ExitCode.USAGE
    assert "pass --yes" in result.stderr
    monkeypatch.setattr(command, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    monkeypatch.setattr(command, "ask", lambda _: "other")
    assert run("apply", plan).exit_code == 1
    assert not kafka.sent
    monkeypatch.setattr(command, "ask", lambda _: "prod")
    assert run("apply", plan).exit_code == ExitCode.DONE


@pytest.mark.parametrize(
    "now", [summary(Mode.KRAFT, held=True), summary(Mode.MIGRATING)], ids=["held", "migrating"]
)
def test_apply_is_forbidden_while_a_broker_is_held_or_in_migration_mode(
    run: Callable[..., Result], cluster: Cluster, kafka: Kafka, plan: Path, now: ClusterSummary
) -> None:
    """KIP-858, "Broker registration" and "Migrating a cluster in ZK mode ..."."""
    cluster.summary = now
    result = run("apply", plan, "--yes")
    assert result.exit_code == ExitCode.HAZARD
    assert not kafka.sent
    assert not kafka.throttles


def test_apply_on_stale_data_ends_with_4(
    run: Callable[..., Result], cluster: Cluster, kafka: Kafka, plan: Path
) -> None:
    cluster.not_known = ("the disks are stale",)
    assert run("apply", plan, "--yes").exit_code == ExitCode.NO_DATA
    assert not kafka.sent


def test_a_refusal_ends_with_1_and_names_what_is_left(
    run: Callable[..., Result], kafka: Kafka, plan: Path, tmp_path: Path
) -> None:
    """KIP-113, "Create AlterReplicaDirResponse": an error of each partition."""
    kafka.refused[at("t-1")] = "KAFKA_STORAGE_ERROR (56)"
    result = run("apply", plan, "--yes", "--at-once", 1)
    assert result.exit_code == ExitCode.FAILED
    assert "prod: 1 of 2 replicas are in their target. " in result.stderr
    assert "t-1 on broker 1: KAFKA_STORAGE_ERROR (56)" in result.stderr
    with AuditLog.open_readonly(_state(tmp_path) / AUDIT_FILE) as log:
        sentences = [body.sentence() for _, body in Body.read(log.entries("prod"))]
    assert sentences[1:3] == ["broker 1 is asked to move 1 replica"] * 2


def test_a_half_done_plan_goes_on(
    run: Callable[..., Result], cluster: Cluster, kafka: Kafka, plan: Path
) -> None:
    """What runs is neither sent again nor against the plan; a stuck move of its own neither.

    KIP-113, "Handle failure that happens ...".
    """
    cluster.put(
        broker(
            1,
            log_dir(D0, {"t-0": 600, "t-1": 200}),
            log_dir(D1, free=250, futures={"t-0": 7}, future_sizes={"t-0": 590}),
        ),
        broker(2, log_dir(D0), log_dir(D1)),
    )
    cluster.hazards = (hazard(HazardKind.FUTURE_REPLICA_STUCK),)
    polls = kafka.log_dirs

    def finishing(brokers: Collection[int]) -> Mapping[int, Broker]:
        if kafka.sent:
            cluster.put(broker(1, log_dir(D0), log_dir(D1, {"t-0": 600, "t-1": 200})))
        return polls(brokers)

    kafka.log_dirs = finishing  # type: ignore[method-assign]
    result = run("apply", plan, "--yes")
    assert result.exit_code == ExitCode.DONE, result.output
    assert kafka.sent == [(1, "t-1", D1)]


def test_the_printed_commands_name_the_configuration_and_the_cluster_and_are_quoted(
    kafka: Kafka, plan: Path, tmp_path: Path
) -> None:
    """With another configuration they would leave the throttle set."""
    config = (tmp_path / "kraftgate.yaml").rename(tmp_path / "two clusters.yaml")
    entries = "".join(f"- {{name: {n}, brokers: {{bootstrap: 'b:9000'}}}}\n" for n in ("prod", "b"))
    config.write_text(f"clusters:\n{entries}")
    plan = plan.rename(tmp_path / "the plan.json")
    kafka.refused[at("t-1")] = "KAFKA_STORAGE_ERROR (56)"
    where = f"--config '{config}' --cluster prod"
    result = CliRunner().invoke(main, ["move", "apply", str(plan), "--yes", *shlex.split(where)])
    apply, cancel = (f"kraftgate move {verb} '{plan}' {where}" for verb in ("apply", "cancel"))
    assert result.stderr.endswith(f". To resume: {apply}; to end: {cancel}\n")
    kafka.refused.clear()
    result = CliRunner().invoke(main, [*shlex.split(apply)[1:], "--yes"])
    assert result.exit_code == ExitCode.DONE, result.output
    assert result.stdout.endswith(f": kraftgate move verify '{plan}' {where}\n")


def test_a_plan_begins_only_if_the_reserve_of_the_destination_stays_free(
    run: Callable[..., Result], cluster: Cluster, kafka: Kafka, plan: Path
) -> None:
    """The disk has filled since the plan was made."""
    cluster.put(
        broker(1, log_dir(D0, {"t-0": 600, "t-1": 200}), log_dir(D1, free=805)),
        broker(2, log_dir(D0), log_dir(D1)),
    )
    result = run("apply", plan, "--yes")
    assert result.exit_code == ExitCode.HAZARD, result.output
    assert "/d1 would have 5 bytes free, below the reserve of 20" in result.stderr
    assert not kafka.sent


def test_another_clients_move_is_against_the_plan(
    run: Callable[..., Result], cluster: Cluster, kafka: Kafka, plan: Path
) -> None:
    cluster.put(
        broker(1, log_dir(D0, {"t-0": 600, "t-1": 200}), log_dir(D1, futures={"u-0": 7})),
        broker(2, log_dir(D0), log_dir(D1)),
    )
    result = run("apply", plan, "--yes")
    assert result.exit_code == ExitCode.HAZARD
    assert "broker 1 already moves u-0 to /d1" in result.stderr
    assert not kafka.sent


def test_cancel_assigns_the_current_directory_again(
    run: Callable[..., Result], cluster: Cluster, kafka: Kafka, plan: Path
) -> None:
    """KIP-113, "Initiate replica movement ...": the future replica is deleted."""
    cluster.put(
        broker(1, log_dir(D0, {"t-0": 600, "t-1": 200}), log_dir(D1, futures={"t-0": 7})),
        broker(2, log_dir(D0), log_dir(D1)),
    )
    result = run("cancel", plan)
    assert result.exit_code == ExitCode.DONE, result.output
    assert kafka.sent == [(1, "t-0", D0)]
    assert f"no replica of {plan} moves" in result.stdout


def test_a_deleted_topic_prevents_no_cancellation(
    run: Callable[..., Result], cluster: Cluster, kafka: Kafka, plan: Path, tmp_path: Path
) -> None:
    """The other replicas would copy on, under a throttle that no command sets back."""
    cluster.put(
        broker(1, log_dir(D0, {"t-0": 600}), log_dir(D1, futures={"t-0": 7})),
        broker(2, log_dir(D0), log_dir(D1)),
    )
    cluster.topics = topics({"t-0": (1, 2)}, frozenset({1, 2}))
    (state := _state(tmp_path)).mkdir(mode=0o700)
    with AuditLog.open(state / AUDIT_FILE) as log:
        left = MoveThrottled(broker=1, previous="5", value="1000")
        log.append("prod", left.kind, left.as_json(), 1)
    kafka.own = "1000"
    gone = "t-1: the cluster has no such partition"
    for verb in (("apply", "--yes"), ("verify",)):
        result = run(*verb, plan)
        assert result.exit_code == ExitCode.USAGE
        assert gone in result.stderr
        cancel = f"kraftgate move cancel {plan} --config {tmp_path / 'kraftgate.yaml'}"
        assert f"`{cancel}`, or move apply, restores" in result.stderr
    assert not kafka.sent
    result = run("cancel", plan)
    assert result.exit_code == ExitCode.DONE, result.output
    assert gone in result.stderr
    assert kafka.sent == [(1, "t-0", D0)]
    assert kafka.own == "5"


def test_no_further_move_begins_into_a_directory_that_has_filled_up(
    run: Callable[..., Result], cluster: Cluster, kafka: Kafka, plan: Path
) -> None:
    """Kafka takes a directory that is full offline, with all its replicas."""
    alter = kafka.alter

    def filling(
        broker: int, targets: Mapping[TopicPartition, str]
    ) -> Maybe[Mapping[TopicPartition, str]]:
        refused = alter(broker, targets)
        cluster.brokers = [
            replace(each, log_dirs=tuple(replace(one, usable_bytes=10) for one in each.log_dirs))
            for each in cluster.brokers
            if not isinstance(each.log_dirs, Unknown)
        ]
        return refused

    kafka.alter = filling  # type: ignore[method-assign]
    result = run("apply", plan, "--yes", "--at-once", 1)
    assert result.exit_code == ExitCode.HAZARD, result.output
    assert "1 of 2 replicas are in their target" in result.stderr
    assert "/d1 would be 190 bytes too small" in result.stderr
    assert result.stderr.count("prod: ") == 1
    assert kafka.sent == [(1, "t-0", D1)]


def test_verify_names_a_throttle_that_a_killed_apply_left(
    run: Callable[..., Result], kafka: Kafka, plan: Path, tmp_path: Path
) -> None:
    """Also while replicas are still to move."""
    before = kafka.cluster.brokers
    assert run("apply", plan, "--yes").exit_code == ExitCode.DONE
    with AuditLog.open(_state(tmp_path) / AUDIT_FILE) as log:
        left = MoveThrottled(broker=1, previous="5", value="1000")
        log.append("prod", left.kind, left.as_json(), 1)
    kafka.own = "1000"
    not_moving = "t-0 on broker 1: not moving; t-1 on broker 1: not moving"
    for brokers, moves in ((before, not_moving), (kafka.cluster.brokers, "")):
        kafka.cluster.brokers = brokers
        result = run("verify", plan)
        assert result.exit_code == ExitCode.GATE_NOT_MET
        assert "prod: a run has its throttle in force on broker 1: wait" in result.stderr
        assert moves in result.stderr
    assert kafka.throttles == [], "verify only reads"
    assert run("cancel", plan).exit_code == ExitCode.DONE
    assert kafka.own == "5"
    assert run("verify", plan).exit_code == ExitCode.DONE


FOREIGN = "broker 1 has the throttle 1000, which this state directory did not set"


def test_a_throttle_of_a_run_with_another_state_directory_is_named(
    run: Callable[..., Result], kafka: Kafka, plan: Path, tmp_path: Path
) -> None:
    """A killed `apply` of another host: only its audit trail has the earlier value."""

    def kill(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    alter = kafka.alter
    kafka.alter = kill  # type: ignore[method-assign,assignment]
    assert run("apply", plan, "--yes", "--throttle", 1000).exit_code == ExitCode.FAILED
    kafka.alter = alter  # type: ignore[method-assign]
    here = _state(tmp_path).rename(tmp_path / "elsewhere")
    assert kafka.own == "1000"
    for verb, code in (("verify", ExitCode.GATE_NOT_MET), ("cancel", ExitCode.DONE)):
        result = run(verb, plan)
        assert result.exit_code == code, result.output
        assert f"prod: {FOREIGN}. If an interrupted run set it" in result.stderr
        assert f"kraftgate move cancel {plan} --config FILE`" in result.stderr
        assert f"--bootstrap-server b:9000 --alter {DELETE}" in result.stderr
    assert kafka.own == "1000"
    shutil.rmtree(_state(tmp_path))
    here.rename(_state(tmp_path))
    result = run("cancel", plan)
    assert (result.exit_code, result.stderr) == (ExitCode.DONE, "")
    assert kafka.own is None


def test_a_throttle_that_another_client_set_meanwhile_is_named(
    run: Callable[..., Result], kafka: Kafka, plan: Path
) -> None:
    alter = kafka.alter

    def changed(
        broker: int, targets: Mapping[TopicPartition, str]
    ) -> Maybe[Mapping[TopicPartition, str]]:
        kafka.own = "60000000"
        return alter(broker, targets)

    kafka.alter = changed  # type: ignore[method-assign]
    result = run("apply", plan, "--yes", "--throttle", 1000)
    assert (result.exit_code, result.stderr) == (
        ExitCode.DONE,
        "prod: broker 1 has the throttle 60000000, which another client set: it stays\n",
    )
    assert kafka.own == "60000000"


DELETE = f"--entity-type brokers --entity-name 1 --delete-config {THROTTLE}"


def test_a_throttle_that_was_there_before_a_run_is_not_named(
    run: Callable[..., Result], kafka: Kafka, plan: Path
) -> None:
    kafka.own = "1000"
    assert FOREIGN in run("verify", plan).stderr
    assert run("apply", plan, "--yes", "--throttle", 7).exit_code == ExitCode.DONE
    assert kafka.own == "1000"
    for verb in ("verify", "cancel"):
        result = run(verb, plan)
        assert (result.exit_code, result.stderr) == (ExitCode.DONE, "")


def test_a_throttle_that_cannot_be_read_is_named(
    run: Callable[..., Result], kafka: Kafka, plan: Path
) -> None:
    def denied(*_: object) -> NoReturn:
        raise NotAuthorized("DESCRIBE_CONFIGS on CLUSTER is needed")

    kafka.throttle = denied  # type: ignore[method-assign,assignment]
    result = run("cancel", plan)
    assert result.exit_code == ExitCode.DONE
    assert (
        "broker 1: whether it has a throttle is unknown: DESCRIBE_CONFIGS on CLUSTER is needed"
        in result.stderr
    )


def test_the_lock_of_another_orchestrator_ends_with_1(
    run: Callable[..., Result], kafka: Kafka, plan: Path, tmp_path: Path
) -> None:
    assert run("apply", plan, "--yes").exit_code == ExitCode.DONE
    kafka.sent.clear()
    state = _state(tmp_path)
    with AuditLog.open(state / AUDIT_FILE) as log:
        lock = StoreLock(state, "prod", log, Owner.myself(0))
        lock.acquire()
        for verb in (("apply", "--yes"), ("cancel",)):
            result = run(*verb, plan)
            assert result.exit_code == ExitCode.FAILED
            assert "acts on prod with this state directory: end it first" in result.stderr
        lock.release()
    assert not kafka.sent


def test_the_line_has_rate_and_time_left() -> None:
    done = Measured(1, 3, 300, 900)
    assert moving_line("prod", done, Step({}, (), {}), 100.0) == (
        "prod: 1 of 3 replicas, 300 B of 900 B, 100 B/s, 6s left"
    )
    throttled = replace(done, seconds_min=60.0)  # a quota lets more pass at the beginning
    assert moving_line("prod", throttled, Step({}, (), {}), 100.0).endswith("100 B/s, 1m00s left")
    silent = moving_line("prod", done, Step({}, (), {2: "b2 refused"}), None)
    assert silent.endswith("no rate yet, broker 2 does not answer: b2 refused")
    assert moving_line("prod", done, Step({}, (), {}), None, ("it is so",)).endswith(", it is so")


@pytest.mark.parametrize("is_ignored", [False, True])
def test_a_terminal_that_is_closed_ends_the_command_in_good_order(*, is_ignored: bool) -> None:
    """Under nohup it ignores that."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
    try:
        with Stop() as stop:
            signal.raise_signal(signal.SIGHUP)
            assert stop.is_set() is not is_ignored
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
def test_a_signal_at_any_moment_of_a_wait_ends_it() -> None:
    """The lock of an Event, held by the wait that is interrupted, stopped `move apply` for ever."""
    waits = """
import signal
from orchestrator.views.terminal.live import Stop
for _ in range(3000):
    with Stop() as stop:
        signal.signal(signal.SIGALRM, lambda number, frame: stop._on_signal(signal.SIGINT, frame))
        signal.setitimer(signal.ITIMER_REAL, 0.0002)
        while not stop.wait(0.00001):
            pass
"""
    done = subprocess.run([sys.executable, "-c", waits], timeout=PATIENCE_S, check=False)
    assert done.returncode == 0


@pytest.mark.slow
def test_a_wait_that_is_over_at_once_returns() -> None:
    """CPython's SimpleQueue waits for ever if its time is over before the thread sleeps."""
    waits = """
from orchestrator.views.terminal.live import Stop
for _ in range(30_000):
    assert not Stop().wait(0.000001)
"""
    done = subprocess.run([sys.executable, "-c", waits], timeout=PATIENCE_S, check=False)
    assert done.returncode == 0


def test_several_signals_at_once_interrupt_nothing() -> None:
    """A host that goes down sends SIGTERM and SIGHUP; the throttles must be restored."""
    with Stop() as stop:
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.raise_signal(number)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_an_output_that_is_closed_does_not_end_the_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("orchestrator.views.terminal.moves.echo", closed)
    with MovesView("prod", None) as view:
        for completed in (0, 1):
            view.show(Measured(completed, 2, 0, 10), Step({}, (), {}), ())


@pytest.mark.parametrize("verb", [("apply", "--yes"), ("cancel",)], ids=lambda verb: verb[0])
def test_a_last_line_that_nobody_reads_changes_no_exit_code(
    run: Callable[..., Result],
    kafka: Kafka,
    plan: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: tuple[str, ...],
) -> None:
    """Such as `move apply PLAN.json --yes | head -1`."""

    def closed(_: str, *, err: bool = False) -> None:
        if not err:
            raise BrokenPipeError

    monkeypatch.setattr("orchestrator.output.printing.echo", closed)
    monkeypatch.setattr("orchestrator.views.terminal.moves.echo", closed)
    monkeypatch.setattr(command, "echo", closed)
    result = run(*verb, plan)
    assert (result.exit_code, result.stderr) == (ExitCode.DONE, "")
    assert len(kafka.sent) == (2 if "apply" in verb else 0)


def test_on_a_terminal_the_line_has_a_bar() -> None:
    terminal = Console(width=100, file=(sink := io.StringIO()), force_terminal=True)
    with MovesView("prod", terminal) as view:
        view.show(Measured(0, 2, 50, 100), Step({}, (), {}), ())
    assert f"[{'#' * 15}{'-' * 15}] prod: 0 of 2 replicas" in sink.getvalue()


def test_a_plan_without_moves_has_a_bar() -> None:
    """It is applied to restore a throttle."""
    terminal = Console(width=100, file=(sink := io.StringIO()), force_terminal=True)
    with MovesView("prod", terminal) as view:
        view.show(Measured(0, 0, 0, 0), Step({}, (), {}), ())
    assert f"[{'#' * 30}] prod: 0 of 0 replicas" in sink.getvalue()


def test_on_a_terminal_a_stall_is_complete_below_the_line() -> None:
    terminal = Console(width=40, file=(sink := io.StringIO()), force_terminal=True)
    stalled = f"broker 1 {'waits ' * 12}to end: kraftgate move cancel plan.json"
    with MovesView("prod", terminal) as view:
        view.show(Measured(0, 2, 50, 100), Step({}, (), {}), (stalled,))
    assert stalled in " ".join(sink.getvalue().split())


def test_in_a_log_a_stall_is_a_line_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with MovesView("prod", None) as view:
        for stalled in ((), (), ("broker 1 waits for 1m00s",), ("broker 1 waits for 1m01s",)):
            view.show(Measured(0, 2, 50, 100), Step({}, (), {}), stalled)
    lines = capsys.readouterr().out.splitlines()
    assert [each.endswith("broker 1 waits for 1m00s") for each in lines] == [False, True]
