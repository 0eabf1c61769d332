"""The click group `alerts`: list active alerts and deliveries, and send a test alert."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from migration.assessment.alerts import Alert, AlertState
from migration.observed.source_status import STALE_AFTER_MS
from migration.values.evidence import count
from migration.values.severity import Severity
from migration.values.timestamps import iso, utc_text
from orchestrator.api.rows import alert_row
from orchestrator.cli.framework import Group, config_option, json_option
from orchestrator.config.load import Config, load_config
from orchestrator.errors import ConfigError, KraftgateError, NoDataError
from orchestrator.notify.channel import Channel
from orchestrator.notify.configured import channels
from orchestrator.notify.delivery_file import DeliveryFile, ReceiverState
from orchestrator.notify.http_post import Undelivered
from orchestrator.notify.notification import Notification, subject
from orchestrator.notify.receivers.heartbeat import HeartbeatChannel
from orchestrator.output.formatting import local_times, moment_text
from orchestrator.output.printing import echo, echo_json
from orchestrator.run import alert_file
from streams.process.clocks import wall_clock_ms

TEST_ALERT: Final = "KraftgateTest"
_WRITTEN_MS_MAX: Final = alert_file.WRITE_EVERY_MS + STALE_AFTER_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverTest:
    """Whether a receiver accepted the test alert; `response`: what it responded, or the error."""

    receiver: str
    accepted: bool
    response: str


@click.group(cls=Group)
def alerts() -> None:
    """Show the active alerts and what receivers were notified of, and test the receivers.

    \b
    Example:
      kraftgate alerts test
    """


@alerts.command()
@config_option
@click.option(
    "--severity",
    type=click.Choice([str(each) for each in Severity]),
    default=str(Severity.INFO),
    show_default=True,
    help="Of the test alert; it is sent regardless of a receiver's `min_severity`.",
)
@click.option("--resolve", is_flag=True, help="Send the resolution of the test alert.")
@json_option
def test(config_path: Path, severity: str, *, resolve: bool, as_json: bool) -> None:
    """Send one test alert to each receiver, and print what it answered.

    Exits with 1 when one did not accept it. Slack shows it; PagerDuty keeps it open until --resolve
    with the same --severity; Alertmanager does too, for an hour at most.

    \b
    Examples:
      kraftgate alerts test --config kraftgate.yaml
      kraftgate alerts test --severity critical
      kraftgate alerts test --severity critical --resolve
    """
    config = load_config(config_path)
    if not list(config.alerts.destinations()):
        raise ConfigError([f"{config_path}: `alerts` has no receiver: add one"])
    found = []
    for each in send_test_alert(config, Severity(severity), wall_clock_ms(), resolve=resolve):
        found.append(each)
        if not as_json:
            result = "accepted" if each.accepted else "not accepted"
            echo(f"{each.receiver}: {result}: {each.response}")
    if as_json:
        receivers = [
            {"name": each.receiver, "taken": each.accepted, "said": each.response} for each in found
        ]
        echo_json({"receivers": receivers})
    failed = [each.receiver for each in found if not each.accepted]
    if failed:
        raise KraftgateError(f"not accepted by {', '.join(failed)}")


@alerts.command(name="list")
@config_option
@json_option
def list_(config_path: Path, *, as_json: bool) -> None:
    """Print the alerts that are active by `kraftgate run`, and what receivers were notified of.

    Exits with 4 when no `kraftgate run` assessed them lately.

    \b
    Example:
      kraftgate alerts list --json | jq -r '.receivers[] | select(.why).name'
    """
    config = load_config(config_path)
    found = {
        each.name: alert_file.read(alert_file.file_of(config, each.name))
        for each in config.clusters
    }
    active = [each for now in found.values() for each in now.active()]
    states = {
        name: DeliveryFile(config.state_dir, name, receiver).read()
        for name, receiver in config.alerts.receivers().items()
    }
    if as_json:
        printed = {
            "alerts": [alert_row(each, config.alerts.runbook_url).public() for each in active],
            "receivers": [_receiver_json(name, each) for name, each in states.items()],
        }
        echo_json(printed)
    else:
        _print(config, active, states)
    now_ms = wall_clock_ms()
    old = [name for name, now in found.items() if abs(now_ms - (now.at_ms or 0)) > _WRITTEN_MS_MAX]
    if old:
        raise NoDataError(f"{', '.join(old)}: no `kraftgate run` assesses alerts now")


def send_test_alert(
    config: Config, severity: Severity, now_ms: int, *, resolve: bool
) -> Iterator[ReceiverTest]:
    """Send a test alert, or its resolution, to every receiver, and a heartbeat to the others."""
    notification = Notification(
        alert=_test_alert(config, severity),
        active_since_ms=now_ms,
        resolved_ms=now_ms if resolve else None,
    )
    for channel in channels(config.alerts):
        yield _sent(channel, (notification,), now_ms)
    for name, heartbeat in config.alerts.heartbeats().items():
        yield _sent(HeartbeatChannel(name, heartbeat), (), now_ms)


def _test_alert(config: Config, severity: Severity) -> Alert:
    clusters = ", ".join(each.name for each in config.clusters)
    return Alert(
        name=TEST_ALERT,
        labels={"severity": severity, "cluster": config.clusters[0].name},
        summary="This is a test, and nothing is wrong.",
        description=(
            f"Sent by `kraftgate alerts test` on {socket.gethostname()}, which follows {clusters}."
            " There is nothing to do."
        ),
        details=("`kraftgate alerts test --resolve` resolves it.",),
    )


def _sent(
    channel: Channel[Any], notifications: tuple[Notification, ...], now_ms: int
) -> ReceiverTest:
    try:
        response = channel.notify(notifications, now_ms)
        return ReceiverTest(receiver=channel.name, accepted=True, response=response)
    except Undelivered as error:
        return ReceiverTest(receiver=channel.name, accepted=False, response=str(error))
    finally:
        channel.close()


def _print(config: Config, active: list[AlertState], states: dict[str, ReceiverState]) -> None:
    for each in active:
        for line in _lines(each):
            echo(local_times(line))
    if not active:
        echo("no alert is active")
    for name, state in states.items():
        words = f"notified of {count(len(_unresolved(state)), 'active alert')}"
        if state.success_ms is not None:
            words += f", last at {moment_text(state.success_ms)}"
        if state.error is not None and state.failure_ms is not None:
            words += f"; failed at {moment_text(state.failure_ms)}: {state.error}"
        echo(f"{name}: {words}")
    if not states:
        echo(f"there is no receiver: add one to `alerts` in {config.path}")


def _lines(one: AlertState) -> Iterator[str]:
    """Yield what is wrong and what to do, then the name, the subject, the start and the page."""
    alert = one.alert
    doubt = "" if one.is_known else " (unknown whether it is resolved)"
    yield f"{alert.severity}: {alert.description}{doubt}"
    yield from (f"  - {each}" for each in alert.details)
    since_ms = one.active_since_ms if alert.since_ms is None else alert.since_ms
    since = "" if since_ms is None else f", since {utc_text(since_ms)}"
    yield f"  {alert.name} ({subject(alert)}){since}"
    yield f"  read: kraftgate help {alert.name}"


def _unresolved(state: ReceiverState) -> list[str]:
    """Fingerprints of the alerts whose resolution was not delivered."""
    return [key for key, each in state.deliveries.items() if each.resolution_sent_ms is None]


def _receiver_json(name: str, state: ReceiverState) -> dict[str, object]:
    return {
        "name": name,
        "told": _unresolved(state),
        "last_success_at": None if state.success_ms is None else iso(state.success_ms),
        "last_failure_at": None if state.failure_ms is None else iso(state.failure_ms),
        "why": state.error,
    }
