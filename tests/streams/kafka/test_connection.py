"""Whatever listens at the address, the connection ends in time and in its own words."""

import contextlib
import gc
import itertools
import socket
import ssl
import struct
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from kafka.protocol.api_header import RequestHeader, ResponseClassRegistry
from kafka.protocol.metadata import ApiVersionsResponse

from streams.kafka import messages
from streams.kafka.connection import Connection, _BoundedReads
from streams.kafka.errors import ConnectionFailed, ReplyDamaged, RequestRefused
from streams.kafka.framing import Frames
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed
from streams.net.security import Security
from tests.streams.zookeeper.certificates import Authority
from tests.support.dropping import dropping

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


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    file = tmp_path / "password"
    file.write_text("hidden", encoding="utf-8")
    file.chmod(0o600)
    return file


@contextmanager
def listening(
    answer: Answer | None, last: int | None = None, host: str = "127.0.0.1"
) -> Iterator[Endpoint]:
    """A server for one connection; with None it accepts and says nothing.

    `last`: the key after whose reply it closes the connection.
    """
    bound, family = ("::", socket.AF_INET6) if ":" in host else (host, socket.AF_INET)
    with socket.create_server((bound, 0), family=family) as server:
        server.settimeout(60)
        done = threading.Event()

        def serve() -> None:
            try:
                taken, _ = server.accept()
            except OSError:
                return
            with taken:
                taken.settimeout(60)
                if answer is None:
                    done.wait(60)
                    return
                while (frame := _frame(taken)) is not None:
                    key, version, correlation = struct.unpack_from(">hhi", frame)
                    reply = answer(key, correlation, struct.pack(">h", version) + frame[8:])
                    if reply is None:
                        return
                    taken.sendall(struct.pack(">i", len(reply)) + reply)
                    if key == last:
                        return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Endpoint(host, server.getsockname()[1])
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
        Connection(endpoint, Security())


def test_a_name_with_an_address_that_drops_packets_is_reached_by_the_other_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask = socket.getaddrinfo

    def both(host: str, port: int, *rest: int, **more: int) -> object:
        if host != "kafka.example":
            return ask(host, port, *rest, **more)
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port))
            for ip in ("127.0.0.2", "127.0.0.1")
        ]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    with listening(controller(lambda *_: None)) as server, dropping("127.0.0.2", server.port):
        Connection(Endpoint("kafka.example", server.port), Security()).close()


def test_a_link_local_address_is_reached_through_its_interface() -> None:
    addresses = [e.address for found in psutil.net_if_addrs().values() for e in found]
    host = next((each for each in addresses if each.startswith("fe80:")), None)
    if host is None:
        pytest.skip("no interface has a link-local address")
    with listening(controller(lambda *_: None), host=host) as endpoint:
        Connection(endpoint, Security()).close()


def test_the_name_is_unknown() -> None:
    with pytest.raises(ConnectionFailed, match=r"^kraftgate\.invalid:9093 not found"):
        Connection(Endpoint("kraftgate.invalid", 9093), Security())


def test_somebody_listens_and_says_nothing() -> None:
    with listening(None) as endpoint, pytest.raises(ConnectionFailed, match="timed out"):
        Connection(endpoint, Security(), connect_timeout_ms=200)


def test_somebody_listens_and_does_not_speak_tls() -> None:
    with listening(None) as endpoint, pytest.raises(ConnectionFailed, match="timed out"):
        Connection(endpoint, Security(protocol="SSL"), connect_timeout_ms=200)


@contextmanager
def speaking_tls(
    authority: Authority, *, address: str = "127.0.0.1", days: int = 2
) -> Iterator[Endpoint]:
    """A server for one connection that asks for a certificate, and then says nothing.

    `address`, `days`: those of its own certificate.
    """
    server = authority.issue("server", address=address, days=days)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.cert, server.key)
    context.load_verify_locations(authority.file)
    context.verify_mode = ssl.CERT_REQUIRED
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = threading.Event()

        def serve() -> None:
            taken, _ = listener.accept()
            taken.settimeout(60)
            with context.wrap_socket(taken, True, do_handshake_on_connect=False) as connection:
                with contextlib.suppress(OSError):
                    connection.do_handshake()
                done.wait(60)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Endpoint("127.0.0.1", listener.getsockname()[1])
        done.set()
        thread.join(10)


