"""What a session takes for silence."""

import time
from types import SimpleNamespace
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler

from streams.zookeeper.session import Session


def test_a_server_that_sends_events_is_not_silent_though_answers_wait_behind_them() -> None:
    handler = SequentialThreadingHandler()
    client: Any = SimpleNamespace(event_at=time.monotonic() - 100)
    session = Session(client, lambda *_: None, lambda _: None, lambda _: None)
    assert session.unanswered_s() == 0
    session.ask(lambda _path: handler.async_result(), "/", lambda _: None)
    session._asked_at[1] -= 60
    assert 59 < session.unanswered_s() < 70
    client.event_at = time.monotonic()
    assert session.unanswered_s() < 10
