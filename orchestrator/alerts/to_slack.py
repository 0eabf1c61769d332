"""Slack's incoming webhooks: one message when it stands, one when it is over.

https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from migration.assessment.alerts import Severity
from migration.values.durations import duration_text
from migration.values.timestamps import date_text, time_text
from orchestrator.alerts.channel import Channel, address, as_json, no_answer_of, shortened
from orchestrator.alerts.notice import Notice, page_of
from orchestrator.alerts.post import Answer, Message
from orchestrator.config_alerts import SlackReceiver

_TEXT_MAX: Final = 3000
"""Of a section of a message."""
_OVER: Final = "#2eb886"
_COLOURS: Final = {
    Severity.CRITICAL: "#d40e0d",
    Severity.WARNING: "#daa038",
    Severity.INFO: "#4a90d9",
}


class ToSlack(Channel):
    """One channel of Slack."""

    at_once: ClassVar[int] = 1

    def __init__(self, given: SlackReceiver, runbook_url: str) -> None:
        super().__init__(given)
        self._url_file = given.url_file
        self._runbook_url = runbook_url
        self._url = ""

    def message(self, notices: Sequence[Notice], now_ms: int) -> Message:  # noqa: ARG002
        """One message with a coloured bar."""
        (notice,) = notices
        self._url, secrets = address(None, self._url_file)
        title = _title(notice)
        text = shortened("\n".join(self._lines(notice, title)), _TEXT_MAX)
        section = {"type": "section", "text": {"type": "mrkdwn", "text": text}}
        colour = _OVER if notice.is_over else _COLOURS[notice.alert.severity]
        body = {
            # What a notification and a screen reader say.
            "text": _escaped(f"{title} ({_where(notice)})"),
            "attachments": [{"color": colour, "blocks": [section]}],
        }
        return Message(url=self._url, body=as_json(body), headers={}, secrets=secrets)

    def meant(self, answer: Answer) -> str:
        """It answers `ok`."""
        if answer.said.strip() != "ok":
            raise no_answer_of("Slack", self._url)
        return f"{answer.status} ok"

    def _lines(self, notice: Notice, title: str) -> Iterator[str]:
        yield f"*{_escaped(title)}*"
        yield _escaped(notice.alert.description)
        if notice.ends_ms is None:
            page = page_of(notice.alert, self._runbook_url)
            yield f"What to do: <{_escaped(page)}|{notice.alert.name}>"
            yield f"Since {_moment(notice.since_ms)}, {_escaped(_where(notice))}."
            yield from (f"• {_escaped(each)}" for each in notice.details())
        else:
            lasted = duration_text(notice.ends_ms - notice.starts_ms)
            yield f"Over since {_moment(notice.ends_ms)}; it stood for {lasted}."


def _title(notice: Notice) -> str:
    if notice.is_over:
        return f"Over: {notice.alert.summary}"
    urgency = notice.alert.severity.capitalize()
    return f"{f'Still {urgency.lower()}' if notice.number else urgency}: {notice.alert.summary}"


def _where(notice: Notice) -> str:
    """The cluster, and what else tells it from others of its name."""
    labels = {k: v for k, v in notice.alert.labels.items() if k not in ("severity", "verdict")}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in labels.items())


def _moment(at_ms: int) -> str:
    """A time, as everybody who reads it sees it in a zone of his own."""
    spelled = f"{date_text(at_ms)} {time_text(at_ms)[:8]} UTC"
    return f"<!date^{at_ms // 1000}^{{date_short_pretty}} {{time_secs}}|{spelled}>"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
