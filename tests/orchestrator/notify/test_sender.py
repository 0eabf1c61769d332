"""One receiver and its thread: tried again, in order, remembered, and never waited for."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from migration.values.severity import Severity
from migration.values.timestamps import iso
from orchestrator.notify import sender
from orchestrator.notify.configured import channels
from orchestrator.notify.delivery import RESOLVE_AFTER_MS, ActiveAlerts
from orchestrator.notify.delivery_file import DeliveryFile
from orchestrator.notify.sender import Sender, SenderStats
from tests.orchestrator.notify import receivers
from tests.orchestrator.notify.receivers import ROUTING_KEY, TOKEN
from tests.orchestrator.notify.told import HOUR_MS, alert, wanted
from tests.support.polling import until
from tests.support.receiver import OK, Receiver, Reply, Sent, receiving


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "_FIRST_S", 0.01)
    monkeypatch.setattr(sender, "_LONGEST_S", 0.02)


@dataclass
class Desk:
    """Makes senders of one configured receiver; the clock is the test's."""

    folder: Path
    stack: ExitStack
    now_ms: int = 0
    made: list[Sender] = field(default_factory=list)

    def sender(self, line: str) -> Sender:
        config = receivers.config(self.folder, line)
        (channel,) = channels(config.alerts)
        config.state_dir.mkdir(exist_ok=True)
        found = Sender(
            channel,
            config.state_dir,
            4 * HOUR_MS,
            clock_ms=lambda: self.now_ms,
            jitter=lambda: 0.0,
        )
        self.made.append(found)
        return found

    def ended(self, one: Sender) -> SenderStats:
        """End it; every due notification was sent, or tried once."""
        one.end()
        one.unsent(30)
        assert not one.is_alive()
        return one.stats

    def kept(self, name: str) -> Any:
        return json.loads((self.folder / "state" / "alerts" / f"{name}.json").read_text())


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with ExitStack() as stack:
        desk = Desk(tmp_path, stack)
        yield desk
        for each in desk.made:
            each.end()
            each.unsent(30)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def statuses(sent: list[Sent]) -> list[tuple[str, str]]:
    """Of a webhook: each alert's broker and status."""
    return [(each.json["commonLabels"]["broker"], each.json["status"]) for each in sent]


def in_turn(*replies: Reply) -> Callable[[Sent], Reply]:
    left = list(replies)
    return lambda _: left.pop(0) if left else OK


def test_what_is_handed_over_again_and_again_is_told_once(desk: Desk, receiver: Receiver) -> None:
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    for _ in range(50):
        one.submit(wanted(0, alert(), since_ms=0))
    receiver.wait(1)
    figures = desk.ended(one)
    assert statuses(receiver.sent) == [("3", "firing")]
    assert (figures.sent, figures.failed, figures.waiting, figures.error) == (1, 0, 0, None)


def test_it_is_tried_again_until_it_is_taken(desk: Desk, receiver: Receiver) -> None:
    """By itself, though nothing new is handed over; what fails is the same each time."""
    receiver.answer = in_turn(Reply(500), Reply(429), Reply(503))
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert()))
    sent = receiver.wait(4)
    figures = desk.ended(one)
    assert len({each.headers["idempotency-key"] for each in sent}) == 1
    assert (figures.sent, figures.failed, figures.error) == (1, 3, None)
    assert desk.kept("webhook")["why"] is None


def test_why_it_failed_is_kept(
    desk: Desk, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = lambda _: Reply(500, b"out of disk")
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert()))
    receiver.wait(3)
    figures = desk.ended(one)
    why = f"{receiver.url} answers 500: out of disk"
    assert figures.error == desk.kept("webhook")["why"] == why
    assert figures.waiting == 1
    assert caplog.text.count(why) == 1, "the same reason is said once"