@pytest.mark.parametrize(
    ("of", "days", "why"),
    [
        pytest.param(None, 2, "certificate required", id="missing"),
        pytest.param("known", -1, "certificate expired", id="expired"),
        pytest.param("stranger", 2, "unknown ca", id="foreign"),
    ],
)
def test_a_client_certificate_that_the_server_rejects_names_the_fix(
    tmp_path: Path, of: str | None, days: int, why: str
) -> None:
    """TLS 1.3: the server's alert comes after the client's handshake."""
    known = Authority(tmp_path)
    security = Security(protocol="SSL", ca_file=known.file, key="brokers.security")
    if of is not None:
        signer = known if of == "known" else Authority(tmp_path, of)
        own = signer.issue("client", days=days)
        security = replace(security, cert_file=own.cert, key_file=own.key)
    with speaking_tls(known) as endpoint, pytest.raises(AuthenticationFailed) as caught:
        Connection(endpoint, security)
    assert str(caught.value) == (
        f"{endpoint} failed TLS: the server rejects the client: {why}: check"
        " `brokers.security.cert_file` and `brokers.security.key_file`"
    )


@pytest.mark.parametrize(
    ("code", "why"), [(43, "unsupported certificate"), (44, "certificate revoked")]
)
def test_a_client_certificate_that_java_rejects_fails_the_authentication(
    code: int, why: str
) -> None:
    """TLS 1.2: the alert ends the handshake."""
    alert = b"\x15\x03\x03\x00\x02\x02" + bytes([code])
    with (
        talking(lambda taken: taken.sendall(alert)) as endpoint,
        pytest.raises(AuthenticationFailed, match=f"{why}: check `brokers.security.cert_file`"),
    ):
        Connection(endpoint, Security(protocol="SSL", key="brokers.security"))


def test_a_certificate_of_an_unknown_authority_names_the_key_of_the_known_ones(
    tmp_path: Path,
) -> None:
    known = Authority(tmp_path, "known")
    security = Security(protocol="SSL", ca_file=known.file, key="brokers.security")
    with (
        speaking_tls(Authority(tmp_path, "unknown")) as endpoint,
        pytest.raises(ConnectionFailed) as caught,
    ):
        Connection(endpoint, security)
    assert str(caught.value) == (
        f"{endpoint} failed TLS: self-signed certificate in certificate chain: check"
        " `brokers.security.ca_file`"
    )


@pytest.mark.parametrize(
    ("address", "days", "why"),
    [
        pytest.param(
            "127.0.0.2",
            2,
            "IP address mismatch, certificate is not valid for '127.0.0.1': issue a certificate"
            " that names it, or, if that is not possible, set"
            " `brokers.security.check_hostname: false`",
            id="other-address",
        ),
        pytest.param(
            "127.0.0.1",
            -1,
            "the server's certificate has expired: renew it on the server",
            id="expired",
        ),
    ],
)
def test_a_wrong_certificate_of_the_server_names_the_fix(
    tmp_path: Path, address: str, days: int, why: str
) -> None:
    authority = Authority(tmp_path)
    security = Security(protocol="SSL", ca_file=authority.file, key="brokers.security")
    with (
        speaking_tls(authority, address=address, days=days) as endpoint,
        pytest.raises(ConnectionFailed) as caught,
    ):
        Connection(endpoint, security)
    assert str(caught.value) == f"{endpoint} failed TLS: {why}"


def _hang_up(taken: socket.socket) -> None:
    taken.recv(4096)
    taken.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(_hang_up, id="end"),
        pytest.param(lambda taken: taken.close(), id="reset"),
        pytest.param(lambda taken: taken.sendall(b"HTTP/1.1 400 Bad Request\r\n"), id="http"),
    ],
)
def test_tls_to_a_plaintext_listener_names_the_key_of_the_protocol(
    end: Callable[[socket.socket], None],
) -> None:
    """A plaintext listener of Kafka reads the handshake as an enormous request, and closes."""
    with (
        talking(end) as endpoint,
        pytest.raises(ConnectionFailed) as caught,
    ):
        Connection(endpoint, Security(protocol="SSL", key="brokers.security"))
    assert str(caught.value).endswith(
        ": does that listener speak SSL? check `brokers.security.protocol`"
    )


