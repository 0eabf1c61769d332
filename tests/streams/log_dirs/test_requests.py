"""The table of requests."""

import threading
from pathlib import Path

import pytest

from streams.log_dirs.errors import RequestsUnusable
from streams.log_dirs.poll_requests import PollRequest, PollRequests


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "requests.db"


def test_asked_seen_and_answered(path: Path) -> None:
    with PollRequests(path, lambda: 5) as asker, PollRequests(path) as poller:
        one, all_ = asker.ask(2, "it was restarted"), asker.ask(None, "a poll")
        assert poller.pending() == (
            PollRequest(one, 2, "it was restarted"),
            PollRequest(all_, None, "a poll"),
        )
        assert not asker.wait_answered(one, 0)
        poller.answer([one], 6)
        assert asker.wait_answered(one, 0)
        assert [each.id for each in poller.pending()] == [all_]


def test_who_waits_is_woken_by_the_answer(path: Path) -> None:
    with PollRequests(path) as requests:
        ticket = requests.ask(1, "a poll")
        answering = threading.Thread(target=requests.answer, args=([ticket], 9))
        answering.start()
        assert requests.wait_answered(ticket, 30.0)
        answering.join()


def test_ids_are_never_used_again(path: Path) -> None:
    with PollRequests(path, lambda: 0) as requests:
        first = requests.ask(1, "a poll")
        requests.answer([first], 1)
        requests.answer([], 3_600_002)
        assert not requests.is_answered(first)
        assert requests.ask(1, "another look") > first


def test_a_file_that_is_no_table_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database" * 100)
    with pytest.raises(RequestsUnusable, match=r"requests\.db"):
        PollRequests(path)
