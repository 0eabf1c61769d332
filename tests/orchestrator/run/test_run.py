"""Following: views are driven, gates open only on what is observed, all ends in good order."""

import errno
import io
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from migration.assessment.assess import Journal
from migration.assessment.conditions import DataSource, parse
from migration.image.summary import Phase
from migration.observed.facts import LogDirSeen
from migration.observed.log_dirs import STORAGE_ERROR, BrokerDisks, DisksImage
from migration.observed.probed import Unknown
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.cli import run as command
from orchestrator.cli.program import main
from orchestrator.cli.run import follow_and_show
from orchestrator.config.load import load_config, parse_config
from orchestrator.config.state_dir import claiming
from orchestrator.errors import (
    AuditError,
    ClaimLost,
    ConfigError,
    ExitCode,
    FollowingError,
    GateNotMetError,
    LockHeld,
)
from orchestrator.process.logs import held_back
from orchestrator.run import job
from orchestrator.run.assessed import Tick
from orchestrator.run.conditions import Gate
from orchestrator.run.probes.poller import Poller
from orchestrator.run.reader import ClusterRead, Reader
from orchestrator.views.terminal.live import LineView, Stop, TableView, View, drive, is_terminal
from streams.log_dirs import poll_requests
from streams.state.claim import LOCK_FILE
from streams.zookeeper.ensemble import parse_ensemble
from tests.scenes.night import (
    EVENTS,
    FRESH,
    HYBRID,
    NOW_MS,
    cluster,
    kraft,
)
from tests.support.assessing import named, tick
from tests.support.fake_store import FakeFollowing, FakeStore, write_status
from tests.support.polling import until

PROD = "cluster: {name: prod}\ncontrollers: {bootstrap: 'c1:9093'}\n"
FIVE_DAYS_MS = 432_000_000


def gate(text: str | None, timeout_s: float | None = None, **disks: Poller) -> Gate:
    return Gate(
        None if text is None else parse(text),
        None if timeout_s is None else timedelta(seconds=timeout_s),
        disks,
    )


def finalize(store: FakeStore, at: int) -> Callable[[int], None]:
    def step(poll: int) -> None:
        if poll == at:
            store.summaries["prod"] = cluster(Phase.FINALIZED, kraft(1))

    return step


def test_it_ends_once_the_condition_holds(
    config_file: Path, store: FakeStore, capsys: pytest.CaptureFixture[str]
) -> None:
    query = FakeFollowing(finalize(store, at=2))
    with Stop() as stop:
        follow_and_show(load_config(config_file), gate("finalized"), stop, query.follow)
    assert query.stopped
    lines = capsys.readouterr().out.splitlines()
    assert any("change=phase phase=finalized was=hybrid" in line for line in lines)
    assert lines[-1].endswith(
        "change=waiting reason=nothing broker=- more=0"
        ' text="Nothing to do: the migration is finalized"'
    )


def test_events_of_earlier_runs_are_not_told_again(
    config_file: Path, store: FakeStore, capsys: pytest.CaptureFixture[str]
) -> None:
    def one_more(poll: int) -> None:
        if poll == 2:
            store.told["prod"].append((6, replace(EVENTS[4][1], offset=700)))
        finalize(store, at=3)(poll)

    query = FakeFollowing(one_more)
    with Stop() as stop:
        follow_and_show(load_config(config_file), gate("finalized"), stop, query.follow)
    events = [line for line in capsys.readouterr().out.splitlines() if "change=event" in line]
    assert len(events) == 1
    assert "offset=700" in events[0]


def test_a_gate_that_is_not_met_in_time_says_why(config_file: Path, store: FakeStore) -> None:
    del store
    query = FakeFollowing()
    with Stop() as stop, pytest.raises(GateNotMetError) as caught:
        follow_and_show(load_config(config_file), gate("finalized", 0.3), stop, query.follow)
    assert query.stopped
    assert str(caught.value).startswith(
        "phase(finalized) did not hold in time: prod: the phase is hybrid (Waiting for broker 3:"
        " 12 of 64 replicas have no directory"
    )