def test_plaintext_to_a_tls_listener_names_the_key_of_the_protocol() -> None:
    """Java answers bytes that are not TLS with an alert; OpenSSL's servers close."""
    alert = b"\x15\x03\x03\x00\x02\x02\x50"
    with (
        talking(lambda taken: taken.sendall(alert)) as endpoint,
        pytest.raises(ReplyDamaged) as caught,
    ):
        Connection(endpoint, Security(key="brokers.security"))
    assert str(caught.value) == f"{endpoint} speaks TLS: check `brokers.security.protocol`"


def test_a_listener_that_needs_sasl_closes_after_the_versions() -> None:
    """Kafka answers ApiVersions before the authentication, and no other request."""
    with listening(controller(lambda *_: None)) as endpoint:
        connection = Connection(endpoint, Security(key="brokers.security"))
        try:
            for _ in range(2):
                with pytest.raises(ConnectionFailed) as caught:
                    connection.ask(fetch())
                assert str(caught.value) == (
                    f"{endpoint} closed the connection at once: does that listener speak"
                    " PLAINTEXT? check `brokers.security.protocol`"
                )
        finally:
            connection.close()


def test_a_node_that_closes_after_a_reply_does_not_name_the_protocol() -> None:
    answered = reply_of(EMPTY + b"\0")
    with listening(controller(answered), last=messages.FETCH) as endpoint:
        connection = Connection(endpoint, Security())
        try:
            connection.ask(fetch())
            with pytest.raises(ConnectionFailed, match=f"^{endpoint} closed the connection$"):
                connection.ask(fetch())
        finally:
            connection.close()


def test_a_tls_file_that_is_missing_is_named(tmp_path: Path) -> None:
    security = Security(protocol="SSL", ca_file=tmp_path / "gone.pem", key="controllers.security")
    with (
        listening(None) as endpoint,
        pytest.raises(ConnectionFailed) as caught,
    ):
        Connection(endpoint, security)
    assert str(caught.value) == (
        f"{endpoint}: the ca_file {tmp_path}/gone.pem cannot be used: No such file or directory"
        " (`controllers.security`)"
    )


def test_somebody_hangs_up() -> None:
    with (
        listening(lambda *_: None) as endpoint,
        pytest.raises(ConnectionFailed, match="at once: does that listener speak PLAINTEXT"),
    ):
        Connection(endpoint, Security())


def test_a_server_without_the_fetch_versions_is_no_controller_to_follow() -> None:
    with listening(controller(lambda *_: None, fetch=(0, 12))) as endpoint:
        connection = Connection(endpoint, Security())
        try:
            assert connection.version(messages.FETCH_SNAPSHOT) == 1
            with pytest.raises(RequestRefused, match="Is it a KRaft controller"):
                connection.version(messages.FETCH)
        finally:
            connection.close()


def test_a_reply_that_does_not_decode_is_damaged() -> None:
    def garbage(_key: int, correlation: int, _rest: bytes) -> bytes:
        return struct.pack(">iB", correlation, 0) + b"\xff" * 20

    with listening(controller(garbage)) as endpoint:
        connection = Connection(endpoint, Security())
        try:
            assert connection.version(messages.FETCH) == 17
            with pytest.raises(ReplyDamaged, match="does not decode"):
                connection.ask(fetch())
        finally:
            connection.close()


@pytest.mark.parametrize("frame", [struct.pack(">iB", 9999, 0), b"", b"\0"])
def test_a_frame_that_is_no_reply_ends_the_connection(frame: bytes) -> None:
    with answering(lambda *_: frame) as connection, pytest.raises(ReplyDamaged) as caught:
        connection.ask(fetch())
    assert str(caught.value).startswith(f"{connection.endpoint} sent a reply to API 1 v17")


