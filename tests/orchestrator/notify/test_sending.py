"""`kraftgate run` notifies its receivers, runs on if they fail, and ends cleanly."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from migration.assessment.alerts import AlertState, AlertStates
from migration.image.summary import Phase
from migration.values.severity import Severity
from orchestrator.cli.run import follow_and_show
from orchestrator.config.load import load_config
from orchestrator.notify import http_post, notifier
from orchestrator.notify.heartbeat import HeartbeatChannel, HeartbeatSender
from orchestrator.run.assessed import Tick
from orchestrator.views.terminal.live import Stop
from tests.orchestrator.notify import receivers
from tests.orchestrator.notify.test_watch import NAME, STALLED
from tests.orchestrator.notify.told import alert
from tests.orchestrator.run.test_run import gate
from tests.orchestrator.views.metrics.test_serving import OPENMETRICS, get, listening
from tests.scenes.night import cluster
from tests.support.fake_store import FakeFollowing, FakeStore
from tests.support.polling import until
from tests.support.receiver import Receiver, Reply, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def with_alerts(config_file: Path, lines: str) -> Path:
    pages = f"  runbook_url: '{receivers.PAGES}'\n"
    config_file.write_text(f"{config_file.read_text()}alerts:\n{pages}{lines}")
    return config_file


def run_until(config_file: Path, polls: int, step: object = None) -> FakeFollowing:
    """Look so often; `step` is done at each look."""

    def at_each(poll: int) -> None:
        if callable(step):
            step(poll)
        if poll == polls:
            stop.set()

    with Stop() as stop:
        query = FakeFollowing(at_each)
        follow_and_show(load_config(config_file), gate(None), stop, query.follow)
    return query


def test_what_stands_is_told_and_left_so_at_the_end(
    config_file: Path, store: FakeStore, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    store.summaries["prod"] = STALLED
    with_alerts(config_file, receivers.webhook(config_file.parent, receiver.url))
    run_until(config_file, 3, lambda poll: receiver.wait(1) if poll == 3 else None)
    (sent,) = receiver.sent
    assert (sent.json["status"], sent.json["commonLabels"]["alertname"]) == ("firing", NAME)
    assert sent.json["commonAnnotations"]["runbook_url"] == f"{receivers.PAGES}/{NAME}.md"
    said = capsys.readouterr().err
    assert "kraftgate: alerts go to webhook" in said
    assert f"kraftgate: {NAME} (broker 3, cluster prod) is still active" in said
    assert receivers.TOKEN not in said


def test_what_is_over_at_the_end_is_resolved_without_waiting(
    config_file: Path, store: FakeStore, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    store.summaries["prod"] = STALLED
    with_alerts(config_file, receivers.webhook(config_file.parent, receiver.url))

    def fix(poll: int) -> None:
        if poll == 2:
            receiver.wait(1)
            store.summaries["prod"] = cluster(Phase.HYBRID)

    run_until(config_file, 2, fix)
    assert [each.json["status"] for each in receiver.sent] == ["firing", "resolved"]
    assert "stands" not in capsys.readouterr().err


def test_no_secret_that_a_command_printed_is_sent(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell condition's last line is the reason of a violated checkpoint."""
    monkeypatch.setenv("DB_PASSWORD", "hunter2-Xyzzy")
    said = "backup: cannot connect as app/hunter2-Xyzzy"
    violated = AlertState(
        alert=replace(alert(), description=said, details=(said,)), found_ms=0, active_since_ms=0
    )
    states = AlertStates(at_ms=0, all={violated.alert.fingerprint: violated})
    config = receivers.config(tmp_path, receivers.webhook(tmp_path, receiver.url))
    tick = Tick(at_ms=0, clusters=(SimpleNamespace(assessment=SimpleNamespace(alerts=states)),))  # type: ignore[arg-type]
    with closing(notifier.Notifier(config)) as sends:
        sends.submit(tick)
        (sent,) = receiver.wait(1)
    assert "cannot connect as app/[redacted]" in str(sent.json)
    assert "hunter2" not in str(sent.json)
    assert not any("hunter2" in each.read_text() for each in (tmp_path / "state").rglob("*.json"))


