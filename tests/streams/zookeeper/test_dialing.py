"""TLS below kazoo's loop: what was read from the socket already is not waited for."""

import socket
import ssl
import threading
from pathlib import Path

import pytest

from migration.observed.probed import Unknown
from streams.net.security import Security
from streams.zookeeper import dialing
from streams.zookeeper.dialing import Handler, dial
from streams.zookeeper.ensemble import Ensemble, parse_ensemble
from streams.zookeeper.probe import _ZnodeReader, ask_ensemble
from streams.zookeeper.session import IN_FLIGHT_MAX
from tests.streams.zookeeper.certificates import Authority
from tests.support.dropping import dropping

_WAIT_S = 20.0


def test_what_tls_has_read_already_is_ready(tmp_path: Path) -> None:
    """Two messages in one record: the second never shows on the socket itself."""
    authority = Authority(tmp_path)
    server = authority.issue("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.cert, server.key)
    security = Security(protocol="SSL", ca_file=authority.file)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = threading.Event()

        def serve() -> None:
            accepted, _ = listener.accept()
            with context.wrap_socket(accepted, server_side=True) as connection:
                connection.sendall(b"one" + b"two")
                done.wait(_WAIT_S)

        thread = threading.Thread(target=serve)
        thread.start()
        address = listener.getsockname()
        with dial(security, address, "127.0.0.1", _WAIT_S) as client:
            handler = Handler(security)
            assert handler.select([client], [], [], _WAIT_S)[0] == [client]
            assert client.recv(3) == b"one"
            assert handler.select([client], [], [], 0)[0] == [client]
            assert client.recv(3) == b"two"
            assert handler.select([client], [], [], 0)[0] == []
        done.set()
        thread.join()


def test_a_server_that_drops_packets_leaves_time_for_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dialing, "_SERVER_S_MAX", 0.05)
    with dropping() as port, pytest.raises(TimeoutError):
        dial(Security(), ("127.0.0.1", port), "zk1", 3600.0)


class _Calls:
    """Counts the open requests."""

    def __init__(self) -> None:
        self.open = self.most = 0

    def begin(self, path: str) -> "_Calls":
        del path
        self.open += 1
        self.most = max(self.most, self.open)
        return self

    def result(self, timeout_s: float) -> str:
        del timeout_s
        self.open -= 1
        return "found"


def test_a_reading_has_no_more_open_requests_than_kazoo_can_lose() -> None:
    calls = _Calls()
    reader = _ZnodeReader(calls, 0.0)  # type: ignore[arg-type]
    paths = [f"/brokers/topics/{each}" for each in range(1000)]
    assert len(list(reader._results(paths, calls.begin))) == 1000  # type: ignore[arg-type]
    assert calls.most == IN_FLIGHT_MAX


def test_what_is_told_to_the_source_comes_back(tmp_path: Path) -> None:
    option = (
        '{"connect": "zk1:2181,zk2:2181/kafka", "security": {"protocol": "SSL", "username": "u",'
        f' "password_file": "{tmp_path}/secret", "check_hostname": false}}}}'
    )
    assert parse_ensemble(option) == Ensemble(
        connect="zk1:2181,zk2:2181/kafka",
        security=Security(
            protocol="SSL",
            username="u",
            password_file=tmp_path / "secret",
            check_hostname=False,
        ),
    )


def test_a_name_that_no_resolver_accepts_is_a_server_that_does_not_answer() -> None:
    (server,) = ask_ensemble(Ensemble(connect="zk2..example.com:2181"))
    assert isinstance(server.version, Unknown)
    assert "it does not answer" in server.version.why