@contextmanager
def answering(answer: Answer) -> Iterator[Connection]:
    """A connection to a controller that answers so."""
    with listening(controller(answer)) as endpoint:
        connection = Connection(endpoint, Security())
        try:
            yield connection
        finally:
            connection.close()


def reply_of(body: bytes) -> Answer:
    """Answer any request with this body."""
    return lambda _key, correlation, _rest: struct.pack(">iB", correlation, 0) + body


HEAD = struct.pack(">ihi", 0, 0, 0)
"""A FETCH reply up to its topics: no throttling, no error, no session."""
EMPTY = HEAD + b"\x01"
"""A FETCH reply up to its tags: of no topic."""
HUGE = b"\xff\xff\xff\xff\x0f"
"""The varint of 4294967295."""


@pytest.mark.parametrize(
    "body",
    [
        HEAD + HUGE,
        HEAD + HUGE + b"\0" * 1000,
        EMPTY + b"\x01\x00" + HUGE,
        EMPTY + HUGE,
        EMPTY + b"\x01\x00\x05" + HUGE,
        HEAD + b"\x02" + bytes(16) + HUGE,
        HEAD[:-1],
        b"",
    ],
    ids=["topics", "topics-and-bytes", "tag", "tags", "endpoints", "partitions", "short", "empty"],
)
def test_no_length_in_a_reply_leads_out_of_it(body: bytes) -> None:
    """kio's reader aborts the whole process for some of these."""
    with (
        answering(reply_of(body)) as connection,
        pytest.raises(ReplyDamaged, match=r"sent a reply to API 1 v17 .* does not decode"),
    ):
        connection.ask(fetch())


def test_a_tag_of_the_future_is_skipped() -> None:
    """kio's reader raises KeyError for it."""
    with answering(reply_of(EMPTY + b"\x01\x63\x04abcd")) as connection:
        reply = connection.ask(fetch())
    assert (reply.responses, reply.node_endpoints) == ((), ())


@pytest.mark.parametrize(
    "sent",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 8],
    ids=["http", "negative"],
)
def test_another_protocol_is_named_at_once(sent: bytes) -> None:
    with (
        talking(lambda taken: taken.sendall(sent)) as endpoint,
        pytest.raises(ReplyDamaged, match=r"sent no Kafka reply.*Check that the port") as caught,
    ):
        Connection(endpoint, Security())
    assert str(caught.value).startswith(f"{endpoint} ")


def test_a_reply_of_any_announced_size_takes_no_memory() -> None:
    answer: Answer = lambda *_: b"\0" * 4000  # noqa: E731 a reply larger than is taken below
    with answering(answer) as connection, pytest.raises(ReplyDamaged, match="at most 1000 bytes"):
        connection.ask(fetch(), bytes_max=1000)
    frames = Frames()
    frames.reply_bytes_max = 2**30
    tracemalloc.start()
    try:
        assert frames.receive_bytes(struct.pack(">i", 2**30) + b"\0" * 1000) == []
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


class _Versions(dict[int, object]):
    """Versions of a class that two threads make at once, the one that kafka-python refers to first.

    The other one replaces it. One thread alone waits a moment for the second.
    """

    def __init__(self) -> None:
        super().__init__()
        self._missing, self._made = threading.Barrier(2), threading.Barrier(2)
        self._kept = threading.Event()

    def __contains__(self, version: object) -> bool:
        found = super().__contains__(version)
        _meet(self._missing)
        return found

    def __setitem__(self, version: int, kind: object) -> None:
        _meet(self._made)
        if ResponseClassRegistry._response_class_registry[18].mro()[0] is not kind:
            self._kept.wait(1)
        super().__setitem__(version, kind)
        self._kept.set()


def _meet(both: threading.Barrier) -> None:
    with contextlib.suppress(threading.BrokenBarrierError):
        both.wait(0.2)


