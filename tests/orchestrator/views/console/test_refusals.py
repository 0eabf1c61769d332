"""What the console refuses; every request here is one that some page, or somebody, might send."""

import json
import socket
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import httpx
import pytest

from orchestrator.errors import ConfigError
from orchestrator.views.console.feed import event_stream
from orchestrator.views.console.web.guard import SECURITY_HEADERS
from orchestrator.views.console.web.serving import READERS_MAX
from orchestrator.views.console.web.serving import served as console_served
from tests.orchestrator.views.console.conftest import Start
from tests.orchestrator.views.console.reading import TIMEOUT_S, client, refused, valid
from tests.orchestrator.views.console.serve import Served
from tests.orchestrator.views.console.world import World

SAY = {"who": "anna", "reason": "CHG-1234"}
LINES_MAX = 3000
PAUSE = "/api/clusters/prod/pause"
READING = [
    "/api/state",
    "/api/stream",
    "/api/schema",
    "/api/clusters/prod/timeline",
    "/api/clusters/prod/events",
    "/api/clusters/prod/brokers/2/pending",
    "/api/clusters/prod/checkpoints/copied",
]
CHANGING = [f"/api/clusters/prod/{each}" for each in ("approve", "pause", "resume", "abort")]


@pytest.fixture(scope="module")
def served(begin_shared: Start) -> Served:
    """For what is refused: that changes nothing."""
    return begin_shared()


@pytest.fixture
def fresh(start: Start) -> Served:
    """For what is accepted, for wrong tokens, which are counted, and for its end."""
    return start()


def recorded(served: Served) -> int:
    """How many entries the audit trail has, without those of wrong tokens."""
    entries = served.world.log.entries("prod")
    return sum(each.kind != "wrong_console_token" for each in entries)


