"""`kraftgate hooks check`: what it prints, and its exit codes; the cluster is not there."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from migration.observed.probed import Broker, Controller, Facts, Topics, Unknown
from orchestrator.cli import hooks as command
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from orchestrator.runbook.load import load
from streams.probe.gather import Target

HOOKS = """\
hooks: 1
explain: Nothing.
steps:
  enter-kraft:
    argv: ["true", "{host}", "to kraft"]
    timeout: 90s
    check: {argv: [sh, -c, "echo no route to $1 >&2; exit $2", "-", "{host}", "{broker}"]}
  finalize: {argv: ["true", "{host}"]}
"""
CONFIG = """\
cluster: {name: prod}
brokers: {bootstrap: "127.0.0.1:1"}
state_dir: state
runbook: {file: zk-to-kraft-jbod, hooks: hooks.yaml}
"""


def known(target: Target) -> Facts:
    brokers = (Broker(id=0, endpoint="k0:9092"), Broker(id=3, endpoint="k3:9092"))
    topics = Topics(cluster_id="x", broker_ids=frozenset({0, 3}), partitions=())
    return Facts(cluster=target.cluster, topics=topics, brokers=brokers)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of a cluster whose brokers 0 and 3 are known."""
    (tmp_path / "kraftgate.yaml").write_text(CONFIG, "utf-8")
    (tmp_path / "hooks.yaml").write_text(HOOKS, "utf-8")

    monkeypatch.setattr(command, "gather", known)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*words: str) -> Result:
    return CliRunner().invoke(main, ["hooks", "check", *words])


EXPECTED = """\
ok      brokers-kraft[0]
        runs    true k0 'to kraft'  (at most 1m30s)
        check   sh -c 'echo no route to $1 >&2; exit $2' - k0 0

failed  brokers-kraft[3]
        runs    true k3 'to kraft'  (at most 1m30s)
        check   sh -c 'echo no route to $1 >&2; exit $2' - k3 3
        why     its check ended with exit code 3
                no route to k3

later   finalize[each controller]
        runs    true '{host}'  (at most 15m)
        why     which controllers there are is not known yet

3 commands: 1 ok, 1 failed, 1 later
"""


def test_every_command_is_printed_complete_with_what_is_wrong(folder: Path) -> None:
    done = check()
    assert done.exit_code == ExitCode.FAILED
    head, _, rest = done.stdout.partition("\n\n")
    assert rest == EXPECTED
    lines = head.splitlines()
    assert lines[0] == f"Hooks of cluster prod: {folder}/hooks.yaml"
    assert lines[1] == f"runbook {load('zk-to-kraft-jbod').path}"
    assert lines[2].startswith("every command gets ")
    assert "KRAFTGATE_BROKER, KRAFTGATE_CHECKPOINT, KRAFTGATE_CLUSTER" in lines[2]
    assert done.stderr == "kraftgate: these commands would fail: prod: brokers-kraft[3]\n"


def test_the_json_has_all_of_it(folder: Path) -> None:
    done = check("--json")
    found = json.loads(done.stdout)
    assert (found["cluster"], found["file"]) == ("prod", str(folder / "hooks.yaml"))
    assert (found["reached"], found["failed"]) == (True, ["brokers-kraft[3]"])
    first, second, last = found["hooks"]
    assert first["command"] == ["true", "k0", "to kraft"]
    assert (first["verdict"], first["timeout"], first["problem"]) == ("ok", "1m30s", None)
    assert "KRAFTGATE_BROKER" in first["environment"]
    assert second["output"] == ["no route to k3"]
    assert (last["verdict"], last["check"]) == ("later", None)


@pytest.mark.usefixtures("folder")
def test_a_controller_without_a_known_id_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its command was neither made nor checked, so the report is not complete."""
    silent = Unknown("DESCRIBE_CONFIGS on CLUSTER is needed")
    controllers = (
        Controller(endpoint="c1:9093", node_id=3000),
        Controller(endpoint="c2:9093", node_id=silent),
        Controller(endpoint="c3:9093", unreachable="c3:9093 refused"),
    )
    monkeypatch.setattr(command, "gather", lambda at: replace(known(at), controllers=controllers))
    lines = [
        "controller at c2:9093: DESCRIBE_CONFIGS on CLUSTER is needed",
        "controller at c3:9093: c3:9093 refused",
    ]
    done = check()
    head, _, rest = done.stdout.partition("\n\n")
    assert {f"not known: {line}" for line in lines} <= set(head.splitlines())
    assert "ok      finalize[3000]" in rest
    assert "later   finalize[each controller]" in rest
    assert "why     2 configured controllers with an unknown id" in rest
    found = json.loads(check("--json").stdout)
    assert set(lines) <= set(found["not_known"])
    verdicts = {each["id"]: each["verdict"] for each in found["hooks"]}
    assert verdicts["finalize[3000]"] == "ok"
    assert verdicts["finalize[each controller]"] == "later"


def test_another_file_may_be_named_and_0_means_that_nothing_is_wrong(folder: Path) -> None:
    other = folder / "other.yaml"
    other.write_text(HOOKS.replace("exit $2", "exit 0"), "utf-8")
    done = check(str(other))
    assert done.exit_code == ExitCode.DONE
    assert "3 commands: 2 ok, 0 failed, 1 later" in done.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HOOKS.replace("enter-kraft", "enter-craft"), "hooks.yaml:4: no step is called"),
        (HOOKS.replace("{host}", "{hst}"), "hooks.yaml:5: unknown field {hst}"),
        (HOOKS + "pass_env: [NOT_SET_ANYWHERE]\n", "which is not set where kraftgate runs"),
    ],
)
def test_a_file_that_cannot_be_used_ends_with_2(folder: Path, text: str, said: str) -> None:
    (folder / "hooks.yaml").write_text(text, "utf-8")
    done = check()
    assert (done.exit_code, done.stdout) == (ExitCode.USAGE, "")
    assert said in done.stderr


def test_without_hooks_the_key_is_named(folder: Path) -> None:
    file = folder / "kraftgate.yaml"
    file.write_text(CONFIG.replace(", hooks: hooks.yaml", ""), "utf-8")
    done = check()
    assert done.exit_code == ExitCode.USAGE
    assert "has no `runbook.hooks`" in done.stderr
    assert check("no-such-file.yaml").exit_code == ExitCode.USAGE


def test_a_cluster_that_cannot_be_reached_ends_with_4(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    done = check("--config", str(folder / "kraftgate.yaml"))
    assert done.exit_code == ExitCode.NO_DATA
    assert "prod cannot be reached: its hosts are unknown" in done.stderr
    assert "later   brokers-kraft[each broker]" in done.stdout
