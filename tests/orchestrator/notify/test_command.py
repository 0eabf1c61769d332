"""`kraftgate alerts`: a test alert to every receiver, and the deliveries."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.program import main
from orchestrator.config.load import load_config
from orchestrator.errors import ExitCode
from orchestrator.run.alert_file import AlertFiles
from tests.orchestrator.notify import receivers
from tests.orchestrator.notify.test_sending import run_until, with_alerts
from tests.orchestrator.notify.test_watch import NAME, STALLED, stalled
from tests.scenes.night import NOW_MS
from tests.support.fake_store import FakeStore
from tests.support.receiver import OK, Receiver, Reply, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def alerts(command: str, config_file: Path, *more: str) -> Result:
    return CliRunner().invoke(main, ["alerts", command, "--config", str(config_file), *more])


def everybody(config_file: Path, url: str) -> Path:
    folder = config_file.parent
    lines = (
        receivers.alertmanager(folder, url)
        + receivers.slack(folder, url, ", min_severity: critical")
        + receivers.pagerduty(folder, url)
        + receivers.webhook(folder, url)
        + f"  heartbeat: [{{url: '{url}/ping'}}]\n"
    )
    return with_alerts(config_file, lines)


ANSWERS = {
    "/prefix/api/v2/alerts": Reply(200),
    "/v2/enqueue": Reply(202, b'{"status":"success","message":"Event processed"}'),
}


NO_HEARTBEAT = (
    "heartbeat: not sent: it reports that the clusters are polled and alerts arrive, but prod: no"
    " `kraftgate run` assesses alerts now"
)


def test_everybody_is_sent_one_alert_that_says_it_is_a_test(
    config_file: Path, receiver: Receiver
) -> None:
    receiver.answer = lambda sent: ANSWERS.get(sent.path, OK)
    done = alerts("test", everybody(config_file, receiver.url))
    assert done.exit_code == ExitCode.DONE, done.output
    assert done.stdout.splitlines() == [
        "alertmanager: accepted: 200",
        "slack: accepted: 200 ok",
        "pagerduty: accepted: 202 Event processed",
        "webhook: accepted: 200",
        NO_HEARTBEAT,
    ]
    assert not [each for each in receiver.sent if each.path == "/ping"]
    bodies = [each.json for each in receiver.sent]
    assert bodies[0][0]["labels"]["alertname"] == "KraftgateTest"
    assert "This is a test, and nothing is wrong." in bodies[1]["text"]
    assert bodies[2]["event_action"] == "trigger"
    assert bodies[2]["payload"]["severity"] == "info"
    assert bodies[3]["status"] == "firing"
    done = alerts("test", config_file, "--resolve", "--severity", "critical")
    assert done.exit_code == ExitCode.DONE
    bodies = [each.json for each in receiver.sent[4:]]
    assert bodies[0][0]["endsAt"] == bodies[0][0]["startsAt"]
    assert bodies[2]["event_action"] == "resolve"
    assert bodies[3]["commonLabels"]["severity"] == "critical"


@pytest.mark.parametrize("is_failing", [False, True])
def test_a_heartbeat_is_sent_only_if_what_it_reports_is_true(
    config_file: Path, store: FakeStore, receiver: Receiver, *, is_failing: bool
) -> None:
    """Its service would take a test for a Kraftgate that polls, and close an open incident."""
    del store
    receiver.answer = lambda sent: Reply(404) if is_failing and sent.path != "/ping" else OK
    folder = config_file.parent
    lines = receivers.webhook(folder, receiver.url)
    text = config_file.read_text()
    with_alerts(config_file, lines)
    run_until(config_file, 2, lambda _: None)
    config_file.write_text(text)
    with_alerts(config_file, f"{lines}  heartbeat: [{{url: '{receiver.url}/ping'}}]\n")
    done = alerts("test", config_file, "--json")
    found = json.loads(done.stdout)
    sent = [each.json["status"] for each in receiver.sent if each.path == "/ping"]
    assert sent == ([] if is_failing else ["watching"])
    assert [each["name"] for each in found["receivers"]] == (
        ["webhook"] if is_failing else ["webhook", "heartbeat"]
    )
    assert [each["name"] for each in found["not_sent"]] == (["heartbeat"] if is_failing else [])


def test_each_that_did_not_take_it_is_named_with_the_reason(
    config_file: Path, receiver: Receiver
) -> None:
    receiver.answer = lambda sent: ANSWERS.get(sent.path, Reply(404, b"no_service"))
    done = alerts("test", everybody(config_file, receiver.url), "--json")
    assert done.exit_code == ExitCode.FAILED
    assert done.stderr == "kraftgate: not accepted by slack, webhook\n"
    told = {each["name"]: each for each in json.loads(done.stdout)["receivers"]}
    assert told["pagerduty"] == {
        "name": "pagerduty",
        "taken": True,
        "said": "202 Event processed",
    }
    assert told["slack"]["said"] == f"{receiver.url} answers 404: no_service"
    for secret in ("very-secret-part", receivers.ROUTING_KEY, receivers.TOKEN):
        assert secret not in done.output


def test_what_a_receiver_answers_is_shown_and_not_obeyed(
    config_file: Path, receiver: Receiver
) -> None:
    receiver.answer = lambda _: Reply(500, "no\x1b[2J\x9b\u202e\npagerduty: accepted: 202".encode())
    done = alerts("test", everybody(config_file, receiver.url))
    assert done.exit_code == ExitCode.FAILED
    assert "\\x1b[2J\\x9b\\u202e" in done.stdout
    assert not any(each in done.output for each in ("\x1b", "\x9b", "\u202e"))
    assert not any(line.startswith("pagerduty: accepted") for line in done.output.splitlines())


def test_without_a_receiver_there_is_nothing_to_test(config_file: Path) -> None:
    done = alerts("test", config_file)
    assert done.exit_code == ExitCode.USAGE
    assert "`alerts` has no receiver" in done.stderr


def test_who_was_told_of_what_is_listed(
    config_file: Path, store: FakeStore, receiver: Receiver
) -> None:
    store.summaries["prod"] = STALLED
    with_alerts(config_file, receivers.webhook(config_file.parent, receiver.url))
    run_until(config_file, 2, lambda poll: receiver.wait(1) if poll == 2 else None)
    done = alerts("list", config_file)
    assert done.exit_code == ExitCode.DONE, done.stderr
    active, _, subject, page, pending, *_, delivered = done.stdout.splitlines()
    assert active.startswith("warning: Broker 3 of prod is held")
    assert subject.startswith(f"  {NAME} (broker 3, cluster prod), since 2026-09-21 14:06:40 UTC")
    assert page == f"  read: kraftgate help {NAME}"
    assert pending.startswith("pending: warning: Broker 3 of prod is unfenced")
    assert delivered == "webhook: notified of 1 active alert, last at 2026-09-21 14:13:20 UTC"
    found = json.loads(alerts("list", config_file, "--json").stdout)
    assert found["receivers"][0]["told"] == [found["alerts"][0]["fingerprint"]]
    assert found["alerts"][0]["runbook_url"] == f"{receivers.PAGES}/{NAME}.md"


def test_an_alert_that_no_receiver_accepted_has_an_unknown_result(
    config_file: Path, store: FakeStore, receiver: Receiver
) -> None:
    store.summaries["prod"] = STALLED
    receiver.answer = lambda _: Reply(500)
    with_alerts(config_file, receivers.webhook(config_file.parent, receiver.url))
    run_until(config_file, 2, lambda poll: receiver.wait(1) if poll == 2 else None)
    delivered = alerts("list", config_file).stdout.splitlines()[-1]
    assert delivered.startswith("webhook: notified of 0 active alerts, 1 with unknown result; ")
    found = json.loads(alerts("list", config_file, "--json").stdout)
    (to,) = found["receivers"]
    assert (to["told"], to["unconfirmed"]) == ([], [found["alerts"][0]["fingerprint"]])


@pytest.mark.parametrize("later_ms", [60_000, -3_600_000])
def test_what_nobody_judges_now_is_listed_and_ends_with_4(
    config_file: Path, store: FakeStore, monkeypatch: pytest.MonkeyPatch, later_ms: int
) -> None:
    """Also after the clock was set back: the file is of the future then."""
    del store
    config = load_config(config_file)
    AlertFiles(config).keep(stalled().alerts)
    monkeypatch.setattr("time.time_ns", lambda: (NOW_MS + later_ms) * 1_000_000)
    done = alerts("list", config_file)
    assert done.exit_code == ExitCode.NO_DATA
    assert NAME in done.stdout
    assert "there is no receiver" in done.stdout
    assert "no `kraftgate run` assesses alerts now" in done.stderr
