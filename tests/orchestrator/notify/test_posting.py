"""A POST that fails in the ways that matter: what is said, and whether to send it again."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from orchestrator.notify import http_post
from orchestrator.notify.channel import Channel
from orchestrator.notify.http_post import Undelivered
from orchestrator.process.logs import log_to_stderr
from tests.orchestrator.notify import receivers
from tests.orchestrator.notify.receivers import SLACK_PATH, TOKEN
from tests.orchestrator.notify.test_channels import AT_MS, FIRING
from tests.streams.zookeeper.certificates import Authority
from tests.support.receiver import Answer, Receiver, Reply, Sent, receiving


def failure(to: Channel[Any]) -> Undelivered:
    with pytest.raises(Undelivered) as caught:
        to.notify([FIRING], AT_MS)
    to.close()
    for secret in ("very-secret-part", "services", TOKEN):
        assert secret not in str(caught.value)
        assert secret not in repr(caught.value.__cause__)
    return caught.value


def failed(folder: Path, answer: Answer) -> tuple[Undelivered, Receiver]:
    with receiving(answer) as receiver:
        return failure(receivers.channel(folder, receivers.slack(folder, receiver.url))), receiver


@pytest.mark.parametrize(
    ("reply", "permanent", "delivered", "retry_after_s"),
    [
        (Reply(500, b"oh"), False, None, None),
        (Reply(502), False, None, None),
        (Reply(503, headers={"Retry-After": "7"}), False, False, 7),
        (Reply(429, b"rate_limited", {"Retry-After": "30"}), False, False, 30),
        (Reply(429, headers={"Retry-After": "soon"}), False, False, None),
        (Reply(429, headers={"Retry-After": "9" * 5000}), False, False, None),
        (Reply(429, headers={"Retry-After": f"1 Jan {'9' * 5} 00:00 GMT"}), False, False, None),
        (Reply(429, headers={"Retry-After": f"1 Jan {'9' * 20} 00:00 GMT"}), False, False, None),
        (Reply(400, b"invalid_payload"), True, False, None),
        (Reply(403, b"action_prohibited"), True, False, None),
        (Reply(404, b"no_service"), True, False, None),
        (Reply(410, b"channel_is_archived"), True, False, None),
        (Reply(301, headers={"Location": f"https://elsewhere{SLACK_PATH}"}), True, False, None),
        (Reply(307, headers={"Location": f"https://elsewhere{SLACK_PATH}"}), True, False, None),
    ],
    ids=lambda each: str(each.status) if isinstance(each, Reply) else None,
)
def test_each_status_says_whether_to_send_it_again(
    reply: Reply,
    permanent: bool,
    delivered: bool | None,
    retry_after_s: float | None,
    tmp_path: Path,
) -> None:
    error, receiver = failed(tmp_path, lambda _: reply)
    assert (error.permanent, error.delivered, error.retry_after_s) == (
        permanent,
        delivered,
        retry_after_s,
    )
    assert str(error).startswith(f"{receiver.url} answers {reply.status}")
    assert reply.body.decode() in str(error)
    assert len(receiver.sent) == 1, "neither repeated nor sent elsewhere"


def test_a_date_may_stand_for_the_time_to_wait(tmp_path: Path) -> None:
    past = {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}
    error, _ = failed(tmp_path, lambda _: Reply(503, headers=past))
    assert error.retry_after_s == 0


def test_an_answer_that_does_not_come_is_waited_for_with_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_post, "RESPONSE_S", 0.3)
    with receiving() as receiver:
        receiver.answer = receiver.hang
        error = failure(receivers.channel(tmp_path, receivers.slack(tmp_path, receiver.url)))
    assert str(error) == f"{receiver.url}: no complete response within 0.3 s"
    assert (error.permanent, error.delivered) == (False, None)


@pytest.mark.parametrize("start", [b"X: ", b"Content-Length: 4000\r\n\r\n"])
@pytest.mark.parametrize("tls", [False, True])
def test_an_answer_that_drips_is_waited_for_with_a_bound(
    start: bytes, tls: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte arrives in time; neither the headers nor the body ever end."""
    monkeypatch.setattr(http_post, "RESPONSE_S", 0.3)
    authority = Authority(tmp_path)
    drips = Reply(raw=b"HTTP/1.1 200 OK\r\n" + start, drips=True)
    with receiving(lambda _: drips, authority.issue("hooks") if tls else None) as receiver:
        line = receivers.slack(tmp_path, receiver.url, f", ca_file: {authority.file}")
        error = failure(receivers.channel(tmp_path, line))
    assert str(error) == f"{receiver.url}: no complete response within 0.3 s"
    assert (error.permanent, error.delivered) == (False, None)


def test_a_connection_that_breaks_leaves_it_open_whether_it_was_taken(tmp_path: Path) -> None:
    error, _ = failed(tmp_path, lambda _: None)
    assert (error.permanent, error.delivered) == (False, None)


@pytest.mark.parametrize("raw", [b"\x16\x03garbage\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n"])
def test_what_speaks_no_http_is_named(raw: bytes, tmp_path: Path) -> None:
    error, receiver = failed(tmp_path, lambda _: Reply(raw=raw))
    assert str(error) == (f"{receiver.url}: the response is not HTTP: if it speaks TLS, use https")
    assert (error.permanent, error.delivered) == (False, None)