def test_looks_go_on_while_a_receiver_hangs(
    config_file: Path,
    store: FakeStore,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It hangs until the test is over: no look and no end may wait for it."""
    monkeypatch.setattr(notifier, "_END_S", 0.05)
    monkeypatch.setattr(http_post, "RESPONSE_S", 3600.0)
    store.summaries["prod"] = STALLED
    receiver.answer = receiver.hang
    with_alerts(config_file, receivers.webhook(config_file.parent, receiver.url))
    query = run_until(config_file, 5, lambda poll: receiver.wait(1) if poll == 2 else None)
    assert query.polls == 5
    assert query.stopped
    assert f"webhook was not notified of {NAME} (firing)" in capsys.readouterr().err


def test_an_example_address_of_the_pages_is_said(
    config_file: Path, store: FakeStore, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    del store
    lines = receivers.webhook(config_file.parent, receiver.url)
    config_file.write_text(f"{config_file.read_text()}alerts:\n{lines}")
    run_until(config_file, 1)
    assert "set `alerts.runbook_url`" in capsys.readouterr().err


def test_a_heart_beats_at_looks(
    config_file: Path, store: FakeStore, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    del store
    file = receivers.secret(config_file.parent, "ping", f"{receiver.url}/ping/secret-uuid")
    with_alerts(config_file, f"  heartbeat: [{{url_file: {file}}}]\n")
    run_until(config_file, 2, lambda poll: receiver.wait(1) if poll == 2 else None)
    assert receiver.sent[0].path == "/ping/secret-uuid"
    assert receiver.sent[0].json["status"] == "watching"
    assert "alerts go to heartbeat" in capsys.readouterr().err


def heart(folder: Path, url: str) -> HeartbeatSender:
    line = f"  heartbeat: [{{url: '{url}'}}]\n"
    ((name, given),) = receivers.config(folder, line).alerts.heartbeats().items()
    often = given.model_copy(update={"every": timedelta(milliseconds=10)})
    return HeartbeatSender(HeartbeatChannel(name, often)).start()


def test_a_heart_does_not_beat_before_the_first_look_nor_when_looks_stop(
    tmp_path: Path, receiver: Receiver
) -> None:
    one = heart(tmp_path, receiver.url)
    assert not one._is_polling()
    one.polled()
    receiver.wait(2)
    assert one._is_polling()
    one._polled_s = -1e9
    assert not one._is_polling()
    one.stop()


def test_a_heart_that_fails_says_so_and_goes_on(
    tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = lambda _: Reply(500)
    one = heart(tmp_path, receiver.url)
    one.polled()
    until(lambda: one.stats.failed >= 2)
    receiver.answer = lambda _: Reply(204)
    until(lambda: one.stats.sent >= 1)
    one.stop()
    assert one.stats.error is None
    assert caplog.text.count("a heartbeat was not delivered") == 1


def critical(*brokers: int) -> Tick:
    """A tick at which a critical alert of each broker is active."""
    found = [
        AlertState(alert=alert(each, Severity.CRITICAL), found_ms=0, active_since_ms=0)
        for each in brokers
    ]
    states = AlertStates(at_ms=0, all={each.alert.fingerprint: each for each in found})
    return Tick(at_ms=0, clusters=(SimpleNamespace(assessment=SimpleNamespace(alerts=states)),))  # type: ignore[arg-type]


def test_no_heart_beats_while_critical_alerts_are_not_delivered(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = receivers.pagerduty(tmp_path, receiver.url) + "  heartbeat: [{url: 'http://127.0.0.1'}]"
    config = receivers.config(tmp_path, lines)
    with closing(notifier.Notifier(config)) as sends:
        (heartbeat,) = sends._heartbeats
        monkeypatch.setattr(heartbeat, "polled", lambda: beats.append(True))
        beats: list[bool] = []
        receiver.answer = lambda _: Reply(400)
        sends.submit(critical(3))
        until(lambda: sends.stats()["pagerduty"].failed == 1)
        sends.polled()
        assert beats == [True], "it may be delivered yet"
        monkeypatch.setattr(notifier, "_UNDELIVERED_S_MAX", 0.0)
        sends.polled()
        assert beats == [True]
        sends.submit(critical())
        until(lambda: sends.stats()["pagerduty"].waiting == 0)
        sends.polled()
        assert beats == [True, True], "nothing is due"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_is_said(
    config_file: Path,
    store: FakeStore,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    del store

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("orchestrator.notify.delivery.update", broken)
    lines = receivers.webhook(config_file.parent, receiver.url)
    config = load_config(
        with_alerts(config_file, f"{lines}  heartbeat: [{{url: 'http://127.0.0.1'}}]\n")
    )
    with notifier.notifying(config) as sent:
        sent.submit(Tick(at_ms=0, clusters=()))
        until(lambda: not sent._senders[0].is_alive())
        sent.polled()
        assert not sent._heartbeats[0]._is_polling()
        sent.submit(Tick(at_ms=1, clusters=()))
        sent.submit(Tick(at_ms=2, clusters=()))
    assert caplog.text.count("its thread has ended") == 1


def test_how_it_goes_is_scraped(tmp_path: Path, receiver: Receiver) -> None:
    config = receivers.config(tmp_path, receivers.slack(tmp_path, receiver.url))
    with notifier.notifying(config) as sent, listening(receivers=sent.stats) as (at, _):
        body = get(at, Accept=OPENMETRICS)[1].decode()
    assert 'kraftgate_notices_sent_total{receiver="slack"} 0.0' in body
    assert 'kraftgate_notices_failed_total{receiver="slack"} 0.0' in body
    assert 'kraftgate_notices_waiting{receiver="slack"} 0.0' in body
    assert "kraftgate_notices_last_success" not in body, "there was none"
    assert "very-secret-part" not in body