def test_two_threads_may_connect_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The class of a reply that only one of two threads kept was freed: no reply decoded again."""
    monkeypatch.setattr(ApiVersionsResponse, "_VERSIONS", _Versions())
    known = ResponseClassRegistry._response_class_registry
    monkeypatch.setitem(known, 18, known[18])

    def connect() -> None:
        frames = Frames()
        frames.in_flight_requests.append(
            RequestHeader(
                request_api_key=18,
                request_api_version=0,
                correlation_id=7,
                client_id="kraftgate",
            )
        )
        reply = versions(7, {1: (0, 17)})
        ((correlation, _),) = frames.receive_bytes(struct.pack(">i", len(reply)) + reply)
        assert correlation == 7

    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(connect) for _ in range(2)]:
            each.result()
    gc.collect()
    connect()


def test_a_reply_that_nobody_asked_for_ends_the_connection() -> None:
    def twice(_key: int, correlation: int, _rest: bytes) -> bytes:
        reply = struct.pack(">iB", correlation, 0) + EMPTY + b"\0"
        return reply + struct.pack(">i", len(reply)) + reply

    def framed(taken: socket.socket) -> None:
        speak = controller(twice)
        while (frame := _frame(taken)) is not None:
            key, version, correlation = struct.unpack_from(">hhi", frame)
            reply = speak(key, correlation, struct.pack(">h", version) + frame[8:])
            assert reply is not None
            first = len(reply) // 2 - 2 if key == messages.FETCH else len(reply)
            taken.sendall(struct.pack(">i", first) + reply)

    with talking(framed) as endpoint:
        connection = Connection(endpoint, Security())
        try:
            with pytest.raises(ReplyDamaged, match="was not requested"):
                connection.ask(fetch())
        finally:
            connection.close()


def test_a_peer_that_never_pauses_is_read_in_bounded_pieces() -> None:
    """kafka-python read for as long as bytes came, so no time limit was ever looked at."""

    class Endless:
        def recv(self, size: int) -> bytes:
            return b"\0" * size

    transport = _BoundedReads()
    transport._sock = Endless()
    data, error = transport._sock_recv()
    assert (len(data), error) == (1024 * 1024, None)


def test_a_peer_that_drips_is_held_to_the_time_of_the_whole_reply() -> None:
    stopped = threading.Event()

    def drip(taken: socket.socket) -> None:
        taken.sendall(struct.pack(">i", 1000))
        while not stopped.wait(0.01):
            taken.sendall(b"\0")

    with talking(drip) as endpoint:
        try:
            with pytest.raises(ConnectionFailed, match=f"^{endpoint} timed out$"):
                Connection(endpoint, Security(), connect_timeout_ms=300)
        finally:
            stopped.set()


@contextmanager
def talking(talk: Callable[[socket.socket], None]) -> Iterator[Endpoint]:
    """A server for one connection that says what it likes, until the other side has closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)

        def serve() -> None:
            taken, _ = server.accept()
            with taken, contextlib.suppress(OSError):
                taken.settimeout(10)
                talk(taken)
                while taken.recv(4096):
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Endpoint("127.0.0.1", server.getsockname()[1])
        thread.join(10)


@pytest.mark.parametrize("host", ["a" * 70 + ".invalid", "\ud800"])
def test_an_address_that_a_reply_named_may_be_none(host: str) -> None:
    with pytest.raises(ConnectionFailed, match="is not an address"):
        Connection(Endpoint(host, 9093), Security())


def test_what_preflight_asks_is_checked_too() -> None:
    """kafka-python takes a text that is cut for a shorter one, and runs for hours on a varint."""

    def cut(_key: int, correlation: int, _rest: bytes) -> bytes:
        # DESCRIBE_QUORUM v0: error, topics: 1 named with 9 bytes, of which 4 are there.
        return struct.pack(">iBhB", correlation, 0, 0, 2) + b"\x0a__cl"

    def speak(key: int, correlation: int, rest: bytes) -> bytes | None:
        if key == 18 and struct.unpack_from(">h", rest)[0] == 0:
            return versions(correlation, {18: (0, 0), 55: (0, 0)})
        return controller(cut)(key, correlation, rest)

    with listening(speak) as endpoint:
        node = Node(endpoint, Security())
        try:
            with pytest.raises(ReplyDamaged, match="needs 9 bytes, 4 are left"):
                node.quorum()
        finally:
            node.close()


