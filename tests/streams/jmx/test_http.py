"""One request: bounded in time and size, with credentials that are read when it is made."""

import base64
import os
import ssl
import subprocess
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from streams.jmx import http
from streams.jmx.config import Access
from streams.jmx.errors import AccessRefused, NotMetrics, Unreachable
from streams.jmx.http import Http
from tests.streams.jmx.server import serving, text
from tests.support.polling import PATIENCE_S

WAIT_S = 0.5


def ask(url: str, access: Access | None = None, deadline_s: float = PATIENCE_S) -> list[bytes]:
    asker = Http(access or Access(), deadline_s)
    try:
        return list(asker.lines(url))
    finally:
        asker.close()


def test_lines_come_whole_however_the_text_is_cut() -> None:
    body = "".join(f"metric_{number} {number}\n" for number in range(20_000)) + "last 1"
    with serving(text(body)) as url:
        assert ask(url, deadline_s=10) == body.encode().split(b"\n")


def test_fields_are_sent_and_the_body_comes_back() -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        text(request.path)(request)

    with serving(answer) as url:
        asker = Http(Access(), PATIENCE_S)
        body = asker.body(f"{url}/api", {"query": 'a{b="c d"}'})
        asker.close()
    assert body == b"/api?query=a%7Bb%3D%22c+d%22%7D"


def test_nobody_there_is_unreachable() -> None:
    with serving(text("")) as url:
        pass
    with pytest.raises(Unreachable, match=r"does not answer: .*refused"):
        ask(url)


def test_a_server_that_never_answers_is_given_up() -> None:
    def answer(_: BaseHTTPRequestHandler) -> None:
        time.sleep(3 * WAIT_S)

    with serving(answer) as url, pytest.raises(Unreachable, match="timed out"):
        ask(url, deadline_s=WAIT_S)


