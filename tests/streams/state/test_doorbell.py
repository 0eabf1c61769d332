"""A source that waits on behalf of all is woken by the others."""

import threading
from pathlib import Path

from streams.state.doorbell import Doorbell


def _none(timeout_s: float) -> bool:
    threading.Event().wait(timeout_s)
    return False


def test_a_ring_ends_the_wait(tmp_path: Path) -> None:
    waiting, other = Doorbell(tmp_path / "bell"), Doorbell(tmp_path / "bell")
    started = threading.Event()

    def news(timeout_s: float) -> bool:
        started.set()
        return _none(timeout_s)

    ended = threading.Event()

    def wait() -> None:
        waiting.wait(news, 600)
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    assert started.wait(10)
    other.ring()
    assert ended.wait(10)


def test_a_ring_between_two_waits_is_heard_once(tmp_path: Path) -> None:
    bell = Doorbell(tmp_path / "bell")
    bell.ring()
    assert bell.wait(_none, 600) is False
    assert bell.wait(_none, 0) is False


def test_news_of_its_own_end_the_wait(tmp_path: Path) -> None:
    assert Doorbell(tmp_path / "bell").wait(lambda _: True, 600) is True


def test_two_rings_are_two(tmp_path: Path) -> None:
    bell, other = Doorbell(tmp_path / "bell"), Doorbell(tmp_path / "bell")
    for _ in range(100):
        other.ring()
        assert bell.wait(_none, 600) is False
