"""Any address that takes JSON, in the shape that Alertmanager gives its own webhooks (version 4).

So whatever takes those takes these: one alert in each message. `Idempotency-Key` is the same when a
message is sent twice because the answer to the first was lost.
"""

from collections.abc import Sequence

from migration.values.timestamps import iso
from orchestrator.alerts.channel import Channel, address, as_json, header_values
from orchestrator.alerts.notice import Notice
from orchestrator.alerts.post import Answer, Message
from orchestrator.config_alerts import WebhookReceiver

_NEVER = "0001-01-01T00:00:00Z"
"""What Alertmanager writes for the end of what stands."""


class ToWebhook(Channel):
    """One address."""

    def __init__(self, name: str, given: WebhookReceiver, runbook_url: str) -> None:
        super().__init__(given)
        self._name = name
        self._given = given
        self._runbook_url = runbook_url

    def message(self, notices: Sequence[Notice], now_ms: int) -> Message:  # noqa: ARG002
        """One alert."""
        (notice,) = notices
        url, secrets = address(self._given.url, self._given.url_file)
        headers = header_values(self._given.header_files)
        labels = dict(notice.labels())
        annotations = dict(notice.annotations(self._runbook_url))
        one = {
            "status": notice.status,
            "labels": labels,
            "annotations": annotations,
            "startsAt": iso(notice.starts_ms),
            "endsAt": _NEVER if notice.ends_ms is None else iso(notice.ends_ms),
            "generatorURL": "",
            "fingerprint": notice.alert.fingerprint,
        }
        body = {
            "version": "4",
            "groupKey": f"kraftgate:{notice.alert.fingerprint}",
            "truncatedAlerts": 0,
            "status": notice.status,
            "receiver": self._name,
            "groupLabels": {"alertname": notice.alert.name},
            "commonLabels": labels,
            "commonAnnotations": annotations,
            "externalURL": "",
            "alerts": [one],
        }
        return Message(
            url=url,
            body=as_json(body),
            headers={"idempotency-key": notice.key, **headers},
            secrets=(*secrets, *headers.values()),
        )

    def meant(self, answer: Answer) -> str:
        """Any of 2xx will do."""
        return f"{answer.status}"