def test_the_other_side_may_ask_for_time(desk: Desk, receiver: Receiver) -> None:
    receiver.answer = lambda _: Reply(429, headers={"Retry-After": "3600"})
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert()))
    until(lambda: one.stats.failed == 1)
    assert one._not_before_s - time.monotonic() > 500, "though not for an hour"
    one.submit(wanted(0, alert(), alert(4), since_ms=0))
    desk.ended(one)
    assert len(receiver.sent) == 2, "at the end it is tried once more"


def test_one_that_is_refused_keeps_no_other_waiting(desk: Desk, receiver: Receiver) -> None:
    receiver.answer = lambda sent: Reply(400) if b'"broker":"3"' in sent.body else OK
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert(3), alert(4), alert(5), since_ms=0))
    receiver.wait(3)
    one.submit(wanted(1, alert(3), alert(4), alert(5), since_ms=0))
    figures = desk.ended(one)
    brokers = [broker for broker, _ in statuses(receiver.sent)]
    assert sorted(brokers) == ["3", "4", "5"], "nor is it told again soon"
    assert (figures.sent, figures.failed, figures.waiting) == (2, 1, 1)


@pytest.mark.parametrize("failing_s", [60.0, 0.0], ids=["one round", "a failure ends the round"])
@pytest.mark.parametrize("reply", [Reply(500), None], ids=["500", "no answer"])
def test_those_that_fail_each_time_keep_no_other_waiting(
    reply: Reply | None,
    failing_s: float,
    desk: Desk,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sender, "_FAILING_S", failing_s)
    fails = (b'"broker":"3"', b'"broker":"4"')
    receiver.answer = lambda sent: reply if any(each in sent.body for each in fails) else OK
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, *map(alert, (3, 4, 5, 6)), since_ms=0))
    until(lambda: one.stats.sent == 2)
    one.submit(wanted(1, *map(alert, (3, 4, 6)), since_ms=0))
    desk.now_ms = 1 + RESOLVE_AFTER_MS
    until(lambda: one.stats.sent == 3)
    one.submit(wanted(desk.now_ms, *map(alert, (3, 4, 6, 7)), since_ms=0))
    until(lambda: one.stats.sent == 4)
    assert desk.ended(one).waiting == 2
    others = [each for each in statuses(receiver.sent) if each[0] not in ("3", "4")]
    assert sorted(others[:2]) == [("5", "firing"), ("6", "firing")]
    assert others[2:] == [("5", "resolved"), ("7", "firing")]


