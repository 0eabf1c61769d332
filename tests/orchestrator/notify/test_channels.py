"""What each kind of receiver is sent, held against its documented shape."""

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from migration.values.severity import Severity
from migration.values.timestamps import iso
from orchestrator.notify.channel import Channel
from orchestrator.notify.configured import ACTIVE_FOR_MS
from orchestrator.notify.http_post import Undelivered
from orchestrator.notify.notification import Notification
from tests.orchestrator.notify import receivers
from tests.orchestrator.notify.receivers import PAGES, ROUTING_KEY, SLACK_PATH, TOKEN
from tests.orchestrator.notify.told import alert
from tests.support.receiver import Receiver, Reply, Sent, receiving

AT_MS: Final = 1_790_000_000_000
STARTS: Final = "2026-09-21T14:12:20.000Z"
STARTS_MS: Final = AT_MS - 60_000
FIRING: Final = Notification(alert=alert(), active_since_ms=STARTS_MS)
OVER: Final = Notification(alert=alert(), active_since_ms=STARTS_MS, resolved_ms=AT_MS, repeats=1)
CRITICAL: Final = Notification(alert=alert(3, Severity.CRITICAL), active_since_ms=STARTS_MS)

TEXTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
POSTABLE_ALERTS: Final = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "labels": TEXTS,
            "annotations": TEXTS,
            "startsAt": {"type": "string", "format": "date-time"},
            "endsAt": {"type": "string", "format": "date-time"},
            "generatorURL": {"type": "string", "format": "uri"},
        },
        "required": ["labels"],
        "additionalProperties": False,
    },
}
"""`postableAlerts` of Alertmanager's api/v2/openapi.yaml."""
TRIGGER: Final = {
    "type": "object",
    "properties": {
        "routing_key": {"type": "string", "minLength": 32, "maxLength": 32},
        "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
        "dedup_key": {"type": "string", "maxLength": 255},
        "client": {"type": "string"},
        "client_url": {"type": "string"},
        "links": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"href": {"type": "string"}, "text": {"type": "string"}},
                "required": ["href"],
                "additionalProperties": False,
            },
        },
        "payload": {
            "type": "object",
            "properties": {
                "summary": {"type": "string", "minLength": 1, "maxLength": 1024},
                "source": {"type": "string", "minLength": 1},
                "severity": {"enum": ["critical", "error", "warning", "info"]},
                "timestamp": {"type": "string", "format": "date-time"},
                "component": {"type": "string"},
                "group": {"type": "string"},
                "class": {"type": "string"},
                "custom_details": {"type": "object"},
            },
            "required": ["summary", "source", "severity"],
            "additionalProperties": False,
        },
    },
    "required": ["routing_key", "event_action"],
    "additionalProperties": False,
}
"""An event of PagerDuty's Events API v2, as its documentation lists the fields."""
SLACK: Final = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 1},
        "attachments": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "color": {"type": "string", "pattern": "^#[0-9a-f]{6}$"},
                    "blocks": {
                        "type": "array",
                        "maxItems": 50,
                        "items": {
                            "type": "object",
                            "properties": {
                                "type": {"const": "section"},
                                "text": {
                                    "type": "object",
                                    "properties": {
                                        "type": {"const": "mrkdwn"},
                                        "text": {"type": "string", "maxLength": 3000},
                                    },
                                    "required": ["type", "text"],
                                },
                            },
                            "required": ["type", "text"],
                        },
                    },
                },
            },
        },
    },
    "required": ["text"],
    "additionalProperties": False,
}
"""A message to an incoming webhook, of Block Kit's sections alone."""
WEBHOOK: Final = {
    "type": "object",
    "properties": {
        "version": {"const": "4"},
        "groupKey": {"type": "string"},
        "truncatedAlerts": {"type": "integer"},
        "status": {"enum": ["firing", "resolved"]},
        "receiver": {"type": "string"},
        "groupLabels": TEXTS,
        "commonLabels": TEXTS,
        "commonAnnotations": TEXTS,
        "externalURL": {"type": "string"},
        "alerts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "status": {"enum": ["firing", "resolved"]},
                    "labels": TEXTS,
                    "annotations": TEXTS,
                    "startsAt": {"type": "string", "format": "date-time"},
                    "endsAt": {"type": "string", "format": "date-time"},
                    "generatorURL": {"type": "string"},
                    "fingerprint": {"type": "string"},
                },
                "required": ["status", "labels", "annotations", "startsAt", "endsAt"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["version", "groupKey", "status", "receiver", "groupLabels", "alerts"],
    "additionalProperties": False,
}
"""What Alertmanager's documentation says that its webhooks get (webhook_config)."""


def valid(value: Any, schema: Any) -> Any:
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    jsonschema.validate(value, schema, format_checker=checker)
    return value


def told(
    to: Channel[Any], receiver: Receiver, *notices: Notification, at_ms: int = AT_MS
) -> tuple[str, Sent]:
    said = to.notify(notices, at_ms)
    to.close()
    return said, receiver.sent[-1]


def answers(status: int, body: bytes) -> Any:
    return lambda _: Reply(status, body)


def test_alertmanager_is_told_what_the_rules_tell_it_and_more(tmp_path: Path) -> None:
    with receiving(answers(200, b"")) as receiver:
        to = receivers.channel(tmp_path, receivers.alertmanager(tmp_path, receiver.url))
        said, sent = told(to, receiver, FIRING, OVER)
    assert said == "200"
    assert sent.path == "/prefix/api/v2/alerts"
    assert sent.headers["authorization"] == f"Bearer {TOKEN}"
    stands, over = valid(sent.json, POSTABLE_ALERTS)
    assert stands["labels"] == {
        "alertname": "KraftgateAssignmentStalled",
        "broker": "3",
        "cluster": "prod",
        "severity": "warning",
    }
    assert stands["annotations"] == {
        "summary": "Replicas of a broker wait for their log directories, and none gets one.",
        "description": "Broker 3 of prod is held & <waits>.",
        "runbook_url": f"{PAGES}/KraftgateAssignmentStalled.md",
        "since": "2026-09-21T13:56:40.000Z",
        "details": "12 of 64 replicas without a directory\na second fact",
    }
    assert ACTIVE_FOR_MS == 3_600_000
    assert (stands["startsAt"], stands["endsAt"]) == (STARTS, "2026-09-21T15:13:20.000Z")
    assert (over["startsAt"], over["endsAt"]) == (STARTS, iso(AT_MS - 60_000))


def test_alertmanager_keeps_active_alerts_after_the_clock_was_set_back(tmp_path: Path) -> None:
    """It resolves an alert that has ended by its own clock, and rejects one that ends too early."""
    back_ms = AT_MS - 2 * ACTIVE_FOR_MS
    over = replace(OVER, resolved_ms=back_ms)
    with receiving(answers(200, b"")) as receiver:
        to = receivers.channel(tmp_path, receivers.alertmanager(tmp_path, receiver.url))
        to.notify([FIRING], AT_MS)
        to.notify([FIRING, over], back_ms)
        to.close()
        other = receivers.channel(tmp_path, receivers.alertmanager(tmp_path, receiver.url))
        told(other, receiver, FIRING, at_ms=back_ms)
        (before,), (active, ended), (restarted,) = (each.json for each in receiver.sent)
    assert active["endsAt"] >= before["endsAt"]
    assert active["startsAt"] == before["startsAt"] == STARTS
    assert ended["startsAt"] == ended["endsAt"] == iso(back_ms - 60_000)
    assert restarted["startsAt"] == restarted["endsAt"] == iso(back_ms + ACTIVE_FOR_MS)


@pytest.mark.parametrize(
    ("password", "header"),
    [("hunter2", "dTpodW50ZXIy"), ("zażółć", base64.b64encode("u:zażółć".encode()).decode())],
    ids=["ASCII", "beyond Latin-1, in UTF-8 (RFC 7617)"],
)
def test_alertmanager_takes_a_name_and_a_password(
    tmp_path: Path, password: str, header: str
) -> None:
    receivers.secret(tmp_path, "password", password)
    with receiving(answers(200, b"")) as receiver:
        line = (
            f"  alertmanager: [{{url: '{receiver.url}', username: u, password_file: password}}]\n"
        )
        _, sent = told(receivers.channel(tmp_path, line), receiver, FIRING)
    assert sent.headers["authorization"] == f"Basic {header}"


def test_pagerduty_is_triggered_and_resolved_by_one_key(tmp_path: Path) -> None:
    processed = b'{"status":"success","message":"Event processed","dedup_key":"k"}'
    with receiving(answers(202, processed)) as receiver:
        to = receivers.channel(tmp_path, receivers.pagerduty(tmp_path, receiver.url))
        assert to.notify([CRITICAL], AT_MS) == "202 Event processed"
        over = Notification(alert=CRITICAL.alert, active_since_ms=STARTS_MS, resolved_ms=AT_MS)
        _, ended = told(to, receiver, over)
        began = receiver.sent[0]
    event = valid(began.json, TRIGGER)
    assert began.path == "/v2/enqueue"
    assert event["event_action"] == "trigger"
    assert event["routing_key"] == ROUTING_KEY
    payload = event["payload"]
    assert (payload["severity"], payload["source"]) == ("critical", "prod")
    assert (payload["component"], payload["class"]) == ("broker 3", "KraftgateAssignmentStalled")
    assert payload["timestamp"] == STARTS
    assert payload["custom_details"]["since"] == "2026-09-21T13:56:40.000Z"
    assert event["links"][0]["href"] == f"{PAGES}/KraftgateAssignmentStalled.md"
    resolved = valid(ended.json, TRIGGER)
    assert resolved == {
        "routing_key": ROUTING_KEY,
        "event_action": "resolve",
        "dedup_key": event["dedup_key"],
    }


def test_a_long_summary_is_shortened_for_pagerduty(tmp_path: Path) -> None:
    long = Notification(alert=alert(description="a directory " * 200), active_since_ms=STARTS_MS)
    with receiving(answers(202, b'{"status":"success"}')) as receiver:
        to = receivers.channel(tmp_path, receivers.pagerduty(tmp_path, receiver.url))
        _, sent = told(to, receiver, long)
    summary = valid(sent.json, TRIGGER)["payload"]["summary"]
    assert len(summary) == 1024
    assert summary.endswith("...")


def test_slack_shows_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    with receiving() as receiver:
        to = receivers.channel(tmp_path, receivers.slack(tmp_path, receiver.url))
        assert to.notify([FIRING], AT_MS) == "200 ok"
        _, ended = told(to, receiver, OVER)
        began = receiver.sent[0]
    assert began.path == SLACK_PATH
    message = valid(began.json, SLACK)
    assert message["text"].startswith("Warning: Replicas of a broker wait")
    assert "broker 3, cluster prod" in message["text"]
    text = message["attachments"][0]["blocks"][0]["text"]["text"]
    assert text.split("\n") == [
        "*Warning: Replicas of a broker wait for their log directories, and none gets one.*",
        "Broker 3 of prod is held &amp; &lt;waits&gt;.",
        f"What to do: <{PAGES}/KraftgateAssignmentStalled.md|KraftgateAssignmentStalled>",
        (
            "Since <!date^1789999000^{date_short_pretty} {time_secs}|2026-09-21 13:56:40 UTC>,"
            " broker 3, cluster prod."
        ),
        "• 12 of 64 replicas without a directory",
        "• a second fact",
    ]
    over = valid(ended.json, SLACK)["attachments"][0]
    text = over["blocks"][0]["text"]["text"]
    assert text.startswith("*Resolved: Replicas of a broker wait")
    assert text.endswith("it was active for 1 min.")
    assert over["color"] != message["attachments"][0]["color"]


def test_slack_is_told_that_it_still_stands_and_no_more_than_it_takes(tmp_path: Path) -> None:
    one = alert(details=tuple(f"fact {each} of a very long list of them" for each in range(200)))
    with receiving() as receiver:
        to = receivers.channel(tmp_path, receivers.slack(tmp_path, receiver.url))
        _, sent = told(to, receiver, Notification(alert=one, active_since_ms=STARTS_MS, repeats=2))
    message = valid(sent.json, SLACK)
    assert message["text"].startswith("Still warning: Replicas")
    assert "What to do" in message["attachments"][0]["blocks"][0]["text"]["text"]


def test_a_webhook_is_sent_what_alertmanager_sends_its_own(tmp_path: Path) -> None:
    with receiving(answers(204, b"")) as receiver:
        to = receivers.channel(tmp_path, receivers.webhook(tmp_path, receiver.url))
        assert to.notify([FIRING], AT_MS) == "204"
        _, ended = told(to, receiver, OVER)
        began = receiver.sent[0]
    assert began.headers["authorization"] == TOKEN
    assert began.headers["content-type"] == "application/json"
    assert began.headers["idempotency-key"] != ended.headers["idempotency-key"]
    body = valid(began.json, WEBHOOK)
    assert (body["status"], body["receiver"]) == ("firing", "webhook")
    assert body["alerts"][0]["endsAt"] == "0001-01-01T00:00:00Z"
    over = valid(ended.json, WEBHOOK)["alerts"][0]
    assert over["fingerprint"] == body["alerts"][0]["fingerprint"] == alert().fingerprint
    assert (over["status"], over["endsAt"]) == ("resolved", "2026-09-21T14:13:20.000Z")


def test_secrets_are_read_again_each_time(tmp_path: Path) -> None:
    with receiving() as receiver:
        to = receivers.channel(tmp_path, receivers.slack(tmp_path, receiver.url))
        to.notify([FIRING], AT_MS)
        receivers.secret(tmp_path, "slack-url", f"{receiver.url}/services/rotated")
        to.notify([FIRING], AT_MS)
        to.close()
        assert [each.path for each in receiver.sent] == [SLACK_PATH, "/services/rotated"]


KINDS: Final = {
    "slack": (receivers.slack, b"ok"),
    "pagerduty": (receivers.pagerduty, b'{"status":"success"}'),
    "alertmanager": (receivers.alertmanager, b""),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", [b"<html>Please log in</html>", b'{"status":"failure"}', b"[]"])
def test_what_answers_in_another_way_has_not_surely_taken_it(
    kind: str, body: bytes, tmp_path: Path
) -> None:
    make, _ = KINDS[kind]
    with receiving(answers(200, body)) as receiver:
        to = receivers.channel(tmp_path, make(tmp_path, receiver.url))
        with pytest.raises(Undelivered, match="is the address right") as caught:
            to.notify([FIRING], AT_MS)
        to.close()
    assert not caught.value.permanent
    assert caught.value.delivered is None


@pytest.mark.parametrize("content", ["", "\n", "not an address\n", "ftp://x/y\n", "https://[x"])
def test_an_address_that_is_none_is_said_without_being_shown(content: str, tmp_path: Path) -> None:
    line = receivers.slack(tmp_path, "http://127.0.0.1:1")
    to = receivers.channel(tmp_path, line)
    (tmp_path / "slack-url").write_text(content)
    with pytest.raises(Undelivered) as caught:
        to.notify([FIRING], AT_MS)
    assert caught.value.permanent
    assert "slack-url" in str(caught.value)
    assert content.strip() == "" or content.strip() not in str(caught.value)


def test_a_secret_file_that_is_gone_is_said(tmp_path: Path) -> None:
    to = receivers.channel(tmp_path, receivers.pagerduty(tmp_path, "http://127.0.0.1:1"))
    (tmp_path / "pd-key").unlink()
    with pytest.raises(Undelivered, match=r"the secret in .*pd-key cannot be read"):
        to.notify([FIRING], AT_MS)
