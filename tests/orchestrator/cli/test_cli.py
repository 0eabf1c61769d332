"""The command line: what it prints, where, and the exit code it ends with."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from migration.image.summary import ClusterSummary, Phase
from migration.metadata.events import Event
from orchestrator.cli import replay as replay_command
from orchestrator.cli.framework import LazyCommand
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from streams.state.claim import LOCK_FILE, claimed
from tests.scenes.night import EVENTS, FRESH, NOW_MS, cluster, kraft
from tests.support.fake_store import FakeStore, write_status


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("command", [(), ("run",), ("status",), ("wait",), ("replay",)])
def test_every_help_has_an_example(command: tuple[str, ...]) -> None:
    result = invoke(*command, "--help")
    assert result.exit_code == ExitCode.DONE
    assert "\n  Example" in result.stdout
    assert "  kraftgate " in result.stdout
    assert "\x08" not in result.stdout


def helps(command: click.Command, parent: click.Context | None = None) -> Iterator[click.Context]:
    """The context of each command, on a terminal of 80 columns."""
    command = command.load() if isinstance(command, LazyCommand) else command
    context = click.Context(command, info_name=command.name, parent=parent, terminal_width=80)
    yield context
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from helps(inner, context)


def test_every_help_fits_into_80_columns_and_cuts_no_sentence() -> None:
    for context in helps(main):
        text = context.command.get_help(context)
        assert [line for line in text.splitlines() if len(line) > 80] == []
        if isinstance(context.command, click.Group):
            words = " ".join(text.replace("-\n", "- ").split()).replace("- ", "-")
            for name, inner in context.command.commands.items():
                assert f"{name} {inner.get_short_help_str(999)}" in words


def test_help_imports_neither_spark_nor_pydantic_nor_rich() -> None:
    code = (
        "import sys, orchestrator.cli.program as c\n"
        "try: c.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('pyspark', 'pydantic', 'rich', 'yaml') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_the_version_is_printed() -> None:
    assert invoke("--version").stdout.startswith("kraftgate, version ")


def test_the_listed_help_is_the_beginning_of_each_command_s_own() -> None:
    for name, command in main.commands.items():
        assert isinstance(command, LazyCommand)
        loaded = command.load()
        assert loaded.name == name
        if not isinstance(loaded, click.Group):
            assert command.short_help == loaded.get_short_help_str(99)


def test_the_lab_is_listed_without_being_imported() -> None:
    assert "  lab " in invoke("--help").stdout
    lost = LazyCommand("lost", "orchestrator.no_such_module", "Not there.")
    with pytest.raises(click.UsageError, match="`lost` is not part of this build"):
        lost.make_context("lost", [])


def test_a_bad_configuration_ends_with_2_and_every_problem(tmp_path: Path) -> None:
    file = tmp_path / "kraftgate.yaml"
    file.write_text("cluster: {name: prod}\nzookeper: {}\nstall: {after: 5}\n")
    for command in ("run", "status"):
        result = invoke(command, "--config", file)
        assert result.exit_code == ExitCode.USAGE
        assert result.stdout == ""
        assert result.stderr.splitlines() == [
            f"{file}:2: unknown key `zookeper` in the top level; did you mean `zookeeper`?",
            f"{file}:3: `stall.after`: the duration 5 has no unit: write 5s, 5m or 5h",
        ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--until", "finalised"), "unknown condition `finalised`; did you mean `finalized`?"),
        (
            ("--until", "soak(10m)"),
            "the other conditions hold: use kraftgate wait with several --condition",
        ),
        (
            ("--timeout", "5m"),
            "--timeout needs --until: add the condition that must hold within that time",
        ),
        (
            ("--until", "finalized", "--timeout", "5"),
            "the duration 5 has no unit: write 5s, 5m or 5h",
        ),
    ],
)
def test_a_wrong_option_ends_with_2(arguments: tuple[str, ...], said: str) -> None:
    result = invoke("run", *arguments)
    assert result.exit_code == ExitCode.USAGE
    assert result.stderr.splitlines()[-1].endswith(said)


_START_IF_DEAD = "Start kraftgate run, or restart it if it hangs"


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("claimed_s", "starts"), [(10, True), (130, False)])
def test_a_run_that_starts_is_not_to_be_started(
    tmp_path: Path, config_file: Path, claimed_s: int, *, starts: bool
) -> None:
    """After kill -9, the last reports are those of the process before."""
    state = tmp_path / "state"
    write_status(state, "prod", replace(FRESH, observed_ms=NOW_MS - 19_000))
    since = datetime.fromtimestamp(NOW_MS / 1000 - claimed_s, UTC).isoformat()
    with claimed(state):
        lock = state / LOCK_FILE
        lock.write_text(json.dumps(json.loads(lock.read_text()) | {"since": since}))
        said = " ".join(invoke("status", "--config", config_file).stdout.split())
    assert ("Waiting for the metadata log to be read: kraftgate run starts" in said) is starts
    assert (f"{_START_IF_DEAD}: it last reported 19 s ago" in said) is not starts


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("damage", ["a directory", "a pipe", "a claim without a time"])
def test_status_does_not_depend_on_the_lock(tmp_path: Path, config_file: Path, damage: str) -> None:
    state = tmp_path / "state"
    write_status(state, "prod", replace(FRESH, observed_ms=NOW_MS - 19_000))
    lock = state / LOCK_FILE
    with claimed(state):
        claim = json.loads(lock.read_text())
        lock.unlink()
        match damage:
            case "a directory":
                lock.mkdir()
            case "a pipe":
                os.mkfifo(lock)
            case _:
                lock.write_text(json.dumps(claim | {"since": "just now"}))
        said = " ".join(invoke("status", "--config", config_file).stdout.split())
        start = _START_IF_DEAD if damage == "a claim without a time" else "Start kraftgate run"
        assert f"{start}: it last reported 19 s ago" in said


def test_status_prints_the_state_and_ends_with_0(config_file: Path, store: FakeStore) -> None:
    del store
    result = invoke("status", "--config", config_file)
    assert result.exit_code == ExitCode.DONE, result.stderr
    assert "now: Waiting for broker 3: 12 of 64 replicas have no directory" in result.stdout
    assert result.stderr == ""


def test_status_as_json_is_one_object(config_file: Path, store: FakeStore) -> None:
    del store
    result = invoke("status", "--config", config_file, "--json")
    assert result.exit_code == ExitCode.DONE, result.stderr
    state = json.loads(result.stdout)
    assert state["phase"] == "hybrid"
    assert len(state["events"]) == len(EVENTS)
    assert "broker 3 is held" in state["waiting_for"][0]


def test_status_of_several_clusters_is_a_list(config_file: Path, store: FakeStore) -> None:
    config_file.write_text(
        "state_dir: state\nclusters:\n- {name: prod, controllers: {bootstrap: 'c1:1'}}\n"
        "- {name: test}\n"
    )
    del store
    result = invoke("status", "--config", config_file, "--json")
    assert result.exit_code == ExitCode.NO_DATA
    found = json.loads(result.stdout)["clusters"]
    assert [one["cluster"] for one in found] == ["prod", "test"]
    assert result.stderr == (
        "kraftgate: test: no data, waiting for the KRaft controllers to be provisioned: none has"
        " answered yet (kraftgate.yaml names no `controllers` for test)\n"
    )


def test_status_of_one_of_several_clusters_is_that_cluster(
    config_file: Path, store: FakeStore
) -> None:
    config_file.write_text(
        "state_dir: state\nclusters:\n- {name: prod, controllers: {bootstrap: 'c1:1'}}\n"
        "- {name: test}\n"
    )
    del store
    result = invoke("status", "--config", config_file, "--json", "--cluster", "prod")
    assert result.exit_code == ExitCode.DONE
    assert json.loads(result.stdout)["cluster"] == "prod"
    result = invoke("status", "--config", config_file, "--cluster", "prd")
    assert result.exit_code == ExitCode.USAGE
    assert "no cluster prd. Configured clusters: prod, test" in result.stderr


def test_hazards_of_one_of_several_clusters_are_that_clusters(config_file: Path) -> None:
    config_file.write_text("state_dir: state\nclusters: [{name: prod}, {name: test}]\n")
    result = invoke("hazards", "--config", config_file, "--json", "--cluster", "test")
    found = json.loads(result.stdout)
    assert (found["cluster"], found["hazards"]) == ("test", [])
    assert "prod" not in result.output
    result = invoke("hazards", "--config", config_file, "--cluster", "prd")
    assert result.exit_code == ExitCode.USAGE
    assert "no cluster prd. Configured clusters: prod, test" in result.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_each_shell_gets_its_completion(shell: str) -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "orchestrator"],
        env={**os.environ, "_KRAFTGATE_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "_KRAFTGATE_COMPLETE" in printed
    assert f"{shell}_complete" in printed


@pytest.mark.slow
def test_execute_asks_on_a_terminal_for_the_cluster_s_name(tmp_path: Path) -> None:
    file = tmp_path / "kraftgate.yaml"
    hooks = Path("runbooks/hooks/lab.yaml").resolve()
    file.write_text(
        "cluster: {name: prod}\ncontrollers: {bootstrap: '127.0.0.1:1'}\nstate_dir: state\n"
        f"runbook: {{file: zk-to-kraft-jbod, hooks: {hooks}}}\n"
    )
    asked, stdin = pty.openpty()
    command = [sys.executable, "-m", "orchestrator", "run", "--execute", "--config", str(file)]
    with subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        os.write(asked, b"test\n")
        _, errors = run.communicate()
    os.close(asked)
    os.close(stdin)
    assert run.returncode == ExitCode.USAGE
    assert b"Type prod to begin" in errors
    assert b"nothing was begun: 'test' is not prod" in errors
    assert not (tmp_path / "state").exists()


def test_stale_data_is_printed_and_ends_with_4(
    config_file: Path, store: FakeStore, tmp_path: Path
) -> None:
    del store
    write_status(tmp_path / "state", "prod", replace(FRESH, last_reply_ms=NOW_MS - 16_000))
    result = invoke("status", "--config", config_file, "--json")
    assert result.exit_code == ExitCode.NO_DATA
    assert json.loads(result.stdout)["stale_seconds"] == 16.0
    assert result.stderr == (
        "kraftgate: prod: stale data, waiting for a controller to answer:"
        " the last reply from 127.0.0.1:9093 is 16 s old\n"
    )


def test_no_data_ends_with_4(config_file: Path) -> None:
    result = invoke("status", "--config", config_file, "--json")
    assert result.exit_code == ExitCode.NO_DATA
    assert json.loads(result.stdout)["metadata_offset"] is None
    assert "no data, waiting for kraftgate run: nothing has been observed yet" in result.stderr


def test_an_unreadable_source_status_is_no_data(
    config_file: Path, store: FakeStore, tmp_path: Path
) -> None:
    del store
    (tmp_path / "state" / "clusters" / "prod" / "source.json").write_text("{")
    assert invoke("status", "--config", config_file).exit_code == ExitCode.NO_DATA


@dataclass
class Outcome:
    """What the job's replay returns."""

    summary: ClusterSummary | None
    events: list[Event]
    damage: str | None


