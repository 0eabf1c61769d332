"""The channel of each receiver that is configured."""

from collections.abc import Mapping

from orchestrator.alerts.channel import Channel
from orchestrator.alerts.to_alertmanager import ToAlertmanager
from orchestrator.alerts.to_pagerduty import ToPagerDuty
from orchestrator.alerts.to_slack import ToSlack
from orchestrator.alerts.to_webhook import ToWebhook
from orchestrator.config_alerts import (
    AlertmanagerReceiver,
    Alerts,
    PagerDutyReceiver,
    Receiver,
    SlackReceiver,
    WebhookReceiver,
)


def channels(alerts: Alerts) -> Mapping[str, tuple[Receiver, Channel]]:
    """Make them, by the receivers' names; nothing is opened or read yet."""
    return {
        name: (each, _channel(name, each, alerts.runbook_url))
        for name, each in alerts.receivers().items()
    }


def _channel(name: str, given: Receiver, runbook_url: str) -> Channel:
    match given:
        case AlertmanagerReceiver():
            return ToAlertmanager(given, runbook_url)
        case SlackReceiver():
            return ToSlack(given, runbook_url)
        case PagerDutyReceiver():
            return ToPagerDuty(given, runbook_url)
        case WebhookReceiver():
            return ToWebhook(name, given, runbook_url)
    raise TypeError(f"there is no channel for {type(given).__name__}")