def test_a_gate_does_not_open_on_records_that_were_overtaken() -> None:
    early = replace(HYBRID, summary=cluster(Phase.FINALIZED, kraft(1), offset=100))
    done = replace(early, summary=cluster(Phase.FINALIZED, kraft(1)))
    judged = gate("finalized")
    assert not judged.is_met(tick([early], NOW_MS))
    assert judged.is_met(tick([done], NOW_MS))


def test_a_gate_needs_every_cluster() -> None:
    done = replace(HYBRID, summary=replace(cluster(Phase.FINALIZED, kraft(1)), cluster="test"))
    judged = gate("finalized")
    assert not judged.is_met(tick([HYBRID, done], NOW_MS))
    assert not judged.is_met(tick([], NOW_MS))
    finalized = replace(HYBRID, summary=cluster(Phase.FINALIZED, kraft(1)))
    assert judged.is_met(tick([finalized, done], NOW_MS))


def disks_of(broker: int, age_ms: int, error: int = 0) -> BrokerDisks:
    log_dir = LogDirSeen("/d1", error, None, None, 1, 1, 0, 0, None, None)
    return BrokerDisks(id=broker, answered_ms=NOW_MS - age_ms, log_dirs=(log_dir,))


def with_disks(*disks: BrokerDisks, unread: bool = False) -> ClusterRead:
    """A cluster whose brokers are in order; `unread`: facts of this run wait in the journal."""
    done = cluster(Phase.FINALIZED, kraft(1), kraft(3))
    image = DisksImage(brokers={each.id: each for each in disks})
    journal = Journal(last=12, read=10, unread_ms=NOW_MS - 500)
    return replace(
        HYBRID,
        summary=replace(done, disks=image),
        log_dirs=FRESH,
        journals={DataSource.LOG_DIRS: journal} if unread else {},
    )


OLD = with_disks(disks_of(1, FIVE_DAYS_MS), disks_of(3, FIVE_DAYS_MS), unread=True)
ONE_IS_OLD = with_disks(disks_of(1, 100), disks_of(3, FIVE_DAYS_MS))
NOW_ONLINE = with_disks(disks_of(1, 100), disks_of(3, 100))
NOW_OFFLINE = with_disks(disks_of(1, 100), disks_of(3, 100, STORAGE_ERROR))


