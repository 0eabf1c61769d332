"""The click group `alerts`: list alerts and deliveries, and send a test alert."""

import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from migration.assessment.alerts import Alert, AlertState, AlertStates
from migration.observed.source_status import STALE_AFTER_MS
from migration.values.evidence import count
from migration.values.severity import Severity
from migration.values.timestamps import iso, utc_text
from orchestrator.api.rows import alert_row
from orchestrator.cli.current_data import why_not_current
from orchestrator.cli.framework import Group, config_option, json_option
from orchestrator.config.load import Config, load_config
from orchestrator.errors import ConfigError, FollowingError, KraftgateError, NoDataError
from orchestrator.notify.channel import Channel
from orchestrator.notify.configured import channels
from orchestrator.notify.delivery_file import DeliveryFile, ReceiverState
from orchestrator.notify.heartbeat import HeartbeatChannel
from orchestrator.notify.http_post import Undelivered
from orchestrator.notify.notification import Notification, subject
from orchestrator.output.formatting import local_times, moment_text
from orchestrator.output.printing import echo, echo_json
from orchestrator.run import alert_file
from orchestrator.run.assessed import Assessor
from orchestrator.run.reader import Reader
from streams.process.clocks import wall_clock_ms

TEST_ALERT: Final = "KraftgateTest"
_WRITTEN_MS_MAX: Final = alert_file.WRITE_EVERY_MS + STALE_AFTER_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverTest:
    """Whether a receiver accepted the test alert; `response`: what it responded, or the error.

    accepted: None: a heartbeat that was not sent; `response` is the reason.
    """

    receiver: str
    accepted: bool | None
    response: str


_RESULTS: Final = {True: "accepted", False: "not accepted", None: "not sent"}


