"""Alertmanager, Slack, PagerDuty and webhooks, and the channel of each configured receiver."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from migration.values.durations import duration_text
from migration.values.foreign import Unreadable, load_object
from migration.values.severity import Severity
from migration.values.timestamps import iso, utc_text
from orchestrator.config.alerts import (
    AlertmanagerReceiver,
    Alerts,
    PagerDutyReceiver,
    Receiver,
    SlackReceiver,
    WebhookReceiver,
)
from orchestrator.notify.channel import (
    Channel,
    as_json,
    header_values,
    secret_address,
    shortened,
    unexpected_response,
)
from orchestrator.notify.http_post import Request, Response, secret_in
from orchestrator.notify.notification import Notification, page_url, subject
from streams.net.http_credentials import http_credentials

ACTIVE_FOR_MS: Final = 3_600_000
"""Alertmanager resolves an alert that is not sent again within this time; a restart is shorter."""
_REPEAT_MS: Final = 60_000
_BEHIND_MS: Final = 60_000
"""By how much Alertmanager's clock may be behind this host's."""
_SUMMARY_MAX: Final = 1024
_NEVER: Final = "0001-01-01T00:00:00Z"
"""The `endsAt` of an active alert in Alertmanager's own webhooks."""
_TEXT_MAX: Final = 3000
"""Slack's limit for the text of a section."""
_RESOLVED: Final = "#2eb886"
_COLOURS: Final = {
    Severity.CRITICAL: "#d40e0d",
    Severity.WARNING: "#daa038",
    Severity.INFO: "#4a90d9",
}


def channels(alerts: Alerts) -> Sequence[Channel[Any]]:
    return [
        _CHANNELS[type(each)](name, each, alerts.runbook_url)
        for name, each in alerts.receivers().items()
    ]


class AlertmanagerChannel(Channel[AlertmanagerReceiver]):
    """Alertmanager's API v2, `POST /api/v2/alerts`. It inhibits, groups and repeats itself.

    It forgets its alerts when it restarts, so active ones are sent every minute. Their `endsAt` is
    an hour ahead, so that a restart of Kraftgate does not resolve them.
    """

    batch_size: ClassVar[int] = 64
    inhibits: ClassVar[bool] = False
    repeat_ms: ClassVar[int | None] = _REPEAT_MS
    _ahead_ms: int | None = None
    """How far the wall clock was ahead of the monotonic clock, at most; None: nothing was sent."""

    def request(self, notifications: Sequence[Notification], now_ms: int) -> Request:
        # Alertmanager resolves an alert whose end has passed by its own clock. So ends go on also
        # after this host's clock was set back.
        monotonic_ms = time.monotonic_ns() // 1_000_000
        ahead_ms = now_ms - monotonic_ms
        self._ahead_ms = ahead_ms if self._ahead_ms is None else max(self._ahead_ms, ahead_ms)
        until_ms = monotonic_ms + self._ahead_ms + ACTIVE_FOR_MS
        # It ignores an end in the future of its own clock, which may be behind this host's.
        past_ms = now_ms - _BEHIND_MS
        body = []
        for each in notifications:
            ends_ms = until_ms if each.resolved_ms is None else min(each.resolved_ms, past_ms)
            body.append(
                {
                    "labels": dict(each.labels()),
                    "annotations": dict(each.annotations(self.runbook_url)),
                    # An alert that ends before it starts is rejected.
                    "startsAt": iso(min(each.active_since_ms, ends_ms)),
                    "endsAt": iso(ends_ms),
                }
            )
        config = self.config
        headers, secrets = http_credentials(
            config.username, config.password_file, config.bearer_token_file, secret_in
        )
        url = f"{config.url}/api/v2/alerts"
        return Request(url=url, body=as_json(body), headers=headers, secrets=secrets)

    def accepted(self, response: Response, url: str) -> str:
        """Return the summary of an empty response; Alertmanager never responds with text."""
        if response.body.strip() not in ("", "{}", "null"):
            raise unexpected_response("Alertmanager", url)
        return super().accepted(response, url)


class SlackChannel(Channel[SlackReceiver]):
    """Slack's incoming webhooks: one message for an active alert, one for its resolution.

    https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
    """

    def request(self, notifications: Sequence[Notification], now_ms: int) -> Request:  # noqa: ARG002
        (one,) = notifications
        url, secrets = secret_address(None, self.config.url_file)
        title = _title(one)
        text = shortened("\n".join(self._lines(one, title)), _TEXT_MAX)
        section = {"type": "section", "text": {"type": "mrkdwn", "text": text}}
        colour = _RESOLVED if one.is_resolved else _COLOURS[one.alert.severity]
        body = {
            # For desktop notifications and screen readers.
            "text": _escaped(f"{title} ({subject(one.alert)})"),
            "attachments": [{"color": colour, "blocks": [section]}],
        }
        return Request(url=url, body=as_json(body), headers={}, secrets=secrets)

    def accepted(self, response: Response, url: str) -> str:
        """Return the summary of the response `ok`, which Slack sends."""
        if response.body.strip() != "ok":
            raise unexpected_response("Slack", url)
        return f"{response.status} ok"

    def _lines(self, one: Notification, title: str) -> Iterator[str]:
        yield f"*{_escaped(title)}*"
        yield _escaped(one.alert.description)
        if one.resolved_ms is None:
            page = page_url(one.alert, self.runbook_url)
            yield f"What to do: <{_escaped(page)}|{one.alert.name}>"
            yield f"Since {_moment(one.since_ms)}, {_escaped(subject(one.alert))}."
            yield from (f"• {_escaped(each)}" for each in one.details())
        else:
            lasted = duration_text(one.resolved_ms - one.active_since_ms)
            yield f"Resolved at {_moment(one.resolved_ms)}; it was active for {lasted}."


