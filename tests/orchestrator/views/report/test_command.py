"""`kraftgate report`: its formats, where it writes, and how it ends."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from migration.observed.facts import ZooKeeperBlind
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from orchestrator.views.report.gather import READ_AGAIN
from streams.state.journal import Journal
from streams.state.recovery import NEW_STORE
from tests.orchestrator.audit.tampering import rewritten, sealed, tamper
from tests.orchestrator.views.report.making import CONFIG, Made, T, finalized
from tests.orchestrator.views.report.night import follow, night
from tests.orchestrator.views.report.reporting import run
from tests.scenes.night import kraft
from tests.support.small_volume import read_only

PLOTS = "orchestrator.views.report.formats.plots"
BOTH = """clusters:
  - {name: prod, zookeeper: {connect: 'zk1:2181'}}
  - {name: other, zookeeper: {connect: 'zk2:2181'}}
state_dir: state
"""


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return night(tmp_path)


def test_a_page_by_default(made: Made) -> None:
    done = run(made)
    assert done.exit_code == ExitCode.DONE
    assert done.stdout.startswith("<!doctype html>")
    assert done.stderr == ""


def test_a_missing_file_of_a_secret_is_a_warning(
    made: Made, caplog: pytest.LogCaptureFixture
) -> None:
    """A copy of the state directory is read where the secrets are not."""
    security = "{protocol: SASL_SSL, sasl_mechanism: PLAIN, username: u, password_file: absent}"
    text = made.config.read_text().replace("'c1:9093'", f"'c1:9093', security: {security}")
    made.config.write_text(text)
    done = run(made)
    assert done.exit_code == ExitCode.DONE, done.stderr
    assert done.stdout.startswith("<!doctype html>")
    (message,) = [each for each in caplog.messages if "cannot be used" in each]
    assert f"{made.config.parent / 'absent'} cannot be used" in message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "begins"),
    [("r.html", "<!doctype"), ("r.json", "{"), ("r.md", "# Kraftgate"), ("report", "<!doctype")],
)
def test_the_ending_of_the_file_says_the_format(made: Made, name: str, begins: str) -> None:
    out = made.config.with_name(name)
    done = run(made, "--out", str(out))
    assert (done.exit_code, done.stdout) == (ExitCode.DONE, "")
    assert out.read_text("utf-8").startswith(begins)
    assert [each.name for each in out.parent.glob("*.tmp")] == []


@pytest.mark.slow
def test_a_link_stays_and_its_target_is_written(made: Made) -> None:
    target, link = made.config.with_name("today.html"), made.config.with_name("latest.html")
    target.write_text("yesterday's")
    link.symlink_to(target)
    assert run(made, "--out", str(link)).exit_code == ExitCode.DONE
    assert link.is_symlink()
    assert target.read_text("utf-8").startswith("<!doctype")


def test_a_pipe_stays_and_gets_the_report(made: Made) -> None:
    """Or a device: `--out /dev/stdout`, as root, must not replace it."""
    pipe = made.config.with_name("pipe")
    os.mkfifo(pipe)
    alone = run(made, "--format", "json", "--out", str(pipe))
    assert alone.exit_code == ExitCode.FAILED
    assert f"{pipe} cannot be written: no process reads this pipe" in alone.stderr
    opened = os.open(pipe, os.O_RDWR)
    with (
        pipe.open("rb") as end,
        subprocess.Popen(["cat"], stdin=end, stdout=subprocess.PIPE) as reader,
    ):
        assert run(made, "--format", "json", "--out", str(pipe)).exit_code == ExitCode.DONE
        os.close(opened)
        assert reader.stdout is not None
        assert json.loads(reader.stdout.read())
    assert pipe.is_fifo()


@pytest.mark.slow
def test_stdout_that_is_a_file_keeps_what_it_has(made: Made) -> None:
    """As `>> log` leaves it open."""
    log = made.config.with_name("log")
    log.write_text("earlier\n")
    own = made.config.with_name("stdout")
    own.symlink_to("/proc/self/fd/1")  # as /dev/stdout is
    command = [sys.executable, "-m", "orchestrator", "report", "--config", str(made.config)]
    with log.open("a") as out:
        subprocess.run([*command, "--format", "json", "--out", own], stdout=out, check=True)
    earlier, _, rest = log.read_text().partition("\n")
    assert earlier == "earlier"
    assert json.loads(rest)


def test_what_is_asked_for_goes_before_the_ending(made: Made) -> None:
    out = made.config.with_name("r.txt")
    assert run(made, "--format", "markdown", "--out", str(out)).exit_code == ExitCode.DONE
    assert out.read_text("utf-8").startswith("# Kraftgate")


def test_only_the_page_needs_matplotlib(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, PLOTS, raising=False)
    for name in [each for each in sys.modules if each.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run(made)
    assert (done.exit_code, done.stdout) == (ExitCode.FAILED, "")
    assert "needs matplotlib, and there is no module matplotlib" in done.stderr
    assert "`kraftgate[report]`" in done.stderr
    for kind in ("json", "markdown"):
        assert run(made, "--format", kind).exit_code == ExitCode.DONE


def test_a_file_that_cannot_be_written_is_named(made: Made) -> None:
    done = run(made, "--format", "json", "--out", str(made.config.parent / "nowhere" / "r.json"))
    assert done.exit_code == ExitCode.FAILED
    assert "nowhere/r.json cannot be written: its directory does not exist" in done.stderr


@pytest.mark.parametrize(
    ("out", "because"),
    [
        ("state/audit.db", "is in the state directory"),
        ("state/clusters/prod/report.json", "is in the state directory"),
        ("link/store.db", "is in the state directory"),
        ("trail.json", "is in the state directory"),
        ("kraftgate.yaml", "is the configuration"),
        ("config.json", "is the configuration"),
    ],
)
def test_a_file_of_kraftgate_s_own_is_not_overwritten(made: Made, out: str, because: str) -> None:
    folder = made.config.parent
    (folder / "link").symlink_to(made.state)
    (folder / "trail.json").symlink_to(made.state / AUDIT_FILE)
    (folder / "config.json").symlink_to(made.config)
    before = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    done = run(made, "--format", "json", "--out", str(folder / out))
    assert (done.exit_code, done.stdout) == (ExitCode.USAGE, "")
    assert f"--out {folder / out}: this file {because}" in done.stderr
    assert {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()} == before


@pytest.mark.slow
def test_the_same_state_gives_the_same_report(made: Made) -> None:
    for format_ in ("html", "json", "markdown"):
        assert run(made, "--format", format_).stdout == run(made, "--format", format_).stdout


def test_it_changes_nothing_in_the_state_directory(made: Made) -> None:
    before = {each: each.stat().st_mtime_ns for each in made.state.rglob("*.db")}
    assert run(made, "--format", "json").exit_code == ExitCode.DONE
    assert {each: each.stat().st_mtime_ns for each in made.state.rglob("*.db")} == before


@pytest.mark.slow
def test_it_needs_no_spark_and_no_client_of_kafka(made: Made) -> None:
    code = (
        "import sys; from orchestrator.cli.program import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print([m for m in ('pyspark', 'kafka', 'kazoo.client') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code, "report", "--config", str(made.config)]
    done = subprocess.run(
        [*command, "--out", str(made.config.with_name("r.html"))],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stderr


def test_without_any_state_it_ends_with_4_and_says_where_it_looked(tmp_path: Path) -> None:
    config = tmp_path / "kraftgate.yaml"
    config.write_text(CONFIG)
    made = Made.__new__(Made)
    made.config = config
    done = run(made)
    assert done.exit_code == ExitCode.NO_DATA
    assert f"{tmp_path / 'state'} has neither store.db nor audit.db" in done.stderr
    assert "Start `kraftgate run`" in done.stderr
    assert done.stdout == ""


def test_without_a_configuration_it_ends_with_2(tmp_path: Path) -> None:
    made = Made.__new__(Made)
    made.config = tmp_path / "none.yaml"
    assert run(made).exit_code == ExitCode.USAGE


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["html", "json", "markdown"])
def test_a_trail_that_was_changed_is_said_at_the_top_and_ends_with_1(
    made: Made, format_: str
) -> None:
    change = "UPDATE entries SET body = replace(body, 'boris', 'carol') WHERE kind = 'paused'"
    tamper(made.state / AUDIT_FILE, (change, ()))
    done = run(made, "--format", format_)
    assert done.exit_code == ExitCode.FAILED
    changed = re.search(r"is not intact: entry (\d+) was changed", done.stderr)
    assert changed is not None
    number = int(changed[1])
    top = done.stdout[: done.stdout.index("Cluster prod")] if format_ == "html" else done.stdout
    assert f"entry {number} was changed" in top
    assert "carol" not in done.stdout
    if format_ == "json":
        told = json.loads(done.stdout)
        audit = told["audit"]
        assert (audit["intact"], audit["entries"], audit["first_bad"]) == (
            False, number - 1, number,
        )  # fmt: skip
        (cluster,) = told["clusters"]
        assert "The audit trail is not intact" in cluster["attention"][0]
        assert max(each["entry"] for each in cluster["decisions"]) < number


@pytest.mark.slow
def test_what_followed_the_last_valid_entry_is_unknown(made: Made) -> None:
    """The execution, the hazard and the alert ended after the entry that was changed."""
    change = "UPDATE entries SET body = replace(body, 'boris', 'carol') WHERE kind = 'paused'"
    tamper(made.state / AUDIT_FILE, (change, ()))
    (cluster,) = json.loads(run(made, "--format", "json").stdout)["clusters"]
    window, (walk,) = cluster["window"], cluster["walks"]
    assert (window["ended"], window["ended_at"], window["duration_ms"]) == (None, None, None)
    assert (walk["outcome"], walk["stands_at"], walk["duration_ms"]) == (
        "unknown", "brokers-kraft[2]", 241_000,
    )  # fmt: skip
    (alert,), (run_,) = cluster["alerts"], cluster["runs"]
    hazard = next(each for each in cluster["hazards"] if each["known_by"] == "looks")
    for each in (alert, hazard, run_):
        assert (each["ended_at"], each["duration_ms"], each["exact"]) == (None, None, False)
    summary = " ".join(cluster["summary"])
    for said in (
        "began at 2026-11-22 01:30:00 UTC; whether it has ended is unknown.",
        "was at brokers-kraft[2] at the last valid entry of the audit trail, after 4 min 1 s; 2",
        "1 of which failed or ended with an unknown outcome. What followed is unknown.",
        "At least 2 hazards occurred, 1 critical: dual_write_stuck, unfenced_early. It is unknown",
        "At least 1 alert occurred: KraftgateDualWriteStuck. It is unknown which were active at",
        "Up to entry 22, the audit trail has 2 decisions by anna. Later decisions are unknown.",
    ):
        assert said in summary
    for format_ in ("html", "markdown"):
        text = run(made, "--format", format_).stdout
        assert not re.findall("has not ended|goes on|not yet,", text)


def test_a_trail_whose_end_was_cut_off_is_said_too(made: Made) -> None:
    tamper(made.state / AUDIT_FILE, ("DELETE FROM entries WHERE sequence > 40", ()))
    done = run(made, "--format", "json")
    assert done.exit_code == ExitCode.FAILED
    assert "its end is missing" in json.loads(done.stdout)["audit"]["why"]


def test_a_trail_that_is_gone_is_said_too(made: Made) -> None:
    for each in made.state.glob("audit.db*"):
        each.unlink()
    done = run(made, "--format", "json")
    assert done.exit_code == ExitCode.FAILED
    assert "is gone" in json.loads(done.stdout)["audit"]["why"]


def test_a_trail_that_is_no_file_is_said_too(made: Made) -> None:
    for each in made.state.glob("audit.db*"):
        each.unlink()
    os.mkfifo(made.state / AUDIT_FILE)
    done = run(made, "--format", "json")
    assert done.exit_code == ExitCode.FAILED
    why = "audit.db cannot be read as the audit trail: it is not a file"
    assert why in json.loads(done.stdout)["audit"]["why"]


def test_a_trail_that_is_no_database_is_said_too(made: Made) -> None:
    trail = made.state / AUDIT_FILE
    trail.write_bytes(b"x" * 16 + trail.read_bytes()[16:])
    done = run(made, "--format", "json")
    assert done.exit_code == ExitCode.FAILED
    why = f"{trail} cannot be read as the audit trail: file is not a database"
    assert done.stderr == f"kraftgate: {trail} cannot be read: {why}; the report says so\n"
    printed = json.loads(done.stdout)
    audit = printed["audit"]
    assert (audit["intact"], audit["entries"], audit["why"]) == (False, 0, why)
    assert printed["clusters"][0]["phase"] == "finalized"


def test_a_store_that_is_damaged_ends_with_1_and_names_the_fix(made: Made) -> None:
    store = made.state / "store.db"
    whole = store.read_bytes()
    for damaged in (b"x" * 16 + whole[16:], whole[:5000]):
        store.write_bytes(damaged)
        done = run(made)
        assert (done.exit_code, done.stdout) == (ExitCode.FAILED, "")
        assert done.stderr.startswith(f"kraftgate: {store} cannot be read as the store: ")
        assert done.stderr.endswith(f": {NEW_STORE}\n")


def test_a_trail_of_another_version_ends_with_1_and_says_so(made: Made) -> None:
    with AuditLog.open_readonly(made.state / AUDIT_FILE) as log:
        entries = log.entries()
    entries[1] = sealed(replace(entries[1], body={**entries[1].body, "novel": 1}))
    rewritten(made.state / AUDIT_FILE, entries)
    (made.state / "audit.head").unlink()
    done = run(made)
    assert done.exit_code == ExitCode.FAILED
    assert "that this version cannot read: `novel`" in done.stderr


def test_without_a_trail_there_is_a_report_that_says_so(made: Made) -> None:
    for each in made.state.glob("audit.*"):
        each.unlink()
    done = run(made, "--format", "markdown")
    assert done.exit_code == ExitCode.DONE
    assert "**There is no audit trail.**" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("why", ["does not exist", "is empty"])
def test_without_a_store_the_trail_is_told_and_the_rest_is_unknown(made: Made, why: str) -> None:
    for each in made.state.glob("store.db*"):
        each.unlink()
    store = made.state / "store.db"
    if why == "is empty":
        store.touch()
    done = run(made, "--format", "json")
    assert done.exit_code == ExitCode.NO_DATA
    assert done.stderr == f"kraftgate: {store} {why}: {READ_AGAIN}\n"
    (cluster,) = json.loads(done.stdout)["clusters"]
    assert (len(cluster["walks"]), cluster["brokers"]) == (1, [])
    assert (cluster["phase"], [each["phase"] for each in cluster["phases"]]) == (
        "unknown", ["unknown"],
    )  # fmt: skip
    unknown = "The phase, brokers and events of the cluster prod are unknown"
    assert cluster["summary"][0].startswith(f"{unknown}: {store} {why}. The window was from")
    assert f"It is unknown whether records were lost: {store} {why}." in cluster["summary"]
    (warning,) = cluster["attention"]
    assert warning.startswith(f"Phase, brokers, events and replicas are unknown: {store} {why}. ")
    for format_ in ("html", "markdown"):
        assert "phase zookeeper" not in run(made, "--format", format_).stdout


def test_without_a_store_and_an_execution_the_window_has_no_known_end(tmp_path: Path) -> None:
    made = Made(tmp_path)
    made.say(0, follow(1))
    done = run(made, "--format", "json")
    assert done.exit_code == ExitCode.NO_DATA
    (cluster,) = json.loads(done.stdout)["clusters"]
    assert cluster["window"]["ended"] is None
    unread = f"{made.state / 'store.db'} does not exist."
    absences = cluster["absences"]
    assert all(absences[each].endswith(unread) for each in ("hazards", "losses", "unseen"))


@pytest.mark.slow
@pytest.mark.parametrize("is_there", [False, True])
def test_transitions_that_are_missing_are_said_and_the_rest_is_told(
    made: Made, *, is_there: bool
) -> None:
    (file,) = made.state.rglob("*.parquet")
    file.unlink()
    if is_there:
        file.write_bytes(b"x")
    done = run(made, "--format", "json")
    assert done.exit_code == ExitCode.DONE
    (cluster,) = json.loads(done.stdout)["clusters"]
    why = f"{file} is damaged: " if is_there else f"{file} does not exist"
    unknown = f"It is unknown which replicas were assigned, when and how fast: {why}"
    assert [each for each in cluster["attention"] if each.startswith(unknown)]
    assert cluster["absences"]["replicas"] == "The transitions of the replicas cannot be read."
    assert cluster["brokers"][0]["held_ms"] == 1_100
    assert [each["assigned"] for each in cluster["brokers"]] == [None, None]
    page = run(made).stdout
    assert "The transitions of the replicas cannot be read." in page
    assert page.count('<td class="n">unknown</td>') == 4  # of two brokers, and their registrations
    assert "| unknown |" in run(made, "--format", "markdown").stdout


def test_without_a_transition_no_replica_was_assigned(tmp_path: Path) -> None:
    made = Made(tmp_path)
    made.store()
    (cluster,) = json.loads(run(made, "--format", "json").stdout)["clusters"]
    assert [each["assigned"] for each in cluster["brokers"]] == [0, 0]
    assert cluster["absences"]["replicas"] == "No transition of a replica is stored."


def test_several_clusters_stand_in_the_configuration_s_order(tmp_path: Path) -> None:
    made = Made(tmp_path, BOTH)
    for name in ("other", "prod"):
        made.cluster = name
        made.tell("phase_changed", 1_000, offset=4, was="dual-write", now="finalized")
        made.summary = finalized(kraft(1))
        made.store()
    told = json.loads(run(made, "--format", "json").stdout)
    assert [each["cluster"] for each in told["clusters"]] == ["prod", "other"]
    told = json.loads(run(made, "--format", "json", "--cluster", "other").stdout)
    assert [each["cluster"] for each in told["clusters"]] == ["other"]
    page = run(made).stdout
    assert page.index(">Cluster prod<") < page.index(">Cluster other<")


def test_a_cluster_that_is_not_configured_ends_with_2(made: Made) -> None:
    done = run(made, "--cluster", "prodd")
    assert done.exit_code == ExitCode.USAGE
    assert "has no cluster prodd. Configured clusters: prod" in done.stderr


def test_of_a_cluster_of_which_nothing_was_seen_it_ends_with_4(tmp_path: Path) -> None:
    made = Made(tmp_path, BOTH)
    made.tell("phase_changed", 1_000, offset=4, was="dual-write", now="finalized")
    made.store()
    done = run(made, "--format", "json")
    assert done.exit_code == ExitCode.NO_DATA
    assert "has no data of other: start" in done.stderr
    assert len(json.loads(done.stdout)["clusters"]) == 2


def test_the_state_of_another_cluster_ends_with_2(made: Made) -> None:
    made.config.write_text(CONFIG.replace("name: prod", "name: prod, id: ours"))
    done = run(made)
    assert (done.exit_code, done.stdout) == (ExitCode.USAGE, "")
    assert "belongs to cluster uSLaubyUxZGsRKrz8FtoCw, not ours: correct `id`, or" in done.stderr


@pytest.mark.parametrize("source", ["the metadata log", "ZooKeeper"])
def test_a_store_that_is_older_than_its_sources_ends_with_4(made: Made, source: str) -> None:
    if source == "ZooKeeper":
        with closing(Journal(made.state / "clusters" / "prod" / "zookeeper.db")) as journal:
            journal.append([ZooKeeperBlind(T, "x")])
        made.status("zookeeper.json", 900_000)
    else:
        made.status("source.json", 900_000, high_watermark=1500, due_offset=1441)
    done = run(made, "--format", "json")
    assert done.exit_code == ExitCode.NO_DATA
    store = f"{made.state / 'store.db'} lacks data of prod: {source}: "
    assert store in done.stderr
    (cluster,) = json.loads(done.stdout)["clusters"]
    assert f"replicas are out of date: {store}" in cluster["attention"][-1]
    assert store in cluster["absences"]["losses"]


def test_a_store_with_all_that_is_due_is_not_older(made: Made) -> None:
    made.status("source.json", 900_000, high_watermark=1500, due_offset=1440)
    assert run(made, "--format", "json").exit_code == ExitCode.DONE


def test_while_somebody_writes_it_reads_what_was_committed(made: Made) -> None:
    with closing(sqlite3.connect(made.state / "store.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM events")
        told = json.loads(run(made, "--format", "json").stdout)
        writer.execute("ROLLBACK")
    assert told["clusters"][0]["brokers"][0]["held_ms"] == 1_100


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    ["audit verify", "audit show", "report --format json", "status", "hazards", "alerts list"],
)
def test_a_read_only_state_directory_has_everything(made: Made, command: str) -> None:
    """A remounted disk or a read-only copy is what a post-mortem works on."""
    Journal(made.state / "clusters" / "prod" / "zookeeper.db").close()
    arguments = [*command.split(), "--config", str(made.config)]
    writable = CliRunner().invoke(main, arguments)
    for each in made.state.glob("**/*.db-*"):
        each.unlink()
    found = read_only(made.state, *arguments)
    assert (found.returncode, found.stderr) == (writable.exit_code, writable.stderr)
    assert found.stdout.splitlines()[-1] == writable.stdout.splitlines()[-1]
    assert not list(made.state.glob("**/*.db-*"))


@pytest.mark.slow
def test_a_log_that_a_read_only_directory_cannot_show_is_named_with_the_fix(made: Made) -> None:
    log = made.state / f"{AUDIT_FILE}-wal"
    log.write_bytes(b"not empty")
    log.with_name(f"{AUDIT_FILE}-shm").unlink(missing_ok=True)
    found = read_only(made.state, "report", "--format", "markdown", "--config", str(made.config))
    assert found.returncode == ExitCode.FAILED
    why = f"{made.state} is read-only, and {log.name} cannot be read without {AUDIT_FILE}-shm: "
    for text in (found.stdout, found.stderr):
        assert "audit.db cannot be read: " in text or "The audit trail cannot be read: " in text
        assert why + "mount it writable, or copy it" in text