def test_a_leader_without_a_majority_in_its_epoch_has_no_high_watermark() -> None:
    """It answers with -1 (LeaderState.describeQuorum), as an offset less than every other one."""

    def describe(_key: int, correlation: int, _rest: bytes) -> bytes:
        # DESCRIBE_QUORUM v0: one topic with one partition, whose leader 3000 is the only voter.
        quorum = struct.pack(">ihiiqBiqBBB", 0, 0, 3000, 5, -1, 2, 3000, 300, 0, 1, 0)
        topic = b"\x13__cluster_metadata\x02" + quorum + b"\0"
        return struct.pack(">iBhB", correlation, 0, 0, 2) + topic + b"\0"

    def speak(key: int, correlation: int, rest: bytes) -> bytes | None:
        if key == 18 and struct.unpack_from(">h", rest)[0] == 0:
            return versions(correlation, {18: (0, 0), 55: (0, 0)})
        return controller(describe)(key, correlation, rest)

    with listening(speak) as endpoint, Node(endpoint, Security()) as node:
        quorum = node.quorum()
    assert quorum is not None
    assert (quorum.leader, quorum.voters, quorum.high_watermark) == (3000, (3000,), None)


@pytest.mark.parametrize(
    "token", [b"", b"r=1", b"\xff\xfe", b"r=x,s=y,i=z", b"r=,s=,i=99999999999"]
)
def test_a_sasl_token_that_cannot_be_read_is_a_typed_error(
    token: bytes, password_file: Path
) -> None:
    def authenticate(key: int, correlation: int, _rest: bytes) -> bytes | None:
        if key == 17:
            return struct.pack(">ihi", correlation, 0, 1) + struct.pack(">h", 13) + b"SCRAM-SHA-512"
        # SaslAuthenticate v2: no error, no message, the token, no lifetime.
        head = struct.pack(">iBhBB", correlation, 0, 0, 0, len(token) + 1)
        return head + token + bytes(8) + b"\0"

    def speak(key: int, correlation: int, rest: bytes) -> bytes | None:
        if key == 18 and struct.unpack_from(">h", rest)[0] == 0:
            return versions(correlation, {17: (0, 1), 18: (0, 0), 36: (0, 2)})
        return controller(authenticate)(key, correlation, rest)

    security = Security(
        protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-512",
        username="u",
        password_file=password_file,
    )
    with listening(speak) as endpoint, pytest.raises(ReplyDamaged, match="SASL token"):
        Connection(endpoint, security)


def test_a_long_poll_can_be_interrupted_from_another_thread() -> None:
    released, answered = threading.Event(), threading.Event()

    def hold(_key: int, _correlation: int, _rest: bytes) -> bytes | None:
        released.wait(120)
        answered.set()
        return None

    with listening(controller(hold)) as endpoint:
        connection = Connection(endpoint, Security())
        timer = threading.Timer(0.1, connection.interrupt)
        timer.start()
        try:
            with pytest.raises(ConnectionFailed):
                connection.ask(fetch(), wait_ms=3_600_000)
            assert not answered.is_set()
            with pytest.raises(ConnectionFailed):
                connection.ask(fetch())
        finally:
            released.set()
            timer.join()
            connection.close()
            connection.interrupt()


def sasl(*replies: tuple[int, bytes]) -> Answer:
    """Offer SASL; a key's reply is sent, and the connection closed after the last."""

    def speak(key: int, correlation: int, rest: bytes) -> bytes | None:
        if key == 18 and struct.unpack_from(">h", rest)[0] == 0:
            return versions(correlation, {17: (0, 1), 18: (0, 0), 36: (0, 0)})
        if key == 18:
            return controller(speak)(key, correlation, rest)
        reply = dict(replies).get(key)
        return None if reply is None else struct.pack(">i", correlation) + reply

    return speak


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


