"""PagerDuty's Events API v2: an event that triggers, and one that resolves, by one key.

https://developer.pagerduty.com/docs/events-api-v2/trigger-events/
"""

from collections.abc import Mapping, Sequence
from typing import Final

from migration.values.foreign import Unreadable, load_object
from migration.values.timestamps import iso
from orchestrator.alerts.channel import Channel, as_json, no_answer_of, shortened
from orchestrator.alerts.notice import Notice, page_of
from orchestrator.alerts.post import Answer, Message, secret_in
from orchestrator.config_alerts import PagerDutyReceiver

_SUMMARY_MAX: Final = 1024


class ToPagerDuty(Channel):
    """One service of PagerDuty."""

    def __init__(self, given: PagerDutyReceiver, runbook_url: str) -> None:
        super().__init__(given)
        self._given = given
        self._runbook_url = runbook_url

    def message(self, notices: Sequence[Notice], now_ms: int) -> Message:  # noqa: ARG002
        """One event."""
        (notice,) = notices
        key = secret_in(self._given.routing_key_file)
        body: dict[str, object] = {
            "routing_key": key,
            "event_action": "resolve" if notice.is_over else "trigger",
            "dedup_key": f"kraftgate-{notice.alert.fingerprint}",
        }
        if not notice.is_over:
            body |= {
                "client": "Kraftgate",
                "payload": self._payload(notice),
                "links": [
                    {
                        "href": page_of(notice.alert, self._runbook_url),
                        "text": f"What to do: {notice.alert.name}",
                    }
                ],
            }
        return Message(url=self._given.url, body=as_json(body), headers={}, secrets=(key,))

    def meant(self, answer: Answer) -> str:
        """It answers with `status` success."""
        try:
            told = load_object(answer.said)
        except Unreadable:
            told = {}
        if told.get("status") != "success":
            raise no_answer_of("PagerDuty", self._given.url)
        return f"{answer.status} {told.get('message', '')}".strip()

    def _payload(self, notice: Notice) -> Mapping[str, object]:
        alert = notice.alert
        broker = alert.labels.get("broker")
        payload: dict[str, object] = {
            "summary": shortened(f"{alert.summary} {alert.description}", _SUMMARY_MAX),
            "source": alert.labels["cluster"],
            "severity": str(alert.severity),
            "timestamp": iso(notice.starts_ms),
            "class": alert.name,
            "group": alert.labels["cluster"],
            "custom_details": {**alert.labels, **notice.annotations(self._runbook_url)},
        }
        return payload if broker is None else {**payload, "component": f"broker {broker}"}