def test_half_an_answer_is_none(tmp_path: Path) -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok"
    error, _ = failed(tmp_path, lambda _: Reply(raw=half))
    assert (error.permanent, error.delivered) == (False, None)


@pytest.fixture
def nobody() -> str:
    """An address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return f"http://127.0.0.1:{port}"


def test_a_connection_that_is_refused_took_nothing(nobody: str, tmp_path: Path) -> None:
    error = failure(receivers.channel(tmp_path, receivers.slack(tmp_path, nobody)))
    assert str(error) == f"{nobody}: Connection refused"
    assert (error.permanent, error.delivered) == (False, False)


def test_a_name_that_is_not_known_is_said(tmp_path: Path) -> None:
    line = receivers.slack(tmp_path, "http://no-such-host.invalid:8080")
    error = failure(receivers.channel(tmp_path, line))
    assert str(error) == "http://no-such-host.invalid:8080: the host name cannot be resolved"
    assert (error.permanent, error.delivered) == (False, False)


def test_tls_is_checked_and_an_authority_may_be_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with receiving(tls=authority.issue("hooks")) as receiver:
        strange = receivers.channel(tmp_path, receivers.slack(tmp_path, receiver.url))
        error = failure(strange)
        assert str(error) == (
            f"{receiver.url}: TLS failed: unable to get local issuer certificate: check `ca_file`,"
            " or the system's authorities"
        )
        assert (error.permanent, error.delivered) == (False, False)
        known = receivers.slack(tmp_path, receiver.url, f", ca_file: {authority.file}")
        to = receivers.channel(tmp_path, known)
        assert to.notify([FIRING], AT_MS) == "200 ok"
        authority.file.write_text("no certificate")
        garbage = failure(to)
        assert str(garbage).startswith(f"the ca_file {authority.file} cannot be used: ")
        assert garbage.permanent
        authority.file.unlink()
        assert "cannot be used: No such file" in str(failure(to))
        os.mkfifo(authority.file)
        assert "cannot be used: it is not a file" in str(failure(to))


def test_http_to_a_receiver_that_speaks_tls_names_https(tmp_path: Path) -> None:
    with receiving(tls=Authority(tmp_path).issue("hooks")) as receiver:
        url = receiver.url.replace("https", "http")
        error = failure(receivers.channel(tmp_path, receivers.slack(tmp_path, url)))
    assert str(error).endswith(": if it speaks TLS, use https")
    assert (error.permanent, error.delivered) == (False, None)


def _secret(sent: Sent) -> str:
    return sent.headers.get("authorization", sent.path)


def test_what_the_other_side_says_back_is_shown_without_the_secret(tmp_path: Path) -> None:
    with receiving() as receiver:
        receiver.answer = lambda sent: Reply(400, f"no {_secret(sent)}".encode())
        slack = failure(receivers.channel(tmp_path, receivers.slack(tmp_path, receiver.url)))
        assert "[redacted]" in str(slack)
        hook = failure(receivers.channel(tmp_path, receivers.webhook(tmp_path, receiver.url)))
        assert "[redacted]" in str(hook)


@pytest.mark.parametrize(("before", "token"), [(b"." * 190, TOKEN), (b" " * 3000, TOKEN * 100)])
def test_a_secret_that_crosses_a_limit_is_not_shown_in_part(
    before: bytes, token: str, tmp_path: Path
) -> None:
    """The limit of the quotation, or that of the body, whose leading space is not quoted."""
    with receiving(lambda _: Reply(400, before + token.encode())) as receiver:
        to = receivers.channel(tmp_path, receivers.webhook(tmp_path, receiver.url))
        receivers.secret(tmp_path, "auth", token)
        assert TOKEN[:4] not in str(failure(to))


@pytest.mark.parametrize("value", ["two\x00words", "umlaut \u4e2d"])
def test_a_header_that_cannot_be_sent_is_said_without_being_shown(
    value: str, tmp_path: Path
) -> None:
    to = receivers.channel(tmp_path, receivers.webhook(tmp_path, "http://127.0.0.1:1"))
    receivers.secret(tmp_path, "auth", value)
    error = failure(to)
    assert value not in str(error)


def test_a_proxy_is_used(tmp_path: Path) -> None:
    """Of an address with http the proxy is asked for all of it."""
    with receiving() as proxy:
        line = receivers.slack(tmp_path, "http://hooks.example.com", f", proxy: '{proxy.url}'")
        to = receivers.channel(tmp_path, line)
        assert to.notify([FIRING], AT_MS) == "200 ok"
        to.close()
        assert proxy.sent[0].path == f"http://hooks.example.com{SLACK_PATH}"


def test_a_proxy_that_is_not_there_is_named(nobody: str, tmp_path: Path) -> None:
    line = receivers.slack(tmp_path, "https://hooks.example.com", f", proxy: '{nobody}'")
    error = failure(receivers.channel(tmp_path, line))
    assert "the proxy does not connect to https://hooks.example.com" in str(error)
    assert not error.permanent


def test_a_header_that_cannot_be_parsed_prints_no_url(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """urllib3 warns of it, with the whole URL, which is the secret of a receiver."""
    log_to_stderr(0)
    odd = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n: odd\r\nX\r\n\r\nok"
    with receiving(lambda _: Reply(raw=odd)) as receiver:
        to = receivers.channel(tmp_path, receivers.slack(tmp_path, receiver.url))
        to.notify([FIRING], AT_MS)
        to.close()
    assert "very-secret-part" not in capfd.readouterr().err