def test_a_server_that_never_ends_is_given_up() -> None:
    """Each byte comes in time, and there is always another one."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        for _ in range(100):
            request.wfile.write(b"#\n")
            request.wfile.flush()
            time.sleep(WAIT_S / 10)

    with serving(answer) as url, pytest.raises(Unreachable, match="sent only"):
        ask(url, deadline_s=WAIT_S)


def test_an_answer_that_is_cut_short_is_no_answer() -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("content-length", "100")
        request.end_headers()
        request.wfile.write(b"half\n")
        request.close_connection = True

    with serving(answer) as url, pytest.raises(Unreachable):
        ask(url)


def test_too_much_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LINES_BYTES_MAX", 1000)
    with serving(text("metric 1\n" * 200)) as url, pytest.raises(NotMetrics, match="1000 bytes"):
        ask(url)


def test_a_line_without_an_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LINE_BYTES_MAX", 1000)
    with serving(text("x" * 5000)) as url, pytest.raises(NotMetrics, match="a line of more than"):
        ask(url)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, AccessRefused), (403, AccessRefused), (404, NotMetrics), (503, Unreachable)],
)
def test_a_refusal_is_named(status: int, kind: type[Exception]) -> None:
    with serving(text("go away\nplease", status)) as url, pytest.raises(kind) as caught:
        ask(url)
    assert f"answers {status}" in str(caught.value)
    assert str(caught.value).endswith(": go away")


@pytest.mark.parametrize("secret", ["pw", "a-token-" * 40])
def test_credentials_that_a_refusal_quotes_are_not_shown(tmp_path: Path, secret: str) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        text(f"denied: {request.headers['authorization']}, {secret}", 401)(request)

    file = tmp_path / "secret"
    file.write_text(secret)
    for kind, access in {
        "Basic": Access(username="u", password_file=file),
        "Bearer": Access(bearer_token_file=file),
    }.items():
        with serving(answer) as url, pytest.raises(AccessRefused) as refused:
            ask(url, access)
        assert str(refused.value).endswith(f": denied: {kind} [redacted], [redacted]")


@pytest.mark.parametrize(
    ("bytes_max", "shown"), [(64, ": [redacted]"), (8, "answers 401 Unauthorized")]
)
def test_a_token_that_arrives_in_parts_is_not_shown_in_part(
    bytes_max: int, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_CHUNK_BYTES", 7)
    monkeypatch.setattr(http, "LINE_BYTES_MAX", bytes_max)
    file = tmp_path / "secret"
    file.write_text("a-token-17")
    with serving(text("a-token-17", 401)) as url, pytest.raises(AccessRefused) as refused:
        ask(url, Access(bearer_token_file=file))
    assert str(refused.value).endswith(shown)


def test_a_redirect_is_not_followed() -> None:
    """The credentials are for the configured address only."""
    asked = []

    def elsewhere(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        text("metric 1\n")(request)

    with (
        serving(elsewhere) as other,
        serving(text("", 302, location=other)) as url,
        pytest.raises(NotMetrics, match="answers 302"),
    ):
        ask(url)
    assert not asked


def test_secrets_are_read_at_each_request(tmp_path: Path) -> None:
    seen: list[str | None] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        seen.append(request.headers["authorization"])
        text("metric 1\n")(request)

    secret = tmp_path / "secret"
    with serving(answer) as url:
        for word in ("first", "second"):
            secret.write_text(f"{word}\n")
            ask(url, Access(username="u", password_file=secret))
            ask(url, Access(bearer_token_file=secret))
    basic = [f"Basic {base64.b64encode(f'u:{word}'.encode()).decode()}" for word in
             ("first", "second")]  # fmt: skip
    assert seen == [basic[0], "Bearer first", basic[1], "Bearer second"]


def test_a_password_is_sent_as_utf_8_and_a_token_that_http_cannot_carry_is_refused(
    tmp_path: Path,
) -> None:
    seen: list[str | None] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        seen.append(request.headers["authorization"])
        text("metric 1\n")(request)

    secret = tmp_path / "secret"
    secret.write_text("zażółć\n", "utf-8")
    with serving(answer) as url:
        ask(url, Access(username="u", password_file=secret))
        with pytest.raises(AccessRefused, match="characters that HTTP does not allow") as refused:
            ask(url, Access(bearer_token_file=secret))
    assert seen == [f"Basic {base64.b64encode('u:zażółć'.encode()).decode()}"]
    assert "zażółć" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_secret_that_cannot_be_read_is_named_and_nothing_is_asked(tmp_path: Path) -> None:
    with (
        serving(text("")) as url,
        pytest.raises(AccessRefused, match="gone cannot be read"),
    ):
        ask(url, Access(bearer_token_file=tmp_path / "gone"))
    (tmp_path / "empty").touch()
    with serving(text("")) as url, pytest.raises(AccessRefused, match="empty is empty"):
        ask(url, Access(bearer_token_file=tmp_path / "empty"))


def test_a_secret_that_http_cannot_send_is_refused_and_not_shown(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("zażółć", encoding="utf-8")
    with serving(text("")) as url, pytest.raises(AccessRefused) as refused:
        ask(url, Access(bearer_token_file=secret))
    assert str(refused.value).startswith(f"{url}: the request cannot be sent")
    assert "ż" not in str(refused.value)
    assert refused.value.__suppress_context__, "the error of before has the secret"


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A self-signed one for 127.0.0.1: certificate, key."""
    paths = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-out", str(paths[0]), "-keyout", str(paths[1])],
        check=True, capture_output=True, timeout=PATIENCE_S,
    )  # fmt: skip
    return paths


@pytest.mark.slow
def test_a_server_is_trusted_by_the_ca_file_only(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text("metric 1")(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    url = f"https://127.0.0.1:{server.server_port}"
    try:
        assert ask(url, Access(ca_file=certificate[0]), 10) == [b"metric 1"]
        with pytest.raises(AccessRefused, match=r"TLS failed: self-signed .*: check `ca_file`"):
            ask(url, deadline_s=10)
        with pytest.raises(Unreachable, match=r"if it speaks TLS, use https$"):
            ask(url.replace("https", "http"), deadline_s=10)
        with pytest.raises(AccessRefused, match=r"the ca_file .*key\.pem cannot be used: "):
            ask(url, Access(ca_file=certificate[1]), 10)
        with pytest.raises(AccessRefused, match="gone cannot be used: No such"):
            ask(url, Access(ca_file=tmp_path / "gone"), 10)
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(AccessRefused, match="pipe cannot be used: it is not a file"):
            ask(url, Access(ca_file=tmp_path / "pipe"), 10)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
