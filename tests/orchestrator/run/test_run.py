"""Following: views are driven, gates open only on what is observed, all ends in good order."""

import io
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console

from migration.assessment.conditions import parse
from migration.image.summary import Phase
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.cli.run import follow_and_show
from orchestrator.config.load import load_config, parse_config
from orchestrator.errors import AuditError, ConfigError, FollowingError, GateNotMetError
from orchestrator.run import job
from orchestrator.run.conditions import Gate
from orchestrator.run.reader import Reader
from orchestrator.views.terminal.live import Stop, TableView, drive
from streams.zookeeper.ensemble import parse_ensemble
from tests.scenes.night import (
    EVENTS,
    FRESH,
    HYBRID,
    NOW_MS,
    cluster,
    kraft,
)
from tests.support.assessing import tick
from tests.support.fake_store import FakeFollowing, FakeStore, write_status

PROD = "cluster: {name: prod}\ncontrollers: {bootstrap: 'c1:9093'}\n"


def gate(text: str | None, timeout_s: float | None = None) -> Gate:
    return Gate(
        None if text is None else parse(text),
        None if timeout_s is None else timedelta(seconds=timeout_s),
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


def test_a_second_signal_interrupts_at_once() -> None:
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_signals_are_taken_back_from_a_library() -> None:
    with Stop() as stop:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop.take_signals()
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.is_set()


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


def test_the_table_is_redrawn_only_when_something_shows() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, height=30)
    view = TableView(console)
    view.show(tick([HYBRID], NOW_MS))
    drawn = len(out.getvalue())
    view.show(tick([HYBRID], NOW_MS + 1))
    assert len(out.getvalue()) == drawn
    view.show(tick([HYBRID], NOW_MS + 1000))
    assert len(out.getvalue()) > drawn
    view.close()
    assert out.getvalue().rstrip().endswith("nothing is pending for broker 3\x1b[0m")
    assert threading.active_count() >= 1


def test_a_cluster_without_controllers_is_a_phase(tmp_path: Path) -> None:
    file = tmp_path / "kraftgate.yaml"
    file.write_text("cluster: {name: prod}\n")
    config = load_config(file)
    with job.followed(config) as following:
        assert following is None
        job.check(following)
    (one,) = Reader(config, newest=10, opener=lambda _: None).read(NOW_MS)
    assert one.status.waiting == "kraftgate.yaml names no `controllers` for prod"
    assert one.summary.phase is Phase.ZOOKEEPER


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