def replayed(monkeypatch: pytest.MonkeyPatch, outcome: Outcome) -> None:
    monkeypatch.setattr(replay_command, "replayed", lambda *_: outcome)


def test_replay_prints_the_contract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = Outcome(cluster(Phase.FINALIZED, kraft(1)), [e for _, e in EVENTS], None)
    replayed(monkeypatch, done)
    result = invoke("replay", tmp_path, "--json")
    assert result.exit_code == ExitCode.DONE
    state = json.loads(result.stdout)
    assert (state["phase"], state["brokers"][0]["registered_offset"]) == ("finalized", 645)
    readable = invoke("replay", tmp_path)
    assert readable.exit_code == ExitCode.DONE
    assert "broker 1 is held: 32 replicas have no known directory" in readable.stdout
    assert "unfenced early" in readable.stdout


@pytest.mark.parametrize("summary", [cluster(Phase.HYBRID, kraft(1)), None])
def test_a_damaged_file_ends_with_1_and_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, summary: ClusterSummary | None
) -> None:
    damage = "00000000000000000000.log: byte 4096: the CRC is 1, the batch says 2"
    replayed(monkeypatch, Outcome(summary, [], damage))
    result = invoke("replay", tmp_path, "--json")
    assert result.exit_code == ExitCode.FAILED
    assert result.stderr == f"kraftgate: {damage}\n"
    state = json.loads(result.stdout)
    assert (state["complete"], state["phase"]) == (False, summary and "hybrid")


@pytest.mark.parametrize("damage", [None, "00000000000000000000.log, byte 0: it is cut"])
def test_a_log_of_which_nothing_was_read_has_no_known_phase(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: str | None
) -> None:
    replayed(monkeypatch, Outcome(None, [], damage))
    for arguments in ((), ("--json",)):
        result = invoke("replay", tmp_path, *arguments)
        if damage is None:
            assert result.exit_code == ExitCode.NO_DATA
            assert (
                f"kraftgate: {tmp_path}: no record was read: its files have none" in result.stderr
            )
        else:
            assert (result.exit_code, result.stderr) == (ExitCode.FAILED, f"kraftgate: {damage}\n")
        assert "zookeeper" not in result.stdout
    assert json.loads(result.stdout)["phase"] is None
    readable = invoke("replay", tmp_path).stdout.strip()
    assert readable == "replay  phase unknown: no record was read"


def test_a_path_that_is_not_there_ends_with_2(tmp_path: Path) -> None:
    assert invoke("replay", tmp_path / "none").exit_code == ExitCode.USAGE