def pause(served: Served, token: str | None = "", **headers: str) -> httpx.Response:
    """The one request that is right in everything, but for the headers that are given."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    right = served.token if token == "" else token
    with client(served, token=right) as http:
        return http.post(PAUSE, json=SAY, headers=named)


def test_what_is_right_in_everything_is_taken(fresh: Served) -> None:
    before = recorded(fresh)
    assert pause(fresh, Origin=fresh.url, Sec_Fetch_Site="same-origin").status_code == 200
    assert recorded(fresh) == before + 1


@pytest.mark.parametrize("path", CHANGING)
def test_nothing_is_changed_without_the_token(fresh: Served, path: str) -> None:
    before = recorded(fresh)
    with client(fresh) as http:
        assert refused(http.post(path, json=SAY)) == (401, "token_needed")
        asked = http.post(path, json=SAY, params={"token": fresh.token})
        assert refused(asked) == (401, "token_needed")
        basic = http.post(path, json=SAY, auth=("anna", fresh.token))
        assert refused(basic) == (401, "token_needed")
    for wrong in ("x", fresh.token[:-1], f"{fresh.token}x", fresh.token.swapcase(), "ä" * 43):
        with client(fresh) as http:
            head = [(b"Authorization", f"Bearer {wrong}".encode())]
            answer = http.post(path, json=SAY, headers=head)
        assert refused(answer) == (401, "token_wrong")
    assert recorded(fresh) == before


def test_a_cookie_changes_nothing(served: Served) -> None:
    """A browser would send it also for a page from elsewhere."""
    with client(served) as http:
        given = http.post(
            "/api/session", json={}, headers={"Authorization": f"Bearer {served.token}"}
        )
        assert given.status_code == 204
        assert http.cookies
        assert refused(http.post(PAUSE, json=SAY)) == (401, "token_needed")


@pytest.mark.parametrize("path", CHANGING)
def test_nothing_is_changed_by_get(served: Served, path: str) -> None:
    before = recorded(served)
    with client(served, token=served.token) as http:
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"):
            answer = http.request(method, path, params=SAY)
            assert answer.status_code == 405
            assert answer.headers["allow"] == "POST"
        assert refused(http.get(path, params=SAY)) == (405, "method")
    assert recorded(served) == before


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "http://localhost:1",
        "",
    ],
)
def test_nothing_is_changed_from_another_origin(served: Served, origin: str) -> None:
    before = recorded(served)
    assert refused(pause(served, Origin=origin)) == (403, "other_origin")
    assert recorded(served) == before


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_says_of_another_page_is_believed(served: Served, site: str) -> None:
    assert refused(pause(served, Sec_Fetch_Site=site)) == (403, "other_origin")
    with client(served) as http:
        answer = http.get("/api/state", headers={"Sec-Fetch-Site": site})
    assert refused(answer) == (403, "other_origin")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8464", "127.0.0.1.evil.example", "192.0.2.1", "", "[::2]"],
)
def test_a_name_that_is_not_ours_gets_nothing(served: Served, host: str) -> None:
    """DNS rebinding: the page's own name resolves to loopback, so its origin is the host's."""
    before = recorded(served)
    assert refused(pause(served, Host=host, Origin=f"http://{host}")) == (403, "other_host")
    assert recorded(served) == before
    with client(served) as http:
        for path in ("/", *READING):
            answer = http.get(path, headers={"Host": host})
            assert refused(answer) == (403, "other_host")


@pytest.mark.parametrize("host", ["localhost:9999", "127.0.0.1", "LOCALHOST", "[::1]:8464"])
def test_names_of_loopback_are_ours_at_every_port(fresh: Served, host: str) -> None:
    """As they are at the other end of an ssh tunnel."""
    assert pause(fresh, Host=host, Origin=f"http://{host}".lower()).status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_change_is_json(served: Served, kind: str) -> None:
    """What a form of another page could send is none."""
    before = recorded(served)
    with client(served, token=served.token) as http:
        answer = http.post(PAUSE, content=json.dumps(SAY), headers={"Content-Type": kind})
    assert refused(answer) == (415, "content_type")
    assert recorded(served) == before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"who": "anna"}',
        b'{"who": "", "reason": "x"}',
        b'{"who": " ", "reason": "x"}',
        b'{"who": "anna", "reason": "\\t "}',
        b'{"who": "anna", "reason": "x", "force": true}',
        b'{"who": ["anna"], "reason": "x"}',
        b'{"who": "anna", "reason": "' + b"x" * 2001 + b'"}',
        b'{"who": "anna", "reason": "x", "checkpoint": "copied"}',
    ],
)
def test_a_body_says_who_and_why_and_nothing_else(served: Served, body: bytes) -> None:
    before = recorded(served)
    with client(served, token=served.token) as http:
        answer = http.post(PAUSE, content=body, headers={"Content-Type": "application/json"})
    assert refused(answer) == (400, "bad_request")
    assert recorded(served) == before


def test_a_long_body_is_too_long(served: Served) -> None:
    before = recorded(served)
    with client(served, token=served.token) as http:
        head = {"Content-Type": "application/json"}
        answer = http.post(PAUSE, content=b" " * 20_000, headers=head)
    assert refused(answer) == (413, "too_long")
    assert recorded(served) == before


def _long_post(served: Served) -> socket.socket:
    """Return a connection with the head of a request whose body is announced as very long."""
    at = served.console.at
    head = f"POST {PAUSE} HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {served.token}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 999999999999\r\n\r\n"
    asking = socket.create_connection((at.host, at.port), 20)
    asking.sendall(head.encode())
    return asking


def test_a_body_without_an_end_is_not_read_for_ever(served: Served) -> None:
    with _long_post(served) as asking, pytest.raises(ConnectionError):
        _send_on(asking)


def test_a_client_that_disconnects_within_its_body_is_no_error(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    before = recorded(served)
    with _long_post(served) as asking:
        asking.shutdown(socket.SHUT_WR)
        while asking.recv(4096):
            pass
    with client(served) as http:
        assert http.get("/api/state").status_code == 200
    assert not [each for each in caplog.records if each.levelname == "ERROR"]
    assert recorded(served) == before


def _send_on(asking: socket.socket) -> None:
    while True:
        asking.sendall(b" " * 4096)


def test_the_token_is_not_written_into_the_trail(served: Served) -> None:
    before = recorded(served)
    with client(served, token=served.token) as http:
        answer = http.post(PAUSE, json={"who": "anna", "reason": f"with {served.token}"})
    assert refused(answer) == (400, "bad_request")
    assert served.token not in answer.text
    assert recorded(served) == before


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/nothing", 404),
        ("/nothing", 404),
        ("/static/../model.py", 404),
        ("/static/%2e%2e/model.py", 404),
        ("/api/clusters/other/timeline", 404),
        ("/api/clusters/prod/brokers/77/pending", 404),
        ("/api/clusters/prod/brokers/x/pending", 400),
        ("/api/clusters/prod/brokers/-1/pending", 400),
        (f"/api/clusters/prod/brokers/{'9' * 5000}/pending", 400),
        (f"/api/clusters/prod/brokers/{'9' * 25}/pending", 400),
        (f"/api/clusters/prod/brokers/2/pending?cursor=t-{'9' * 390}", 400),
        ("/api/clusters/prod/brokers/2/pending?limit=" + "9" * 5000, 400),
        ("/api/clusters/prod/timeline?broker=" + "0" * 20 + "9" * 30, 400),
        ("/api/clusters/prod/timeline?from_ms=" + "0" * 20 + "9" * 5000, 400),
        (f"/api/clusters/prod/events?cursor={'9' * 30}.1.1", 400),
        (f"/api/clusters/prod/events?cursor=1.-{'9' * 30}.1", 400),
        ("/api/clusters/prod/events?limit=%D9%A3", 400),
        ("/api/clusters/prod/brokers/2/pending?state=gone", 400),
        ("/api/clusters/prod/brokers/2/pending?cursor=x", 400),
        ("/api/clusters/prod/events?limit=0", 400),
        ("/api/clusters/prod/events?limit=1001", 400),
        ("/api/clusters/prod/events?lane=moon", 400),
        ("/api/clusters/prod/events?cursor=1.2", 400),
        ("/api/clusters/prod/events?cursor=a.b.c", 400),
        ("/api/clusters/prod/events?order=random", 400),
        ("/api/clusters/prod/events?from_ms=-1", 400),
        ("/api/clusters/prod/timeline?to_ms=" + "9" * 40, 400),
        ("/api/clusters/prod/timeline?buckets=1e9", 400),
        ("/api/clusters/prod/events?kind=" + "k" * 500, 400),
    ],
)
def test_what_makes_no_sense_is_said(served: Served, path: str, code: int) -> None:
    with client(served) as http:
        assert refused(http.get(path))[0] == code


def test_every_answer_has_its_headers(served: Served) -> None:
    paths = ("/", "/static/index.html", "/nothing", "/api/nothing", "/api/state", "/api/session")
    with client(served) as http:
        for path in paths:
            answer = http.get(path)
            assert SECURITY_HEADERS.items() <= dict(answer.headers).items() or {
                name: answer.headers.get(name) for name in SECURITY_HEADERS
            } == dict(SECURITY_HEADERS)
            api = path.startswith("/api/")
            assert answer.headers["cache-control"] == ("no-store" if api else "no-cache")
            assert "access-control-allow-origin" not in answer.headers
            assert "server" not in answer.headers
        policy = http.get("/").headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


ELSEWHERE = "{listen: '0.0.0.0:0', insecure: true, hosts: [kraftgate.example.com]}"


def test_elsewhere_than_on_loopback_reading_needs_the_token_too(start: Start) -> None:
    served = start(console=ELSEWHERE)
    url = f"http://127.0.0.1:{served.console.at.port}"
    with httpx.Client(base_url=url, timeout=20) as http:
        for path in READING:
            assert refused(http.get(path)) == (401, "token_needed")
        assert http.get("/").status_code == 200  # there is nothing in it
        session = valid("Session", http.get("/api/session").json())
        assert session == {"token_to_read": True, "may_read": False, "insecure": True}
        wrong = {"Authorization": "Bearer wrong"}
        assert refused(http.get("/api/state", headers=wrong)) == (401, "token_wrong")
        assert refused(http.post("/api/session", json={}, headers=wrong)) == (401, "token_wrong")
        assert refused(http.post("/api/session", json={})) == (401, "token_needed")
        right = {"Authorization": f"Bearer {served.token}"}
        valid("State", http.get("/api/state", headers=right).json())
        given = http.post("/api/session", json={}, headers=right)
        cookie = given.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert served.token not in cookie
        assert valid("Session", http.get("/api/session").json())["may_read"]
        with http.stream("GET", "/api/stream") as answer:
            assert answer.status_code == 200
        other = {"Cookie": cookie.partition("=")[0] + "=guessed"}
    with httpx.Client(base_url=url, timeout=20) as http:
        assert refused(http.get("/api/state", headers=other)) == (401, "token_needed")


@pytest.mark.parametrize(
    ("host", "status"),
    [("192.0.2.7:8464", 401), ("kraftgate.example.com", 401), ("evil.example", 403)],
)
def test_elsewhere_it_is_known_by_its_addresses_and_names(
    start: Start, host: str, status: int
) -> None:
    served = start(console=ELSEWHERE)
    url = f"http://127.0.0.1:{served.console.at.port}/api/state"
    assert httpx.get(url, headers={"Host": host}, timeout=TIMEOUT_S).status_code == status


def test_the_token_lies_where_only_its_owner_reads(fresh: Served) -> None:
    token = fresh.console.token
    assert token.path.stat().st_mode & 0o777 == 0o600
    assert token.path.read_text() == f"{fresh.token}\n"
    assert len(fresh.token) >= 43
    assert fresh.token not in repr(token)
    fresh.end()
    assert not token.path.exists()


def test_each_start_makes_another_token(start: Start, tmp_path: Path, now_ms: int) -> None:
    first = start().token
    other = World(tmp_path / "other", now_ms)
    assert other.config.console is not None
    with console_served(other.config, other.config.console) as console:
        assert console.token.secret() != first
    other.close()


def test_the_token_may_be_given(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("correct-horse-battery\nand more\n")
    served = start(console=f"{{listen: '127.0.0.1:0', token_file: '{file}'}}")
    given, rest = file.read_text().splitlines()
    assert pause(served, given).status_code == 200
    assert pause(served, rest).status_code == 401
    served.end()
    assert file.exists()


def test_a_given_token_that_is_replaced_ends_the_former_one(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def replaced(token: str, mode: int = 0o600) -> None:
        fresh = tmp_path / "fresh"
        fresh.write_text(f"{token}\n")
        fresh.chmod(mode)
        fresh.replace(file)

    def begun(token: str) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        return http.post("/api/session", json={}, headers=headers).status_code

    file = tmp_path / "token"
    former, latter, last = (f"correct-horse-{name}" for name in ("former", "latter", "last"))
    replaced(former)
    where = f"{{listen: '0.0.0.0:0', insecure: true, token_file: '{file}'}}"
    served = start(console=where)
    url = f"http://127.0.0.1:{served.console.at.port}"
    with httpx.Client(base_url=url, timeout=20) as http:
        assert begun(former) == 204
        assert http.get("/api/state").status_code == 200
        replaced(latter)
        assert refused(http.get("/api/state")) == (401, "token_needed")
        assert begun(former) == 401
        assert begun(latter) == 204
        assert http.get("/api/state").status_code == 200
        replaced(last, 0o644)
        for token in (former, latter, last):
            assert begun(token) == 401
        assert refused(http.get("/api/state")) == (401, "token_needed")
        (said,) = [each for each in caplog.messages if each.startswith("the console accepts no")]
        assert f"chmod 0600 {file}" in said
        file.chmod(0o600)
        assert begun(last) == 204
        file.unlink()
        assert begun(last) == 401


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "127.0.0.1:0"])
def test_a_replaced_token_ends_the_streams_of_the_former_one(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listen: str
) -> None:
    """On loopback everybody may read, but the places that are reserved need the token."""
    monkeypatch.setattr(event_stream, "BEAT_S", 0.05)
    file = tmp_path / "token"
    file.write_text("correct-horse-former\n")
    file.chmod(0o600)
    served = start(console=f"{{listen: '{listen}', insecure: true, token_file: '{file}'}}")
    url = f"http://127.0.0.1:{served.console.at.port}"
    with ExitStack() as opened:
        http = opened.enter_context(httpx.Client(base_url=url, timeout=TIMEOUT_S))

        def stream(token: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {token}"}
            return opened.enter_context(http.stream("GET", "/api/stream", headers=headers))

        former = [stream("correct-horse-former") for _ in range(READERS_MAX)]
        assert {each.status_code for each in former} == {200}
        fresh = tmp_path / "fresh"
        fresh.write_text("correct-horse-latter\n")
        fresh.chmod(0o600)
        fresh.replace(file)
        for each in former:
            lines = list(islice(each.iter_lines(), LINES_MAX))
            assert len(lines) < LINES_MAX, "it does not end"
            assert "event: end" not in lines
        assert stream("correct-horse-latter").status_code == 200


def test_a_given_token_that_others_can_read_later_counts_as_none(
    start: Start, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("correct-horse-battery\n")
    file.chmod(0o600)
    served = start(console=f"{{listen: '127.0.0.1:0', token_file: '{file}'}}")
    given = served.token
    assert pause(served, given).status_code == 200
    file.chmod(0o644)
    assert refused(pause(served, given)) == (401, "token_wrong")
    file.chmod(0o600)
    with client(served, token=given) as http:
        assert http.get("/api/state").status_code == 200


@pytest.mark.parametrize("text", ["", "\n", "short", "has a space in it, so", "ü" * 30])
def test_a_given_token_that_is_none_is_one_clear_error(
    tmp_path: Path, now_ms: int, text: str
) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    where = f"{{listen: '127.0.0.1:0', token_file: '{file}'}}"
    world = World(tmp_path / "world", now_ms, console=where)
    wanted = world.config.console
    assert wanted is not None
    with (
        pytest.raises(ConfigError, match=r"kraftgate\.yaml: `console.token_file` .*: .*: "),
        console_served(world.config, wanted),
    ):
        pass
    world.close()


def test_what_is_no_http_harms_nobody(served: Served) -> None:
    at = served.console.at
    for bytes_ in (b"\0" * 100, b"GET\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n"):
        with socket.create_connection((at.host, at.port), 10) as asking:
            asking.sendall(bytes_)
            asking.shutdown(socket.SHUT_WR)
            while asking.recv(4096):
                pass
    with client(served) as http:
        assert http.get("/api/state").status_code == 200