PLAIN_ENABLED = (17, struct.pack(">hi", 0, 1) + text("PLAIN"))
"""SaslHandshake: the mechanism is enabled."""
REFUSED = struct.pack(">h", 58) + text("Authentication failed: Invalid username or password")
"""SaslAuthenticate, version 0: SASL_AUTHENTICATION_FAILED, a text, no token."""


def login(endpoint: Endpoint, password_file: Path, mechanism: str = "PLAIN") -> Connection:
    security = Security(
        protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        username="u",
        password_file=password_file,
        key="brokers.security",
    )
    return Connection(endpoint, security)


def test_a_wrong_password_is_named_although_the_listener_hangs_up(password_file: Path) -> None:
    """Kafka sends the error and closes: both may have come before either is looked at."""
    speak = sasl(PLAIN_ENABLED, (36, REFUSED + struct.pack(">i", 0)))
    with listening(speak, last=36) as endpoint, pytest.raises(AuthenticationFailed) as caught:
        login(endpoint, password_file)
    assert str(caught.value) == (
        f"{endpoint}: authentication failed for user u with PLAIN: Authentication failed: Invalid"
        " username or password: check `brokers.security`"
    )


def test_a_listener_that_hangs_up_instead_of_an_answer_may_speak_something_else(
    password_file: Path,
) -> None:
    with listening(sasl()) as endpoint, pytest.raises(ConnectionFailed) as caught:
        login(endpoint, password_file)
    assert "does that listener speak SASL_PLAINTEXT with PLAIN?" in str(caught.value)


def test_a_session_that_a_rotated_secret_ends_is_a_lost_connection(password_file: Path) -> None:
    """kafka-python repeats the password of the connection: a new one reads the file again.

    Kafka with `connections.max.reauth.ms` rejects the old password in the same exchange.
    """
    granted = struct.pack(">hhiq", 0, -1, 0, 1)
    refused = struct.pack(">h", 58) + text("Authentication failed during re-authentication")
    logins = iter([granted, refused + struct.pack(">iq", 0, 0)])

    def speak(key: int, correlation: int, rest: bytes) -> bytes | None:
        if key == 18 and struct.unpack_from(">h", rest)[0] == 0:
            return versions(correlation, {1: (0, 17), 17: (0, 1), 18: (0, 0), 36: (0, 1)})
        if key == 1:
            return reply_of(EMPTY + b"\0")(key, correlation, rest)
        return sasl(PLAIN_ENABLED, (36, next(logins) if key == 36 else b""))(key, correlation, rest)

    with (
        listening(speak) as endpoint,
        login(endpoint, password_file) as connection,
        pytest.raises(ConnectionFailed) as caught,
    ):
        all(connection.ask(fetch()) for _ in itertools.count())
    assert str(caught.value) == (
        f"{endpoint} ended the session: Authentication failed during re-authentication"
    )


@pytest.mark.parametrize(
    ("code", "why"),
    [
        pytest.param(
            33, "does not offer this mechanism: check `brokers.security`", id="other-mechanism"
        ),
        pytest.param(34, "does not use SASL: check `brokers.security.protocol`", id="no-sasl"),
    ],
)
def test_a_listener_that_lacks_the_mechanism_or_sasl_is_an_authentication_failure(
    password_file: Path, code: int, why: str
) -> None:
    """SaslHandshake: UNSUPPORTED_SASL_MECHANISM(33) or ILLEGAL_SASL_STATE(34)."""
    speak = sasl((17, struct.pack(">hi", code, 1) + text("PLAIN")))
    with listening(speak) as endpoint, pytest.raises(AuthenticationFailed) as caught:
        login(endpoint, password_file, "SCRAM-SHA-512")
    assert str(caught.value) == (
        f"{endpoint}: authentication failed for user u with SCRAM-SHA-512: the listener {why}"
    )


def test_gssapi_without_its_package_names_the_package() -> None:
    """The package is built with the system's Kerberos library, so no lock file has it."""
    security = Security(protocol="SASL_SSL", sasl_mechanism="GSSAPI", key="brokers.security")
    with pytest.raises(AuthenticationFailed, match=r"`brokers\.security`: .*pip install gssapi"):
        Connection(Endpoint("127.0.0.1", 9), security)