class Disks:
    """The polls of a cluster's disks: each ends when it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.let_go = threading.Semaphore(0)
        self.answer: Unknown | None = None
        self.poller = Poller({DataSource.LOG_DIRS: self._poll}, {})

    def _poll(self) -> Unknown | None:
        self.begun.release()
        self.let_go.acquire()
        return self.answer

    def close(self) -> None:
        self.let_go.release(9)
        self.poller.close()

    def end_poll(self) -> None:
        """Let the poll end that has begun, and wait until its answer can be stored."""
        self.let_go.release()

        def is_here() -> bool:
            self.poller.store_answers()
            return self.poller.is_answered(DataSource.LOG_DIRS, 0.0)

        until(is_here)


@pytest.fixture
def disks() -> Iterator[Disks]:
    with closing(Disks()) as found:
        yield found


@pytest.mark.parametrize(
    "text", ["log_dirs_online(3)", "no_directory_move", "no_hazard(restart, 3)"]
)
@pytest.mark.parametrize("known", [OLD, ONE_IS_OLD])
def test_a_gate_does_not_open_on_disks_of_an_earlier_run(
    text: str, known: ClusterRead, disks: Disks
) -> None:
    """LOG_DIRS are current from the first answer of any broker on."""
    judged = gate(text, prod=disks.poller)
    assert not judged.is_met(tick([known], NOW_MS))
    assert disks.begun.acquire(timeout=60)
    assert not judged.is_met(tick([known], NOW_MS)), "it does not wait for the answer"
    at_the_answer = tick([known], NOW_MS)
    disks.end_poll()
    assert not judged.is_met(at_the_answer), "it was read before the answer"
    assert judged.is_met(tick([NOW_ONLINE], NOW_MS))
    assert not disks.begun.acquire(blocking=False)


def test_a_gate_is_held_by_what_the_poll_of_the_disks_found(disks: Disks) -> None:
    judged = gate("log_dirs_online(3)", prod=disks.poller)
    for expected, now in ((False, OLD), (False, NOW_OFFLINE)):
        assert judged.is_met(tick([now], NOW_MS)) is expected
    disks.end_poll()
    assert not judged.is_met(tick([NOW_OFFLINE], NOW_MS))
    assert disks.begun.acquire(timeout=60)
    repaired = tick([NOW_ONLINE], NOW_MS)
    assert not judged.is_met(repaired), "the poll began before it held again"
    assert disks.begun.acquire(timeout=60)
    disks.end_poll()
    until(lambda: judged.is_met(repaired))


def test_a_poll_of_the_disks_that_failed_holds_the_gate_and_is_repeated(disks: Disks) -> None:
    judged = gate("log_dirs_online(3)", 0.0, prod=disks.poller)
    known = tick([NOW_ONLINE], NOW_MS)
    disks.answer = Unknown("the log directories could not be polled now")
    with pytest.raises(GateNotMetError, match="prod: the log directories are being polled again"):
        judged.is_met(known)
    disks.end_poll()
    with pytest.raises(GateNotMetError, match="prod: the log directories could not be polled now"):
        judged.is_met(known)
    disks.answer = None
    disks.let_go.release()

    def is_met() -> bool:
        with suppress(GateNotMetError):
            return judged.is_met(known)
        return False

    until(is_met)


def test_a_gate_polls_the_disks_of_each_cluster_once_all_satisfy_it(disks: Disks) -> None:
    with closing(Disks()) as others:
        judged = gate("log_dirs_online(3)", prod=disks.poller, test=others.poller)

        def both(one: ClusterRead, other: ClusterRead) -> Tick:
            return tick([one, named(other, "test")], NOW_MS)

        assert not judged.is_met(both(OLD, NOW_OFFLINE))
        assert not disks.begun.acquire(blocking=False)
        assert not judged.is_met(both(OLD, OLD))
        assert others.begun.acquire(timeout=60)
        disks.end_poll()
        assert not judged.is_met(both(NOW_ONLINE, OLD))
        assert not judged.is_met(both(NOW_ONLINE, OLD)), "of the other one there is no answer"
        others.end_poll()
        assert not judged.is_met(both(NOW_ONLINE, NOW_ONLINE))
        assert judged.is_met(both(NOW_ONLINE, NOW_ONLINE))


@pytest.mark.parametrize(
    ("text", "brokers", "polled"),
    [
        ("log_dirs_online(3)", "brokers: {bootstrap: 'b1:9092'}\n", True),
        ("log_dirs_online(3)", "", False),
        ("finalized", "brokers: {bootstrap: 'b1:9092'}\n", False),
    ],
)
def test_run_polls_the_disks_for_a_condition_on_them(
    config_file: Path, monkeypatch: pytest.MonkeyPatch, text: str, brokers: str, *, polled: bool
) -> None:
    config_file.write_text(f"{config_file.read_text()}{brokers}")
    asked = threading.Event()

    def poll_disks(
        state_dir: Path, name: str, broker: int | None, why: str, timeout_s: float
    ) -> bool:
        assert (state_dir, name, broker) == (config_file.parent / "state", "prod", None)
        assert (why, timeout_s) == ("kraftgate run --until", 15.0)
        asked.set()
        return True

    def follow(config: object, judged: Gate, *_: object, **__: object) -> None:
        del config
        until(lambda: judged.is_met(tick([NOW_ONLINE], NOW_MS)))

    monkeypatch.setattr(poll_requests, "poll_disks", poll_disks)
    monkeypatch.setattr(command, "follow_and_show", follow)
    words = ["run", "--until", text, "--config", str(config_file)]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, asked.is_set()) == (ExitCode.DONE, polled), result.output


def test_a_lock_file_that_was_deleted_ends_it(config_file: Path, store: FakeStore) -> None:
    del store
    config = load_config(config_file)
    lock = config.state_dir / LOCK_FILE
    query = FakeFollowing(lambda poll: lock.unlink() if poll == 2 else None)
    with (
        claiming(config.state_dir, "`state_dir`") as check,
        Stop() as stop,
        pytest.raises(LockHeld, match=f"{lock} was deleted"),
    ):
        follow_and_show(config, gate(None), stop, query.follow, check_claim=check)
    assert (query.polls, query.stopped) == (2, True)


def test_a_query_that_died_ends_it(config_file: Path, store: FakeStore) -> None:
    del store

    def die(poll: int) -> None:
        if poll == 2:
            raise FollowingError("the disk is full")

    query = FakeFollowing(die)
    with Stop() as stop, pytest.raises(FollowingError, match="the disk is full"):
        follow_and_show(load_config(config_file), gate(None), stop, query.follow)
    assert query.stopped


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_good_order(
    config_file: Path, store: FakeStore, number: signal.Signals
) -> None:
    del store
    before = signal.getsignal(number)
    query = FakeFollowing(lambda poll: os.kill(os.getpid(), number) if poll == 2 else None)
    with Stop() as stop:
        follow_and_show(load_config(config_file), gate(None), stop, query.follow)
    assert query.stopped
    assert query.polls == 2
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("words", "code"), [((), ExitCode.DONE), (("--until", "finalized"), ExitCode.GATE_NOT_MET)]
)
def test_an_interrupted_gate_is_not_met(
    config_file: Path,
    store: FakeStore,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    words: tuple[str, ...],
    code: ExitCode,
) -> None:
    """A script goes on with the next broker after exit code 0."""
    del store
    query = FakeFollowing(lambda poll: os.kill(os.getpid(), number) if poll == 2 else None)
    monkeypatch.setattr(command, "followed", query.follow)
    result = CliRunner().invoke(main, ["run", *words, "--config", str(config_file)])
    assert result.exit_code == code, result.output
    assert ("ended before phase(finalized) held" in result.stderr) == bool(words)


def test_a_second_signal_interrupts_at_once() -> None:
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_the_view_is_closed_whatever_happens() -> None:
    class View:
        closed = False

        def show(self, tick: object) -> None:
            raise RuntimeError(tick)

        def close(self) -> None:
            self.closed = True

    view = View()
    with suppress(RuntimeError):
        drive(view, lambda: tick([HYBRID], NOW_MS), Stop(), lambda _: False)
    assert view.closed


def _drive_three(view: View) -> None:
    ticks: list[Tick] = []

    def next_tick() -> Tick:
        ticks.append(tick([HYBRID], NOW_MS + 1000 * len(ticks)))
        return ticks[-1]

    drive(view, next_tick, Stop(), lambda _: len(ticks) == 3)
    assert len(ticks) == 3


@pytest.mark.parametrize("is_pipe", [False, True])
def test_lines_that_cannot_be_written_do_not_end_the_run(
    caplog: pytest.LogCaptureFixture, *, is_pipe: bool
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    out = os.fdopen(writer if is_pipe else os.open("/dev/full", os.O_WRONLY), "w")
    try:
        _drive_three(LineView(out))
    finally:
        with suppress(OSError):  # what it buffered
            out.close()
    (message,) = [each for each in caplog.messages if "no longer" in each]
    assert message.startswith("the lines are no longer written: ")


def test_a_terminal_that_hung_up_does_not_end_the_run(caplog: pytest.LogCaptureFixture) -> None:
    terminal, end = os.openpty()
    with os.fdopen(end, "w") as out:
        view = TableView(Console(file=out, force_terminal=True, width=80, height=30), lambda: None)
        os.close(terminal)
        _drive_three(view)
    (message,) = [each for each in caplog.messages if "no longer" in each]
    assert message.startswith("the table is no longer drawn: ")


def test_the_log_is_written_at_once_when_the_table_is_lost() -> None:
    log, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(log)
    root.addHandler(handler)
    terminal, end = os.openpty()
    try:
        with os.fdopen(end, "w") as out, held_back():
            view = TableView(
                Console(file=out, force_terminal=True, width=80, height=30), lambda: None
            )
            os.close(terminal)
            _drive_three(view)
            assert "the table is no longer drawn: " in log.getvalue()
            logging.getLogger("orchestrator").warning("slack: not delivered")
            assert "slack: not delivered" in log.getvalue()
    finally:
        root.removeHandler(handler)


def test_a_terminal_that_hung_up_does_not_change_how_the_run_ends() -> None:
    terminal, end = os.openpty()
    out = os.fdopen(end, "w")
    view = TableView(Console(file=out, force_terminal=True, width=80, height=30), lambda: None)
    view.show(tick([HYBRID], NOW_MS))
    os.close(terminal)
    view.close()
    with suppress(OSError):  # what it buffered
        out.close()


def test_a_message_that_nobody_can_read_does_not_change_how_a_command_ends() -> None:
    code = (
        "import os\n"
        "from orchestrator.output.printing import echo, echo_message, echo_text\n"
        "end, begin = os.pipe()\n"
        "os.close(end)\n"
        "os.dup2(begin, 2)\n"
        "for say in (echo, echo_message, echo_text):\n"
        "    say('text', err=True)\n"
        "os._exit(3)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 3


def test_a_pipe_is_no_terminal_whatever_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert not is_terminal()
    assert not capsys.readouterr().out


def test_the_table_is_redrawn_only_when_something_shows() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, height=30)
    view = TableView(console, lambda: None)
    view.show(tick([HYBRID], NOW_MS))
    drawn = len(out.getvalue())
    view.show(tick([HYBRID], NOW_MS + 1))
    assert len(out.getvalue()) == drawn
    view.show(tick([HYBRID], NOW_MS + 1000))
    assert len(out.getvalue()) > drawn
    view.close()
    assert out.getvalue().rstrip().endswith("nothing is pending for broker 3\x1b[0m")
    assert threading.active_count() >= 1


def test_the_table_ends_with_the_last_warning_of_the_log() -> None:
    out = io.StringIO()
    with held_back() as warning:
        view = TableView(Console(file=out, force_terminal=True, width=80, height=30), warning)
        view.show(tick([HYBRID], NOW_MS))
        assert "LOG" not in out.getvalue()
        logging.getLogger("orchestrator").warning("not published:\nno such topic")
        logging.getLogger("orchestrator").info("nothing else")
        view.show(tick([HYBRID], NOW_MS))
        assert re.search(r"LOG \d\d:\d\d:\d\d not published: no such topic\W", out.getvalue())
        view.close()


def test_a_cluster_without_controllers_is_a_phase(tmp_path: Path) -> None:
    file = tmp_path / "kraftgate.yaml"
    file.write_text("cluster: {name: prod}\n")
    config = load_config(file)
    with job.followed(config, lambda: None) as following:
        assert following is None
        job.check(following)
    (one,) = Reader(config, newest=10, opener=lambda _: None).read(NOW_MS)
    assert one.status.waiting == "kraftgate.yaml names no `controllers` for prod"
    assert one.summary.phase is Phase.ZOOKEEPER


def test_an_error_of_the_system_at_the_start_says_what_failed(
    config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr("streams.spark.query.follow", fail)
    config = load_config(config_file)
    log = config.state_dir / "spark.log"
    why = f"^Spark cannot be started: Invalid argument: see {log}$"
    with pytest.raises(FollowingError, match=why), job.followed(config, lambda: None):
        pass


def test_the_job_is_told_addresses_and_names_of_secrets(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2\n")
    file = tmp_path / "kraftgate.yaml"
    file.write_text(
        "cluster: {name: prod, id: abc}\n"
        "zookeeper: {connect: 'z1,z2:2182/kafka', security: {username: k, password_file: secret}}\n"
        "controllers:\n  bootstrap: 'c1:9093,[::1]:9093'\n"
        "  security: {protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN, username: u,"
        " password_file: secret}\n"
    )
    (source,) = job.job_sources(load_config(file))
    assert (source.cluster, source.cluster_id) == ("prod", "abc")
    secret = str(tmp_path / "secret")
    assert source.zookeeper == {
        "connect": "z1:2181,z2:2182/kafka",
        "security": {"username": "k", "password_file": secret, "key": "zookeeper.security"},
    }
    assert source.brokers is None
    options = dict(source.options(tmp_path))["zookeeper"]
    assert parse_ensemble(options["ensemble"]).security.password() == "hunter2"
    assert "hunter2" not in str(options)
    assert source.controllers == {
        "bootstrap": "c1:9093,[::1]:9093",
        "security": {
            "protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "username": "u",
            "password_file": secret,
            "key": "controllers.security",
        },
    }


def test_a_fresh_status_is_what_the_reader_gives(config_file: Path, store: FakeStore) -> None:
    del store
    (one,) = Reader(load_config(config_file), newest=2).read(NOW_MS)
    assert one.status == FRESH
    assert one.events == EVENTS[-2:]


def test_what_stands_is_kept_in_the_trail_also_without_a_runbook(
    config_file: Path, store: FakeStore
) -> None:
    config = load_config(config_file)

    def step(poll: int) -> None:
        write_status(config.state_dir, "prod", replace(FRESH, observed_ms=NOW_MS - 100 + poll))
        finalize(store, at=3)(poll)

    query = FakeFollowing(step)
    with Stop() as stop:
        follow_and_show(config, gate("finalized"), stop, query.follow)
    with AuditLog.open_readonly(config.state_dir / AUDIT_FILE) as log:
        kinds = [each.kind for each in log.entries("prod")]
        assert log.verify().ok
    assert kinds[0] == "follow_began"
    assert kinds[-1] == "follow_ended"
    assert kinds.index("hazard_began") < kinds.index("hazard_ended")


@pytest.mark.parametrize(
    ("error", "why"),
    [(FollowingError("Spark ended"), "FollowingError: Spark ended"), (KeyboardInterrupt(), "")],
)
def test_the_trail_has_the_error_that_ended_a_run(
    config_file: Path, store: FakeStore, error: BaseException, why: str
) -> None:
    del store
    with config_file.open("a") as file:
        file.write("runbook: {file: zk-to-kraft-jbod}\n")
    config = load_config(config_file)

    def fail(poll: int) -> None:
        if poll == 3:
            raise error

    with Stop() as stop, pytest.raises(type(error)):
        follow_and_show(config, gate("finalized"), stop, FakeFollowing(fail).follow)
    with AuditLog.open_readonly(config.state_dir / AUDIT_FILE) as log:
        followed, orchestrated = log.last("prod", 2)
    assert (followed.kind, followed.body["why"]) == ("follow_ended", why)
    assert orchestrated.kind == "orchestrator_ended"
    assert orchestrated.body["reason"] == (why or "it was stopped")


def test_a_process_that_lost_the_state_directory_writes_no_end(
    config_file: Path, store: FakeStore
) -> None:
    """It would end the run of the process that has it."""
    del store
    config = load_config(config_file)
    query = FakeFollowing(lambda poll: (config.state_dir / "lock").unlink() if poll == 3 else None)
    with (
        claiming(config.state_dir, "`state_dir`") as check,
        Stop() as stop,
        pytest.raises(ClaimLost),
    ):
        follow_and_show(config, gate("finalized"), stop, query.follow, check_claim=check)
    with AuditLog.open_readonly(config.state_dir / AUDIT_FILE) as log:
        assert "follow_ended" not in {each.kind for each in log.entries("prod")}


def test_a_trail_that_was_tampered_with_is_refused_before_anything_starts(
    config_file: Path, store: FakeStore
) -> None:
    del store
    config = load_config(config_file)
    with AuditLog.open(config.state_dir / AUDIT_FILE) as log:
        log.append("prod", "paused", {"reason": "lunch"}, NOW_MS)
    (config.state_dir / "audit.head").unlink()
    query = FakeFollowing()
    with Stop() as stop, pytest.raises(AuditError, match=r"audit\.head is missing"):
        follow_and_show(config, gate(None), stop, query.follow)
    assert query.polls == 0


def test_a_state_directory_that_others_can_write_to_is_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    config = parse_config(f"{PROD}state_dir: state\n", tmp_path / "kraftgate.yaml")
    following = FakeFollowing()
    with Stop() as stop, pytest.raises(ConfigError) as refused:
        follow_and_show(config, gate(None), stop, following.follow)
    assert str(refused.value).startswith(f"{tmp_path}/kraftgate.yaml: `state_dir`: ")
    assert not list((tmp_path / "state").iterdir())