class PagerDutyChannel(Channel[PagerDutyReceiver]):
    """PagerDuty's Events API v2: a trigger and a resolve event with the same key.

    https://developer.pagerduty.com/docs/events-api-v2/trigger-events/
    """

    def request(self, notifications: Sequence[Notification], now_ms: int) -> Request:  # noqa: ARG002
        (notification,) = notifications
        alert = notification.alert
        key = secret_in(self.config.routing_key_file)
        body: dict[str, object] = {
            "routing_key": key,
            "event_action": "resolve" if notification.is_resolved else "trigger",
            "dedup_key": f"kraftgate-{alert.fingerprint}",
        }
        if not notification.is_resolved:
            page = page_url(alert, self.runbook_url)
            body |= {
                "client": "Kraftgate",
                "payload": self._payload(notification),
                "links": [{"href": page, "text": f"What to do: {alert.name}"}],
            }
        return Request(url=self.config.url, body=as_json(body), headers={}, secrets=(key,))

    def accepted(self, response: Response, url: str) -> str:
        """Return the summary of a response whose `status` is `success`, as PagerDuty's is."""
        try:
            answer = load_object(response.body)
        except Unreadable:
            answer = {}
        if answer.get("status") != "success":
            raise unexpected_response("PagerDuty", url)
        return f"{response.status} {answer.get('message', '')}".strip()

    def _payload(self, notification: Notification) -> Mapping[str, object]:
        alert = notification.alert
        broker = alert.labels.get("broker")
        payload: dict[str, object] = {
            "summary": shortened(f"{alert.summary} {alert.description}", _SUMMARY_MAX),
            "source": alert.labels["cluster"],
            "severity": str(alert.severity),
            "timestamp": iso(notification.active_since_ms),
            "class": alert.name,
            "group": alert.labels["cluster"],
            "custom_details": {**alert.labels, **notification.annotations(self.runbook_url)},
        }
        return payload if broker is None else {**payload, "component": f"broker {broker}"}


class WebhookChannel(Channel[WebhookReceiver]):
    """Any address that accepts JSON in the format of Alertmanager's webhooks, version 4.

    Each request has one alert. A request that is sent again because its response was lost has the
    same `Idempotency-Key`.
    """

    def request(self, notifications: Sequence[Notification], now_ms: int) -> Request:  # noqa: ARG002
        (notification,) = notifications
        url, secrets = secret_address(self.config.url, self.config.url_file)
        headers = header_values(self.config.header_files)
        labels = dict(notification.labels())
        annotations = dict(notification.annotations(self.runbook_url))
        resolved_ms = notification.resolved_ms
        one = {
            "status": notification.status,
            "labels": labels,
            "annotations": annotations,
            "startsAt": iso(notification.active_since_ms),
            "endsAt": _NEVER if resolved_ms is None else iso(resolved_ms),
            "generatorURL": "",
            "fingerprint": notification.alert.fingerprint,
        }
        body = {
            "version": "4",
            "groupKey": f"kraftgate:{notification.alert.fingerprint}",
            "truncatedAlerts": 0,
            "status": notification.status,
            "receiver": self.name,
            "groupLabels": {"alertname": notification.alert.name},
            "commonLabels": labels,
            "commonAnnotations": annotations,
            "externalURL": "",
            "alerts": [one],
        }
        return Request(
            url=url,
            body=as_json(body),
            headers={"idempotency-key": notification.idempotency_key, **headers},
            secrets=(*secrets, *headers.values()),
        )


def _title(one: Notification) -> str:
    if one.is_resolved:
        return f"Resolved: {one.alert.summary}"
    severity = one.alert.severity.capitalize()
    return f"{f'Still {severity.lower()}' if one.repeats else severity}: {one.alert.summary}"


def _moment(at_ms: int) -> str:
    """Return a time that Slack shows in the reader's time zone."""
    return f"<!date^{at_ms // 1000}^{{date_short_pretty}} {{time_secs}}|{utc_text(at_ms)}>"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_CHANNELS: Final[Mapping[type[Receiver], type[Channel[Any]]]] = {
    AlertmanagerReceiver: AlertmanagerChannel,
    SlackReceiver: SlackChannel,
    PagerDutyReceiver: PagerDutyChannel,
    WebhookReceiver: WebhookChannel,
}
