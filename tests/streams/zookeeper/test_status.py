"""The configuration refuses nonsense at once; a status dates its reasons and becomes a source's."""

import pytest

from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.status import StatusBoard, source_status


@pytest.mark.parametrize("connect", ["", ":2181", "zk1:port", "/kafka", "zk1:2181,,zk2:2181"])
def test_a_bad_connection_string_is_refused(connect: str) -> None:
    with pytest.raises(ValueError, match="connection string"):
        Ensemble(connect=connect)


def test_a_session_timeout_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="session timeout is 10 ms"):
        Ensemble(connect="zk1", session_timeout_ms=10)


@pytest.mark.parametrize(
    ("connect", "hosts", "chroot"),
    [
        ("zk1:2181,zk2:2181/kafka", "zk1:2181,zk2:2181", "/kafka"),
        ("zk1:2181/kafka/a/", "zk1:2181", "/kafka/a"),
        ("zk1:2181/", "zk1:2181", ""),
        ("[::1]:2181", "[::1]:2181", ""),
    ],
)
def test_hosts_and_chroot_are_parted(connect: str, hosts: str, chroot: str) -> None:
    config = Ensemble(connect=connect)
    assert (config.hosts, config.chroot) == (hosts, chroot)


def tell(board: StatusBoard, waiting: tuple[str, str] | None = None, **fields: object) -> None:
    board.update(answered=False, waiting=waiting, error=None, **fields)


def test_a_wait_is_dated_by_its_name_and_ends_when_all_is_read() -> None:
    now = [1]
    board = StatusBoard(lambda: now[0])
    tell(board, ("no_zookeeper_reachable", "a"))
    now[0] = 5
    tell(board, ("no_zookeeper_reachable", "b"))
    tell(board, sees=False)
    waiting = board.read().waiting
    assert waiting is not None
    assert (waiting.detail, waiting.since_ms) == ("b", 1)
    board.settle(None)
    assert board.read().waiting is None


def test_facts_not_kept_are_an_error_until_they_are_kept() -> None:
    now = [1]
    board = StatusBoard(lambda: now[0])
    board.read("disk full")
    now[0] = 9
    error = board.read("disk full still").error
    assert error is not None
    assert (error.name, error.since_ms) == ("facts_not_kept", 1)
    assert board.read().error is None


def test_it_becomes_the_status_of_a_source() -> None:
    board = StatusBoard(lambda: 7)
    board.update(
        answered=True, waiting=("reading", "reading everything"), error=None, server="zk1:2181"
    )
    said = source_status(board.read())
    assert (said.observed_ms, said.last_reply_ms, said.endpoint) == (7, 7, "zk1:2181")
    assert (said.waiting, said.error, said.next_offset) == ("reading everything", None, None)
    assert said.whole_since_ms == 7, "nothing that was read before is known to be the present"
    board.update(answered=True, waiting=None, error=None, sees=True, sees_since_ms=3)
    assert source_status(board.read()).whole_since_ms == 3