def test_a_rejected_notification_keeps_no_thread_busy(
    desk: Desk, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one failed for a moment and is over before it is tried again."""
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    receiver.answer = lambda sent: Reply(400) if b'"broker":"3"' in sent.body else Reply(503)
    one.submit(wanted(0, alert(3), alert(4), since_ms=0))
    until(lambda: one.stats.failed >= 2)
    monkeypatch.setattr(sender, "_FIRST_S", 30.0)
    sends: list[ActiveAlerts] = []
    send = one._send

    def counted(active: ActiveAlerts, *, closing: bool) -> None:
        sends.append(active)
        send(active, closing=closing)

    monkeypatch.setattr(one, "_send", counted)
    one.submit(wanted(1, alert(3), since_ms=0))
    until(lambda: one.stats.waiting == 1)
    one.submit(wanted(2, alert(3), since_ms=0))
    until(lambda: len(sends) >= 2)
    until(lambda: one._failures == 0)
    assert desk.ended(one).waiting == 1


@pytest.mark.parametrize("status", [400, 500])
def test_of_several_at_once_the_others_are_sent_alone(
    status: int, desk: Desk, receiver: Receiver
) -> None:
    receiver.answer = lambda sent: Reply(status if b'"broker":"3"' in sent.body else 200)
    one = desk.sender(receivers.alertmanager(desk.folder, receiver.url))
    one.submit(wanted(0, alert(3), alert(4), alert(5)))
    sent = receiver.wait(4)
    desk.ended(one)
    brokers = [[each["labels"]["broker"] for each in one.json] for one in sent]
    assert sorted(brokers[0]) == ["3", "4", "5"]
    assert sorted(brokers[1:4]) == [["3"], ["4"], ["5"]]


def test_alertmanager_is_told_again_every_minute(desk: Desk, receiver: Receiver) -> None:
    receiver.answer = lambda _: Reply(200)
    one = desk.sender(receivers.alertmanager(desk.folder, receiver.url))
    for minute in range(3):
        desk.now_ms = minute * 60_000
        one.submit(wanted(desk.now_ms, alert(), since_ms=0))
        receiver.wait(minute + 1)
    starts = {each.json[0]["startsAt"] for each in receiver.sent}
    ends = {each.json[0]["endsAt"] for each in receiver.sent}
    assert (len(starts), len(ends)) == (1, 3)


@pytest.mark.parametrize("behind_ms", [0, 200, 59_000])
def test_alertmanager_takes_the_end_also_if_its_clock_is_behind(
    behind_ms: int, desk: Desk, receiver: Receiver
) -> None:
    """It ignores an end in its future; at its own end Kraftgate sends it once and never again."""
    stored: dict[str, tuple[str, str]] = {}

    def answer(sent: Sent) -> Reply:
        for each in sent.json:
            key, new = str(each["labels"]), (each["startsAt"], each["endsAt"])
            stored[key] = _put(stored.get(key), new, iso(desk.now_ms - behind_ms))
        return Reply(200)

    receiver.answer = answer
    desk.now_ms = 10 * HOUR_MS
    one = desk.sender(receivers.alertmanager(desk.folder, receiver.url))
    one.submit(wanted(desk.now_ms, alert(3), since_ms=9 * HOUR_MS))
    receiver.wait(1)
    desk.now_ms += 100
    one.submit(wanted(desk.now_ms, alert(4), since_ms=desk.now_ms))
    receiver.wait(2)
    desk.now_ms += 100
    one.submit(wanted(desk.now_ms))
    desk.ended(one)
    assert len(stored) == 2
    assert {end <= iso(desk.now_ms - behind_ms) for _, end in stored.values()} == {True}


def _put(old: tuple[str, str] | None, new: tuple[str, str], now: str) -> tuple[str, str]:
    """Return what Alertmanager stores of an alert: its start and end (`mem.Put`, `Alert.Merge`)."""
    if old is None or not (old[0] < new[1] < old[1] or old[0] < new[0] < old[1]):
        return new
    return min(old[0], new[0]), max(old[1], new[1]) if new[1] > now else new[1]


def test_what_ended_while_nobody_could_be_told_is_not_told(desk: Desk, receiver: Receiver) -> None:
    receiver.answer = lambda _: Reply(503)
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert()))
    receiver.wait(1)
    desk.now_ms = 10 * RESOLVE_AFTER_MS
    one.submit(wanted(1))
    one.submit(wanted(desk.now_ms))
    until(lambda: one.stats.waiting == 0)  # or a retry of the first would be accepted
    receiver.answer = lambda _: OK
    desk.ended(one)
    assert {status for _, status in statuses(receiver.sent)} == {"firing"}
    assert desk.kept("webhook")["told"] == {}


def test_what_may_have_been_taken_is_ended_too(desk: Desk, receiver: Receiver) -> None:
    receiver.answer = lambda _: None
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert()))
    receiver.wait(1)
    one.submit(wanted(1))
    receiver.answer = lambda _: OK
    desk.ended(one)
    assert statuses(receiver.sent)[-1] == ("3", "resolved")


def test_the_next_run_repeats_nothing_and_ends_what_ended_meanwhile(
    desk: Desk, receiver: Receiver
) -> None:
    line = receivers.webhook(desk.folder, receiver.url)
    first = desk.sender(line)
    first.submit(wanted(0, alert(3), alert(4), since_ms=0))
    receiver.wait(2)
    desk.ended(first)
    desk.now_ms = 5000
    second = desk.sender(line)
    assert second.stats.success_ms == 0, "when it last worked is known still"
    second.submit(wanted(5000, alert(3), since_ms=0))
    desk.ended(second)
    assert statuses(receiver.sent)[2:] == [("4", "resolved")]


def test_a_resolution_is_given_up_when_it_was_due_for_a_day(
    desk: Desk,
    receiver: Receiver,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert(), since_ms=0))
    receiver.wait(1)
    receiver.answer = lambda _: Reply(503)
    one.submit(wanted(1000))
    until(lambda: all(each["over_ms"] for each in desk.kept("webhook")["told"].values()))
    desk.now_ms = 1000 + RESOLVE_AFTER_MS
    one.submit(wanted(desk.now_ms))
    until(lambda: one.stats.failed)
    assert "could not be delivered" not in caplog.text
    monkeypatch.setattr(sender, "_GIVE_UP_S", 0.0)
    until(lambda: "the resolution of" in caplog.text)
    assert desk.ended(one).waiting == 0


def test_a_clock_that_jumps_a_day_drops_no_resolution(desk: Desk, receiver: Receiver) -> None:
    """Or a host that was suspended in the minute before the resolution was due."""
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert(), since_ms=0))
    receiver.wait(1)
    one.submit(wanted(1000))
    until(lambda: all(each["over_ms"] for each in desk.kept("webhook")["told"].values()))
    desk.now_ms = 25 * HOUR_MS
    one.submit(wanted(desk.now_ms))
    assert statuses(receiver.wait(2))[1:] == [("3", "resolved")]
    desk.ended(one)


def test_a_resolution_is_tried_also_after_a_day_without_kraftgate(
    desk: Desk, receiver: Receiver
) -> None:
    """It was killed in the minute before the resolution was due."""
    file = desk.folder / "state" / "alerts" / "webhook.json"
    line = receivers.webhook(desk.folder, receiver.url)
    one = desk.sender(line)
    one.submit(wanted(0, alert(), since_ms=0))
    receiver.wait(1)
    desk.now_ms = 10_000
    one.submit(wanted(10_000))
    until(lambda: all(each["over_ms"] for each in desk.kept("webhook")["told"].values()))
    killed = file.read_bytes()
    desk.ended(one)
    file.write_bytes(killed)
    before = len(receiver.sent)
    desk.now_ms = 25 * HOUR_MS
    two = desk.sender(line)
    two.submit(wanted(desk.now_ms))
    desk.ended(two)
    assert statuses(receiver.sent[before:]) == [("3", "resolved")]


def test_a_resolution_that_fails_at_the_end_is_named(desk: Desk, receiver: Receiver) -> None:
    """No later run may come; PagerDuty then keeps the incident open."""
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert()))
    receiver.wait(1)
    receiver.answer = lambda _: Reply(503)
    one.submit(wanted(1))
    one.end()
    assert [each.status for each in one.unsent(30)] == ["resolved"]


def test_one_that_was_killed_while_it_told_tells_it_again(desk: Desk, receiver: Receiver) -> None:
    """Before the answer: whether it was taken nobody knows, and the key is the same."""
    line = receivers.webhook(desk.folder, receiver.url)
    receiver.answer = receiver.hang
    first = desk.sender(line)
    first.submit(wanted(0, alert()))
    receiver.wait(1)
    held = DeliveryFile(desk.folder / "state", "webhook", given(desk, line)).path.read_bytes()
    receiver.answer = lambda _: OK
    receiver.let_go()
    desk.ended(first)
    first_count = len(receiver.sent)
    (desk.folder / "state" / "alerts" / "webhook.json").write_bytes(held)  # as kill -9 left it
    second = desk.sender(line)
    second.submit(wanted(5000, alert(), since_ms=0))
    sent = receiver.wait(first_count + 1)
    assert len({each.headers["idempotency-key"] for each in sent}) == 1
    desk.ended(second)


def given(desk: Desk, line: str) -> Any:
    ((_, found),) = receivers.config(desk.folder, line).alerts.receivers().items()
    return found


def test_another_receiver_of_the_same_name_is_told_anew(desk: Desk, receiver: Receiver) -> None:
    first = desk.sender(receivers.webhook(desk.folder, receiver.url))
    first.submit(wanted(0, alert()))
    receiver.wait(1)
    desk.ended(first)
    elsewhere = f"  webhook: [{{url: '{receiver.url}/elsewhere'}}]\n"
    second = desk.sender(elsewhere)
    second.submit(wanted(0, alert()))
    assert receiver.wait(2)[1].path == "/elsewhere"


def test_handing_over_waits_for_nothing(desk: Desk, receiver: Receiver) -> None:
    """While the receiver hangs; what was handed over last is what counts."""
    receiver.answer = receiver.hang
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert(3)))
    receiver.wait(1)
    for broker in range(10, 1000):
        one.submit(wanted(0, alert(broker)))
    one.submit(wanted(0, alert(3), alert(7)))
    receiver.answer = lambda _: OK
    receiver.let_go()
    receiver.wait(3)
    desk.ended(one)
    assert {broker for broker, _ in statuses(receiver.sent)} == {"3", "7"}


def test_a_full_disk_keeps_nobody_from_being_told(
    desk: Desk, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    (desk.folder / "state").mkdir()
    (desk.folder / "state" / "alerts").write_text("this is no directory")
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert()))
    receiver.wait(1)
    desk.ended(one)
    assert "the deliveries of webhook cannot be saved" in caplog.text


def test_a_ledger_that_cannot_be_read_is_begun_anew(
    desk: Desk, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    file = desk.folder / "state" / "alerts" / "webhook.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")
    one = desk.sender(receivers.webhook(desk.folder, receiver.url))
    one.submit(wanted(0, alert()))
    receiver.wait(1)
    assert "cannot be read; active alerts are sent again" in caplog.text


@pytest.mark.parametrize("kind", ["username: u, password_file", "bearer_token_file"])
def test_no_secret_ends_the_thread(kind: str, desk: Desk, receiver: Receiver) -> None:
    file = receivers.secret(desk.folder, "secret", "zażółć")
    receiver.answer = lambda _: Reply(503)
    one = desk.sender(f"  alertmanager: [{{url: '{receiver.url}', {kind}: {file}}}]\n")
    one.submit(wanted(0, alert()))
    until(lambda: one.stats.failed > 0)
    assert one.is_alive()
    assert "zażółć" not in str(one.stats.error)


@pytest.mark.parametrize("make", [receivers.slack, receivers.pagerduty, receivers.webhook])
def test_no_secret_is_written_anywhere(
    make: Callable[[Path, str], str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the other side says back, and however much is logged."""
    caplog.set_level(logging.DEBUG)
    for name in ("orchestrator", "streams", "migration"):
        caplog.set_level(logging.DEBUG, logger=name)
    caplog.set_level(logging.INFO, logger="urllib3")  # as `kraftgate -vv` has it
    with receiving() as receiver, ExitStack() as stack:
        receiver.answer = lambda sent: Reply(
            500, f"{sent.path} {sent.headers.get('authorization')} {sent.body!r}".encode()
        )
        desk = Desk(tmp_path, stack)
        one = desk.sender(make(tmp_path, receiver.url))
        one.submit(wanted(0, alert(), alert(4, Severity.CRITICAL)))
        receiver.wait(2)
        figures = desk.ended(one)
    kept = "".join(each.read_text() for each in (tmp_path / "state").rglob("*.json"))
    for secret in ("very-secret-part", ROUTING_KEY, TOKEN):
        assert secret not in kept
        assert secret not in caplog.text
        assert secret not in str(figures)
    assert "[redacted]" in str(figures.error) or make is receivers.pagerduty


def test_before_anything_is_handed_over_nothing_is_told(desk: Desk, receiver: Receiver) -> None:
    line = receivers.webhook(desk.folder, receiver.url)
    first = desk.sender(line)
    first.submit(wanted(0, alert()))
    receiver.wait(1)
    desk.ended(first)
    second = desk.sender(line)
    desk.ended(second)
    assert len(receiver.sent) == 1, "what stood is not over because nobody looked yet"
