"""Kraftgate notifies a real Alertmanager; a webhook behind it receives each alert once."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from migration.assessment.alerts import Alert
from migration.values.severity import Severity
from orchestrator.lab.machine.ports import Ports
from orchestrator.notify import sender
from orchestrator.notify.configured import channels
from orchestrator.notify.delivery import RESOLVE_AFTER_MS
from orchestrator.notify.sender import Sender
from streams.process.clocks import wall_clock_ms
from tests.orchestrator.notify import receivers
from tests.orchestrator.notify.told import alert, wanted
from tests.support.alertmanager import active, running
from tests.support.polling import until
from tests.support.receiver import Receiver, receiving

pytestmark = pytest.mark.prometheus


@pytest.fixture
def heard() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def told(heard: Receiver) -> list[tuple[str, str, str]]:
    """Each alert that the webhook received: its broker, its severity and its status."""
    return [
        (each["labels"]["broker"], each["labels"]["severity"], each["status"])
        for sent in heard.sent
        for each in sent.json["alerts"]
    ]


class Clock:
    """The real one, some minutes ago at first: a test moves it on, and never past the present."""

    def __init__(self) -> None:
        self.ahead_ms = -600_000

    def __call__(self) -> int:
        return wall_clock_ms() + self.ahead_ms


def telling(folder: Path, address: str, clock: Clock) -> Sender:
    line = f"  alertmanager: [{{url: 'http://{address}'}}]\n"
    config = receivers.config(folder, line)
    config.state_dir.mkdir(exist_ok=True)
    (channel,) = channels(config.alerts)
    return Sender(channel, config.state_dir, 0, clock_ms=clock)


def stand(one: Sender, clock: Clock, since_ms: int, *alerts: Alert) -> None:
    one.submit(wanted(clock(), *alerts, since_ms=since_ms))


def test_each_alert_is_heard_of_once_and_its_end_once(tmp_path: Path, heard: Receiver) -> None:
    clock = Clock()
    since_ms = clock()
    both = (alert(3), alert(4, Severity.CRITICAL))
    with running(tmp_path / "am", f"{heard.url}/heard") as address:
        one = telling(tmp_path, address, clock)
        stand(one, clock, since_ms, *both)
        heard.wait(2)
        _is_as_it_was_told(heard, address, since_ms)
        until(partial(_has_sent, one, 2))
        for told_before in (2, 4, 6):  # every minute again
            clock.ahead_ms += 61_000
            stand(one, clock, since_ms, *both)
            until(partial(_has_sent, one, told_before + 2))
        stand(one, clock, since_ms, both[1])
        until(lambda: any(each.resolved_ms for each in one._state.deliveries.values()))
        clock.ahead_ms += RESOLVE_AFTER_MS
        stand(one, clock, since_ms, both[1])
        heard.wait(3)
        one.end()
        one.unsent(30)
        second = telling(tmp_path, address, clock)  # the next run
        stand(second, clock, since_ms, both[1])
        stand(second, clock, since_ms)
        second.end()
        second.unsent(30)
        heard.wait(4)
    assert sorted(told(heard)[:2]) == [("3", "warning", "firing"), ("4", "critical", "firing")]
    assert told(heard)[2:] == [("3", "warning", "resolved"), ("4", "critical", "resolved")]


def _has_sent(one: Sender, count: int) -> bool:
    return one.stats.sent == count


def _is_as_it_was_told(heard: Receiver, address: str, since_ms: int) -> None:
    said: dict[str, Any] = next(
        each
        for sent in heard.sent
        for each in sent.json["alerts"]
        if each["labels"]["broker"] == "3"
    )
    assert said["labels"] == {
        "alertname": "KraftgateAssignmentStalled",
        "broker": "3",
        "cluster": "prod",
        "severity": "warning",
    }
    assert said["annotations"]["runbook_url"].startswith(receivers.PAGES)
    began = datetime.fromtimestamp(since_ms / 1000, tz=UTC)
    assert datetime.fromisoformat(said["startsAt"]) == began
    ends = [datetime.fromisoformat(each["endsAt"]) for each in active(address)]
    assert len(ends) == 2
    assert min(ends) > began + timedelta(minutes=59), "it outlives a Kraftgate that died"


def test_one_that_was_down_learns_what_stands(
    tmp_path: Path, heard: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it comes up, and again after it was started with nothing in mind."""
    monkeypatch.setattr(sender, "_FIRST_S", 0.05)
    monkeypatch.setattr(sender, "_LONGEST_S", 0.1)
    clock = Clock()
    since_ms = clock()
    with closing(Ports()) as ports:
        port = ports.take()
        one = telling(tmp_path, f"127.0.0.1:{port}", clock)
        stand(one, clock, since_ms, alert())
        until(lambda: one.stats.failed >= 2)
        assert one.stats.error is not None
        assert "Connection refused" in one.stats.error
        with running(tmp_path / "first", f"{heard.url}/heard", port):
            heard.wait(1)
            # The webhook may receive it before Kraftgate has the response; without one Kraftgate
            # retries.
            until(partial(_has_sent, one, 1))
        with running(tmp_path / "second", f"{heard.url}/heard", port) as address:
            assert active(address) == []
            clock.ahead_ms += 61_000
            stand(one, clock, since_ms, alert())
            heard.wait(2)
            assert len(active(address)) == 1
        one.end()
        one.unsent(30)
    assert told(heard) == [("3", "warning", "firing")] * 2
