"""Slack's incoming webhooks: one message for an active alert, one for its resolution.

https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
"""

from collections.abc import Iterator, Sequence
from typing import Final

from migration.values.durations import duration_text
from migration.values.severity import Severity
from migration.values.timestamps import utc_text
from orchestrator.config.alerts import SlackReceiver
from orchestrator.notify.channel import (
    Channel,
    as_json,
    secret_address,
    shortened,
    unexpected_response,
)
from orchestrator.notify.http_post import Request, Response
from orchestrator.notify.notification import Notification, page_url, subject

_TEXT_MAX: Final = 3000
"""Slack's limit for the text of a section."""
_RESOLVED: Final = "#2eb886"
_COLOURS: Final = {
    Severity.CRITICAL: "#d40e0d",
    Severity.WARNING: "#daa038",
    Severity.INFO: "#4a90d9",
}


class SlackChannel(Channel[SlackReceiver]):
    """The receiver for one Slack channel."""

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