@click.group(cls=Group)
def alerts() -> None:
    """Show the alerts and what receivers were notified of, and test the receivers.

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
    with the same --severity; Alertmanager does too, for an hour at most. A heartbeat is sent only
    while `kraftgate run` polls the clusters and no receiver fails, because it reports that.

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
            echo(f"{each.receiver}: {_RESULTS[each.accepted]}: {each.response}")
    if as_json:
        receivers = [
            {"name": each.receiver, "taken": each.accepted, "said": each.response}
            for each in found
            if each.accepted is not None
        ]
        not_sent = [
            {"name": each.receiver, "why": each.response} for each in found if each.accepted is None
        ]
        echo_json({"receivers": receivers, "not_sent": not_sent})
    failed = [each.receiver for each in found if each.accepted is False]
    if failed:
        raise KraftgateError(f"not accepted by {', '.join(failed)}")


@alerts.command(name="list")
@config_option
@json_option
def list_(config_path: Path, *, as_json: bool) -> None:
    """Print the alerts that are active or pending, and what receivers were notified of.

    `kraftgate run` assesses them. A pending alert becomes active if its condition holds for the
    time of its rule. Exits with 4 if no `kraftgate run` assessed them lately, or where `kraftgate
    status` exits with 4: an alert may be missing then. It still prints what it has.

    \b
    Example:
      kraftgate alerts list --json | jq -r '.receivers[] | select(.why).name'
    """
    config = load_config(config_path)
    found = _alerts(config)
    active = [each for now in found.values() for each in now.active()]
    pending = [each for now in found.values() for each in now.pending()]
    states = _states(config)
    unknown = _unknown(config, found, wall_clock_ms())
    if as_json:
        url = config.alerts.runbook_url
        printed = {
            "alerts": [alert_row(each, url).public() for each in active],
            "receivers": [_receiver_json(name, each) for name, each in states.items()],
            "pending_alerts": [alert_row(each, url).public() for each in pending],
            "unknown": [f"{name}: {why}" for name, why in unknown.items()],
        }
        echo_json(printed)
    else:
        _print_alerts((*active, *pending), unknown)
        _print_receivers(config, states)
    if unknown:
        raise NoDataError("; ".join(f"{name}: {why}" for name, why in unknown.items()))


def _alerts(config: Config) -> dict[str, AlertStates]:
    return {
        each.name: alert_file.read(alert_file.file_of(config, each.name))
        for each in config.clusters
    }


def _states(config: Config) -> dict[str, ReceiverState]:
    return {
        name: DeliveryFile(config.state_dir, name, receiver).read()
        for name, receiver in config.alerts.receivers().items()
    }


def _unknown(config: Config, found: Mapping[str, AlertStates], now_ms: int) -> Mapping[str, str]:
    """Return the clusters of which an alert may be missing, with the reason."""
    try:
        tick = Assessor(config, Reader(config, newest=1)).tick(now_ms)
    except FollowingError as error:
        return dict.fromkeys(found, str(error))
    unknown = {}
    for one in tick.clusters:
        name = one.entry.name
        if abs(now_ms - (found[name].at_ms or 0)) > _WRITTEN_MS_MAX:
            unknown[name] = "no `kraftgate run` assesses alerts now"
        elif why := why_not_current(one):
            unknown[name] = why
    return unknown


def send_test_alert(
    config: Config, severity: Severity, now_ms: int, *, resolve: bool
) -> Iterator[ReceiverTest]:
    """Send a test alert, or its resolution, to every receiver, then the heartbeats if they hold."""
    notification = Notification(
        alert=_test_alert(config, severity),
        active_since_ms=now_ms,
        resolved_ms=now_ms if resolve else None,
    )
    failing = {
        name: f"the last notification to {name} failed"
        for name, each in _states(config).items()
        if each.error is not None
    }
    for channel in channels(config.alerts):
        result = _sent(channel, (notification,), now_ms)
        if not result.accepted:
            failing[result.receiver] = f"{result.receiver} did not accept the test"
        yield result
    heartbeats = config.alerts.heartbeats()
    why = _why_no_heartbeat(config, failing.values(), now_ms) if heartbeats else None
    for name, heartbeat in heartbeats.items():
        if why is None:
            yield _sent(HeartbeatChannel(name, heartbeat), (), now_ms)
        else:
            yield ReceiverTest(receiver=name, accepted=None, response=why)


def _why_no_heartbeat(config: Config, failing: Iterable[str], now_ms: int) -> str | None:
    """Return why a heartbeat would be wrong: its service would close an incident that lasts."""
    try:
        unknown = _unknown(config, _alerts(config), now_ms)
    except KraftgateError as error:
        unknown = {"kraftgate": str(error)}
    reasons = [f"{name}: {why}" for name, why in unknown.items()]
    reasons += sorted(failing)
    if not reasons:
        return None
    return f"it reports that the clusters are polled and alerts arrive, but {'; '.join(reasons)}"


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


def _print_alerts(found: Sequence[AlertState], unknown: Mapping[str, str]) -> None:
    for each in found:
        for line in _lines(each):
            echo(local_times(line))
    for name, why in unknown.items():
        echo(local_times(f"{name}: unknown: {why}"))
    if not found and not unknown:
        echo("no alert is active")


def _print_receivers(config: Config, states: Mapping[str, ReceiverState]) -> None:
    for name, state in states.items():
        accepted, unconfirmed = _unresolved(state)
        words = f"notified of {count(len(accepted), 'active alert')}"
        if unconfirmed:
            words += f", {len(unconfirmed)} with unknown result"
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
    is_pending = one.active_since_ms is None
    doubt = "" if one.is_known else " (unknown whether it is resolved)"
    yield f"{'pending: ' if is_pending else ''}{alert.severity}: {alert.description}{doubt}"
    yield from (f"  - {each}" for each in alert.details)
    yield f"  {alert.name} ({subject(alert)}), {_since(one)}"
    yield f"  read: kraftgate help {alert.name}"


def _since(one: AlertState) -> str:
    """Return since when an alert is active; for a pending one, also when it becomes active."""
    alert = one.alert
    if one.active_since_ms is not None:
        since_ms = one.active_since_ms if alert.since_ms is None else alert.since_ms
        return f"since {utc_text(since_ms)}"
    pending = f"pending since {utc_text(one.found_ms)}"
    if not alert.for_ms:  # an earlier version did not store it
        return pending
    return f"{pending}, active from {utc_text(one.found_ms + alert.for_ms)} if it lasts"


def _unresolved(state: ReceiverState) -> tuple[list[str], list[str]]:
    """Fingerprints of the alerts whose resolution was not delivered: accepted, and unconfirmed."""
    accepted: list[str] = []
    unconfirmed: list[str] = []
    for key, each in state.deliveries.items():
        if each.resolution_sent_ms is None:
            (accepted if each.count else unconfirmed).append(key)
    return accepted, unconfirmed


def _receiver_json(name: str, state: ReceiverState) -> dict[str, object]:
    accepted, unconfirmed = _unresolved(state)
    return {
        "name": name,
        "told": accepted,
        "unconfirmed": unconfirmed,
        "last_success_at": None if state.success_ms is None else iso(state.success_ms),
        "last_failure_at": None if state.failure_ms is None else iso(state.failure_ms),
        "why": state.error,
    }
