"""The click group `alerts`: which stand, whom they were told, and whether that works."""

import time
from pathlib import Path
from typing import Final

import click

from migration.assessment.alerts import Severity, Standing
from migration.observed.source_status import STALE_AFTER_MS
from migration.values.timestamps import iso
from orchestrator.alerts import kept
from orchestrator.alerts.ledger import Account, Ledger
from orchestrator.alerts.trial import tell_all
from orchestrator.cli_types import config_option
from orchestrator.config import Config, load_config
from orchestrator.contract import alert_json
from orchestrator.errors import ConfigError, KraftgateError, NoDataError
from orchestrator.terminal import echo, echo_json

_TOLD_MS_MAX: Final = kept.WRITE_EVERY_MS + STALE_AFTER_MS
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group()
def alerts() -> None:
    """Show which alerts stand and who was told, and try whether receivers can be told.

    \b
    Example:
      kraftgate alerts test
    """  # noqa: D301  # click wants the backspace


@alerts.command()
@config_option
@click.option(
    "--severity",
    type=click.Choice([str(each) for each in Severity]),
    default=str(Severity.INFO),
    show_default=True,
    help="Of the test alert; it is sent whatever a receiver's `min_severity` is.",
)
@click.option("--resolve", is_flag=True, help="Say that the test alert is over.")
@_json
def test(config_path: Path, severity: str, *, resolve: bool, as_json: bool) -> None:
    """Send one test alert to each receiver, and print what it answered.

    Ends with 1 when one did not take it. Slack shows it; PagerDuty keeps it open until --resolve,
    with the same --severity; Alertmanager does too, or for an hour.

    \b
    Examples:
      kraftgate alerts test --config kraftgate.yaml
      kraftgate alerts test --severity critical
      kraftgate alerts test --severity critical --resolve
    """  # noqa: D301  # click wants the backspace
    config = load_config(config_path)
    if not list(config.alerts.destinations()):
        raise ConfigError([f"{config_path}: `alerts` names nobody to tell: name a receiver there"])
    found = []
    for each in tell_all(config, Severity(severity), _now_ms(), resolve=resolve):
        found.append(each)
        if not as_json:
            echo(f"{each.receiver}: {'taken' if each.taken else 'not taken'}: {each.said}")
    if as_json:
        told = [{"name": e.receiver, "taken": e.taken, "said": e.said} for e in found]
        echo_json({"receivers": told})
    failed = [each.receiver for each in found if not each.taken]
    if failed:
        raise KraftgateError(f"not taken by {', '.join(failed)}")


@alerts.command(name="list")
@config_option
@_json
def list_(config_path: Path, *, as_json: bool) -> None:
    """Print the alerts that stand, as `kraftgate run` last judged, and what receivers were told.

    Ends with 4 when no `kraftgate run` judged them lately.

    \b
    Example:
      kraftgate alerts list --json | jq -r '.receivers[] | select(.why).name'
    """  # noqa: D301  # click wants the backspace
    config = load_config(config_path)
    found = {
        each.name: kept.read(config.state_dir / "clusters" / each.name / kept.ALERTS_FILE)
        for each in config.clusters
    }
    standing = [one for now in found.values() for one in now.standing()]
    accounts = {
        name: Ledger(config.state_dir, name, given).read()
        for name, given in config.alerts.receivers().items()
    }
    if as_json:
        told = {
            "alerts": [alert_json(each, config.alerts.runbook_url) for each in standing],
            "receivers": [_account_json(name, each) for name, each in accounts.items()],
        }
        echo_json(told)
    else:
        _print(config, standing, accounts)
    now_ms = _now_ms()
    old = [name for name, now in found.items() if now_ms - (now.at_ms or 0) > _TOLD_MS_MAX]
    if old:
        raise NoDataError(f"{', '.join(old)}: no `kraftgate run` judges alerts now")


def _print(config: Config, standing: list[Standing], accounts: dict[str, Account]) -> None:
    for each in standing:
        alert = each.alert
        labels = " ".join(f"{k}={v}" for k, v in alert.labels.items() if k != "severity")
        doubt = "" if each.is_known else " (whether it is over is not known)"
        echo(f"{alert.severity} {alert.name} {labels}: {alert.description}{doubt}")
    if not standing:
        echo("no alert stands")
    for name, account in accounts.items():
        open_ = sum(told.resolved_ms is None for told in account.told.values())
        words = f"told of {open_} that {'stands' if open_ == 1 else 'stand'}"
        if account.success_ms is not None:
            words += f", last at {iso(account.success_ms)}"
        if account.why is not None and account.failure_ms is not None:
            words += f"; failed at {iso(account.failure_ms)}: {account.why}"
        echo(f"{name}: {words}")
    if not accounts:
        echo(f"nobody is told: {config.path} names no receiver in `alerts`")


def _account_json(name: str, account: Account) -> dict[str, object]:
    return {
        "name": name,
        "told": [key for key, told in account.told.items() if told.resolved_ms is None],
        "last_success_at": None if account.success_ms is None else iso(account.success_ms),
        "last_failure_at": None if account.failure_ms is None else iso(account.failure_ms),
        "why": account.why,
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
