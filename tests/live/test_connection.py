"""Whatever listens at the address, the connection ends in time and in its own words."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from streams.live import messages
from streams.live.connection import ControllerConnection
from streams.live.errors import AuthenticationFailed, ConnectionFailed, ReplyDamaged
from streams.live.messages import Endpoint
from streams.live.security import Security

Answer = Callable[[int, int, bytes], bytes | None]
"""(API key, correlation id, the rest) -> the reply without its length, or None to hang up."""


def versions(correlation: int, offered: dict[int, tuple[int, int]]) -> bytes:
    """An ApiVersions reply, version 0: the one that is sent with UNSUPPORTED_VERSION too."""
    keys = b"".join(struct.pack(">hhh", key, *both) for key, both in offered.items())
    return struct.pack(">ihi", correlation, 0, len(offered)) + keys


def controller(answer: Answer, fetch: tuple[int, int] = (0, 17)) -> Answer:
    """Speak ApiVersions 0 only, and leave the rest to `answer`."""

    def speak(key: int, correlation: int, rest: bytes) -> bytes | None:
        if key != 18:
            return answer(key, correlation, rest)
        if struct.unpack_from(">h", rest)[0] != 0:
            return struct.pack(">ihi", correlation, 35, 1) + struct.pack(">hhh", 18, 0, 0)
        return versions(correlation, {1: fetch, 18: (0, 0), 59: (0, 1)})

    return speak


@contextmanager
def listening(answer: Answer | None) -> Iterator[Endpoint]:
    """A server for one connection; with None it accepts and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        done = threading.Event()

        def serve() -> None:
            try:
                taken, _ = server.accept()
            except OSError:
                return
            with taken:
                taken.settimeout(10)
                if answer is None:
                    done.wait(10)
                    return
                while (frame := _frame(taken)) is not None:
                    key, version, correlation = struct.unpack_from(">hhi", frame)
                    reply = answer(key, correlation, struct.pack(">h", version) + frame[8:])
                    if reply is None:
                        return
                    taken.sendall(struct.pack(">i", len(reply)) + reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Endpoint("127.0.0.1", server.getsockname()[1])
        done.set()
        thread.join(10)


def _frame(taken: socket.socket) -> bytes | None:
    head = _exactly(taken, 4)
    return None if head is None else _exactly(taken, struct.unpack(">i", head)[0])


def _exactly(taken: socket.socket, size: int) -> bytes | None:
    found = b""
    while len(found) < size:
        try:
            more = taken.recv(size - len(found))
        except OSError:
            return None
        if not more:
            return None
        found += more
    return found


def fetch() -> object:
    return messages.fetch_request(
        17,
        cluster_id=None,
        leader_epoch=1,
        offset=0,
        last_fetched_epoch=0,
        max_wait_ms=100,
        max_bytes=1000,
    )


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = Endpoint("127.0.0.1", server.getsockname()[1])
    with pytest.raises(ConnectionFailed, match=f"^{endpoint} refused$"):
        ControllerConnection(endpoint, Security())


def test_the_name_is_unknown() -> None:
    with pytest.raises(ConnectionFailed, match=r"^kraftgate\.invalid:9093 not found"):
        ControllerConnection(Endpoint("kraftgate.invalid", 9093), Security())


def test_somebody_listens_and_says_nothing() -> None:
    with listening(None) as endpoint:
        began = time.monotonic()
        with pytest.raises(ConnectionFailed, match="timed out"):
            ControllerConnection(endpoint, Security(), connect_timeout_ms=200)
        assert time.monotonic() - began < 2


def test_somebody_listens_and_does_not_speak_tls() -> None:
    with listening(None) as endpoint:
        began = time.monotonic()
        with pytest.raises(ConnectionFailed, match="timed out"):
            ControllerConnection(endpoint, Security(protocol="SSL"), connect_timeout_ms=200)
        assert time.monotonic() - began < 2


def test_somebody_hangs_up() -> None:
    with (
        listening(lambda *_: None) as endpoint,
        pytest.raises(ConnectionFailed, match="at once: does that listener speak PLAINTEXT"),
    ):
        ControllerConnection(endpoint, Security())


def test_a_server_without_the_fetch_versions_is_no_controller_to_follow() -> None:
    with listening(controller(lambda *_: None, fetch=(0, 12))) as endpoint:
        connection = ControllerConnection(endpoint, Security())
        try:
            assert connection.version(messages.FETCH_SNAPSHOT) == 1
            with pytest.raises(ConnectionFailed, match="is no controller to follow"):
                connection.version(messages.FETCH)
        finally:
            connection.close()


def test_a_reply_that_does_not_decode_is_damaged() -> None:
    def garbage(_key: int, correlation: int, _rest: bytes) -> bytes:
        return struct.pack(">iB", correlation, 0) + b"\xff" * 20

    with listening(controller(garbage)) as endpoint:
        connection = ControllerConnection(endpoint, Security())
        try:
            assert connection.version(messages.FETCH) == 17
            with pytest.raises(ReplyDamaged, match="does not decode"):
                connection.ask(fetch())
        finally:
            connection.close()


@pytest.mark.parametrize("frame", [struct.pack(">iB", 9999, 0), b"", b"\0"])
def test_a_frame_that_is_no_reply_ends_the_connection(frame: bytes) -> None:
    with listening(controller(lambda *_: frame)) as endpoint:
        connection = ControllerConnection(endpoint, Security())
        try:
            with pytest.raises(ConnectionFailed):
                connection.ask(fetch())
        finally:
            connection.close()


def test_a_long_poll_can_be_interrupted_from_another_thread() -> None:
    def hold(_key: int, _correlation: int, _rest: bytes) -> bytes | None:
        time.sleep(1)
        return None

    with listening(controller(hold)) as endpoint:
        connection = ControllerConnection(endpoint, Security())
        timer = threading.Timer(0.1, connection.interrupt)
        timer.start()
        began = time.monotonic()
        try:
            with pytest.raises(ConnectionFailed):
                connection.ask(fetch(), wait_ms=5000)
            assert time.monotonic() - began < 0.8
            with pytest.raises(ConnectionFailed):
                connection.ask(fetch())
        finally:
            timer.join()
            connection.close()
            connection.interrupt()


def test_a_mechanism_that_the_server_lacks_is_an_authentication_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def handshake(key: int, correlation: int, _rest: bytes) -> bytes | None:
        if key != 17:
            return None
        # SaslHandshake: UNSUPPORTED_SASL_MECHANISM(33), and the one that is enabled.
        return struct.pack(">ihi", correlation, 33, 1) + struct.pack(">h", 5) + b"PLAIN"

    def speak(key: int, correlation: int, rest: bytes) -> bytes | None:
        if key == 18 and struct.unpack_from(">h", rest)[0] == 0:
            return versions(correlation, {17: (0, 1), 18: (0, 0), 36: (0, 2)})
        return controller(handshake)(key, correlation, rest)

    monkeypatch.setenv("SECRET", "hidden")
    security = Security(
        protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-512",
        username="u",
        password_env="SECRET",  # noqa: S106 a name
    )
    with listening(speak) as endpoint, pytest.raises(AuthenticationFailed) as caught:
        ControllerConnection(endpoint, security)
    assert "hidden" not in str(caught.value)
