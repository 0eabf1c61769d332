"""Alertmanager's API v2: `POST /api/v2/alerts`.

It forgets what it was told when it starts again, so what stands is told every minute. An alert
that nobody tells any more ends there by itself at its `endsAt`. That is an hour ahead, so that a
Kraftgate that is restarted, or dies, does not end what still stands.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from urllib3.util import make_headers

from migration.values.timestamps import iso
from orchestrator.alerts.channel import Channel, as_json, no_answer_of
from orchestrator.alerts.notice import Notice
from orchestrator.alerts.post import Answer, Message, secret_in
from orchestrator.config_alerts import AlertmanagerReceiver

STANDS_ON_MS: Final = 3_600_000
_AGAIN_MS: Final = 60_000


class ToAlertmanager(Channel):
    """One Alertmanager. It inhibits, groups and repeats by its own configuration."""

    at_once: ClassVar[int] = 64
    inhibits: ClassVar[bool] = False
    again_ms: ClassVar[int | None] = _AGAIN_MS

    def __init__(self, given: AlertmanagerReceiver, runbook_url: str) -> None:
        super().__init__(given)
        self._given = given
        self._runbook_url = runbook_url
        self._url = f"{given.url}/api/v2/alerts"

    def message(self, notices: Sequence[Notice], now_ms: int) -> Message:
        """All of them as one list."""
        told = [
            {
                "labels": dict(each.labels()),
                "annotations": dict(each.annotations(self._runbook_url)),
                "startsAt": iso(each.starts_ms),
                "endsAt": iso(now_ms + STANDS_ON_MS if each.ends_ms is None else each.ends_ms),
            }
            for each in notices
        ]
        headers, secrets = self._credentials()
        return Message(url=self._url, body=as_json(told), headers=headers, secrets=secrets)

    def meant(self, answer: Answer) -> str:
        """It answers nothing; what has words is something else, as a proxy's page."""
        if answer.said.strip() not in ("", "{}", "null"):
            raise no_answer_of("Alertmanager", self._url)
        return f"{answer.status}"

    def _credentials(self) -> tuple[dict[str, str], tuple[str, ...]]:
        given = self._given
        if given.username is not None and given.password_file is not None:
            password = secret_in(given.password_file)
            return make_headers(basic_auth=f"{given.username}:{password}"), (password,)
        if given.bearer_token_file is not None:
            token = secret_in(given.bearer_token_file)
            return {"authorization": f"Bearer {token}"}, (token,)
        return {}, ()
