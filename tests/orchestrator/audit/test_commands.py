"""`kraftgate audit`: what it prints, and the exit code it ends with."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.audit import AuditLog
from orchestrator.audit.database import has_trail
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Person
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from tests.orchestrator.audit.tampering import ENTRIES, tamper, written

OTHER = "0" * 63 + "1"
_ORACLE = Path(__file__).with_name("oracle.py")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "kraftgate.yaml"
    file.write_text("cluster: {name: prod}\nstate_dir: state\n")
    return file


@pytest.fixture
def path(config: Path) -> Path:
    written(config.parent / "state")
    return config.parent / "state" / "audit.db"


def audit(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["audit", *arguments, "--config", str(config)])


def judged_apart(text: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-I", str(_ORACLE)],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("path")
def test_an_export_is_verified_without_kraftgate(config: Path) -> None:
    exported = audit(config, "export")
    verified = json.loads(audit(config, "verify", "--json").stdout)
    assert exported.exit_code == ExitCode.DONE
    assert judged_apart(exported.stdout).stdout.split() == [str(ENTRIES), verified["head"]]
    lines = exported.stdout.splitlines(keepends=True)
    assert judged_apart("".join(lines[1:])).returncode == 1
    assert judged_apart(exported.stdout.replace('"number":4', '"number":5')).returncode == 1


def test_an_export_is_the_same_in_every_locale(config: Path, path: Path) -> None:
    with AuditLog.open(path) as log:
        log.append("prod", "decision", {"who": "J\u00f6rg", "reason": "\u2014 \u65e5\u672c"}, 9)
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", "audit", "export", "--config", str(config)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        check=True,
    )
    assert "J\u00f6rg" in done.stdout.decode()
    assert judged_apart(done.stdout.decode()).stdout.split()[0] == str(ENTRIES + 1)


@pytest.mark.usefixtures("path")
def test_an_export_can_be_of_one_cluster_and_go_on(config: Path) -> None:
    lines = audit(config, "export", "--cluster", "prod", "--after", "3").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert [each["sequence"] for each in found] == [5, 6]
    assert {each["cluster"] for each in found} == {"prod"}


def test_an_intact_log_ends_with_0_and_a_broken_one_with_1(config: Path, path: Path) -> None:
    result = audit(config, "verify")
    assert result.exit_code == ExitCode.DONE
    head = result.stdout.split()[-1]
    assert audit(config, "verify", "--head", head).exit_code == ExitCode.DONE
    assert audit(config, "verify", "--head", OTHER).exit_code == ExitCode.FAILED
    tamper(path, ("UPDATE entries SET at_ms = 1 WHERE sequence = 4", ()))
    result = audit(config, "verify", "--json")
    assert result.exit_code == ExitCode.FAILED
    assert "entry 4 was changed" in result.stderr
    told = json.loads(result.stdout)
    assert (told["ok"], told["entries"], told["first_bad"]) == (False, 3, 4)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE entries SET at_ms = 1 WHERE sequence = 4", "entry 4 was changed"),
        ("DELETE FROM entries WHERE sequence > 5", "its end is missing"),
    ],
)
@pytest.mark.parametrize("command", ["show --last 1", "show --json", "export --after 4"])
def test_a_damaged_log_is_printed_and_ends_with_1(
    config: Path, path: Path, change: str, why: str, command: str
) -> None:
    tamper(path, (change, ()))
    result = audit(config, *command.split())
    assert result.exit_code == ExitCode.FAILED
    assert result.stdout
    assert f"{path} is not intact: " in result.stderr
    assert why in result.stderr


@pytest.mark.usefixtures("path")
def test_a_head_may_be_written_in_any_way(config: Path) -> None:
    head = audit(config, "verify").stdout.split()[-1]
    for noted in (f" {head}\n", head.upper(), head.removeprefix("sha256:").upper()):
        assert audit(config, "verify", "--head", noted).exit_code == ExitCode.DONE


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("text", ["", "00", "sha256:9f86d08188...", "g" * 64, f"md5:{OTHER}"])
def test_a_text_that_is_no_head_is_a_usage_error(config: Path, text: str) -> None:
    result = audit(config, "verify", "--head", text)
    assert (result.exit_code, result.stdout) == (ExitCode.USAGE, "")
    assert "64 hexadecimal digits" in result.stderr


@pytest.mark.parametrize("command", ["verify", "export", "show"])
def test_without_a_log_it_ends_with_4(config: Path, command: str) -> None:
    result = audit(config, command)
    assert result.exit_code == ExitCode.NO_DATA
    assert "audit.db does not exist" in result.stderr


def test_a_log_without_an_entry_is_not_intact(config: Path) -> None:
    """`kraftgate run` opened it, and ended before its first tick."""
    (config.parent / "state").mkdir()
    AuditLog.open(config.parent / "state" / "audit.db").close()
    result = audit(config, "verify")
    assert result.exit_code == ExitCode.NO_DATA
    assert "the audit trail has no entry yet" in result.stderr


def test_a_log_without_its_newest_file_is_not_given_up(config: Path, path: Path) -> None:
    """Only audit.db was copied, after a kill."""
    for each in path.parent.glob("audit.db*"):
        each.unlink()
    path.touch()
    result = audit(config, "verify")
    assert result.exit_code == ExitCode.FAILED
    assert f"the trail had {ENTRIES} entries: restore audit.db-wal" in result.stderr


@pytest.mark.parametrize(
    "command", [["verify"], ["verify", "--head", OTHER], ["show"], ["export"]], ids=" ".join
)
def test_a_log_that_was_deleted_ends_with_1(config: Path, path: Path, command: list[str]) -> None:
    for each in path.parent.glob("audit.db*"):
        each.unlink()
    result = audit(config, *command)
    assert result.exit_code == ExitCode.FAILED
    assert f"audit.head says that it had {ENTRIES} entries" in result.stderr
    assert "no entry yet" not in result.stderr


def test_a_pipe_for_a_head_is_not_waited_for(config: Path, path: Path) -> None:
    head = path.with_suffix(".head")
    head.unlink()
    os.mkfifo(head)
    result = audit(config, "verify")
    assert result.exit_code == ExitCode.FAILED
    assert f"{head} cannot be read: it is not a file" in result.stderr


def test_show_has_a_line_for_each_entry_the_newest_last(config: Path, path: Path) -> None:
    with AuditLog.open(path) as log:
        anna = Person(who="anna", login="anna", host="ops1")
        body = entries.Approved(checkpoint="finalize", by=anna, reason="soak done", basis={})
        log.append("prod", body.kind, body.as_json(), 1_795_000_000_000)
    lines = audit(config, "show", "--last", "2").stdout.splitlines()
    assert len(lines) == 2
    assert lines[1] == (
        "2026-11-18 11:06:40 UTC  prod #8  anna@ops1  anna approved finalize: soak done"
    )
    assert "kraftgate  gate_judged" in lines[0]
    told = json.loads(audit(config, "show", "--last", "2", "--json").stdout)["entries"]
    assert [each["sequence"] for each in told] == [7, 8]
    assert told[1]["body"]["reason"] == "soak done"
    assert len(audit(config, "show", "--cluster", "test").stdout.splitlines()) == 3


def test_show_folds_the_evaluations_of_one_checkpoint(config: Path, path: Path) -> None:
    with AuditLog.open(path) as log:
        for part in ("needs", "opens_when", "needs", "needs", "opens_when"):
            body = entries.Evaluated.model_validate(
                {
                    "checkpoint": "copied",
                    "part": part,
                    "verdict": "waiting",
                    "findings": [],
                    "facts": {},
                }
            )
            log.append("prod", body.kind, body.as_json(), 1_795_000_000_000)
    lines = audit(config, "show", "--last", "5").stdout.splitlines()
    assert [line.partition("kraftgate  ")[2] for line in lines] == [
        "the guards of copied do not hold (checked 3 times)",
        "the gate of copied is closed (checked 2 times)",
    ]


@pytest.mark.usefixtures("path")
def test_a_cluster_that_nobody_knows_is_a_usage_error(config: Path) -> None:
    result = audit(config, "show", "--cluster", "prd")
    assert result.exit_code == ExitCode.USAGE
    assert "'prd'" in result.stderr


def test_every_help_has_an_example() -> None:
    for command in ([], ["verify"], ["export"], ["show"]):
        result = CliRunner().invoke(main, ["audit", *command, "--help"])
        assert "\n  Example:" in result.stdout


@pytest.mark.usefixtures("path")
def test_an_export_does_not_begin_behind_the_end(config: Path) -> None:
    assert audit(config, "export", "--after", str(ENTRIES)).exit_code == ExitCode.DONE
    behind = audit(config, "export", "--after", str(ENTRIES + 1))
    assert behind.exit_code == ExitCode.USAGE
    assert f"the audit trail ends with entry {ENTRIES}" in behind.stderr


def test_a_trail_that_may_not_be_looked_for_may_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening it then names the owner of the directory, and the fix."""

    def refuses(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    assert not has_trail(tmp_path / "audit.db")
    monkeypatch.setattr(Path, "exists", refuses)
    assert has_trail(tmp_path / "audit.db")
