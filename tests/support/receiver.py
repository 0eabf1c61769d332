"""A receiver of alerts on loopback: records requests and answers as the test configures."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Any

from tests.streams.zookeeper.certificates import Certificate


@dataclass(frozen=True)
class Sent:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """The answer; `raw`: these bytes instead of HTTP; `drips`: bytes follow slowly, without end."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    drips: bool = False


OK = Reply(200, b"ok")
Answer = Callable[[Sent], Reply | None]
"""None: no answer, the connection is closed."""


class Receiver:
    """The receiver's address and received requests.

    Attributes:
        url: of its root.
        answer: can be replaced at any time.
    """

    def __init__(self, url: str, answer: Answer) -> None:
        self.url = url
        self.answer = answer
        self._sent: list[Sent] = []
        self._news = threading.Condition()
        self._released = threading.Event()

    def take(self, sent: Sent) -> Reply | None:
        with self._news:
            self._sent.append(sent)
            self._news.notify_all()
        return self.answer(sent)

    @property
    def sent(self) -> list[Sent]:
        with self._news:
            return list(self._sent)

    def wait(self, count: int, within_s: float = 120.0) -> list[Sent]:
        """Wait until this many requests were received."""
        with self._news:
            there = self._news.wait_for(lambda: len(self._sent) >= count, within_s)
            assert there, f"{len(self._sent)} requests of {count}"
            return list(self._sent)

    def hang(self, _: Sent) -> Reply | None:
        """Return an answer that is delayed until `let_go`."""
        self._released.wait()
        return None

    def drip(self, out: BufferedIOBase) -> None:
        """Write a byte from time to time until `let_go`, or until the sender disconnects."""
        while not self._released.wait(0.05):
            out.write(b"x")

    def let_go(self) -> None:
        self._released.set()


@contextmanager
def receiving(answer: Answer = lambda _: OK, tls: Certificate | None = None) -> Iterator[Receiver]:
    """Listen on loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = receiver.take(Sent(self.path, headers, body))
            self.close_connection = reply is None or reply.raw is not None
            if reply is None:
                return
            if reply.raw is not None:
                self.wfile.write(reply.raw)
                if reply.drips:
                    receiver.drip(self.wfile)
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing is logged."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore the error: some tests make the sender disconnect."""

    with Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls.cert, tls.key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        receiver = Receiver(f"{scheme}://127.0.0.1:{server.server_port}", answer)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.let_go()
            server.shutdown()
            thread.join()
