"""No secret that is known survives, however it is printed; nor one that looks like it."""

import base64
import html
import json
import shlex
import string
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orchestrator.output.json_value import JsonValue
from orchestrator.redaction.patterns import names_a_secret
from orchestrator.redaction.redactor import MARK, Redactor
from orchestrator.redaction.stream import RedactedStream

# None of them is a part of the mark that takes a secret's place.
_SECRET = st.text("ABxyz0189 /+=&%\"'\\$!#ßé\n☃\U0001f511", min_size=1, max_size=40).filter(
    lambda secret: secret.strip() != "" and secret.strip() not in MARK
)
_AROUND = st.text("ABxyz019 \n=\"'%+/:", max_size=30)


def _printed(secret: str) -> list[str]:
    """Every form that is promised, made by the library that would print it."""
    secret = secret.strip()
    raw = secret.encode()
    found = [
        secret,
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        html.escape(secret),
        shlex.quote(secret).strip("'"),
        json.dumps(secret, ensure_ascii=False)[1:-1],
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
    ]
    if len(raw) >= 6:
        found.append(base64.b64encode(raw).decode().rstrip("="))
    return found


def _streamed(redactor: Redactor, data: bytes, cuts: list[int], line_max: int = 1) -> bytes:
    stream = RedactedStream(redactor, line_max)
    places = sorted({0, *(cut % (len(data) + 1) for cut in cuts), len(data)})
    given = [stream.feed(data[a:b]) for a, b in pairwise(places)]
    return b"".join(given) + stream.end()


@settings(deadline=None)
@given(secret=_SECRET, before=_AROUND, after=_AROUND, which=st.integers(0, 12))
@example("a", "", "", 0)
@example("pass word", "password=", "", 0)
def test_a_known_secret_never_survives(secret: str, before: str, after: str, which: int) -> None:
    printed = _printed(secret)
    form = printed[which % len(printed)]
    redacted = Redactor([secret]).text(before + form + after)
    assert form not in redacted.replace(MARK, "\0")
    assert MARK in redacted


@pytest.mark.parametrize("before", ["m:", "mo:", "mon:", "\0client\0"])
def test_a_secret_inside_a_base64_text_does_not_survive(before: str) -> None:
    """As in the tokens of Basic and of SASL PLAIN."""
    token = base64.b64encode(f"{before}wrong?>-horse".encode()).decode()
    for text in (token, token.replace("/", "_").replace("+", "-")):
        start, _, end = Redactor(["wrong?>-horse"]).text(text).partition(MARK)
        assert len(start) * 6 < (len(before) + 1) * 8
        assert len(end.rstrip("=")) <= 1


@settings(deadline=None)
@given(
    secret=_SECRET,
    before=_AROUND,
    after=_AROUND,
    which=st.integers(0, 12),
    cuts=st.lists(st.integers(0, 400), max_size=6),
)
def test_a_secret_that_is_split_over_two_reads_does_not_survive(
    secret: str, before: str, after: str, which: int, cuts: list[int]
) -> None:
    """What is streamed is what is redacted as a whole, wherever it is cut."""
    redactor = Redactor([secret])
    printed = _printed(secret)
    data = (before + printed[which % len(printed)] + after).encode()
    assert _streamed(redactor, data, cuts) == redactor.data(data)


_KEY = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", "MIIEow" * 10, "Zm9v", "-----END RSA PRIVATE KEY-----"]
)
_LOOKS = [
    ("password=hunter2", "hunter2"),
    ("db_password: 'hunter 2'", "hunter 2"),
    ('{"apiKey":"hunter\\"2","x":1}', "2"),
    ('say "{\\"token\\": \\"hunter 2\\"}"', "hunter 2"),
    ("SECRET = hunter2,more", "more"),
    ("ssl.keystore.password=hunter2", "hunter2"),
    ("SCRAM-SHA-512=[iterations=8192,password=hunter2]", "hunter2"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "wJalrX"),
    ("kafka-acls --password hunter2 --list", "hunter2"),
    ("sasl.jaas.config=x.PlainLoginModule required u=\"u\" password=\"hunter2\";", "hunter2"),
    ("sasl.jaas.config : anything goes hunter2", "hunter2"),
    ("> Authorization: Basic aHVudGVyMg==", "aHVudGVyMg"),
    ("proxy-authorization: Digest username=u, response=hunter2", "hunter2"),
    ("Set-Cookie: id=hunter2; Secure", "hunter2"),
    ("https://anna:hunter2@host:443/path", "hunter2"),
    ("fetch from jdbc+x://hunter2@host/", "hunter2"),
    ("jdbc://u:hunt@er2@host/", "er2"),
    ("Authorization: Bearer eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl", "eyJhbGciOiJIUzI1"),
    ("token=eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl", "eyJhbGciOiJIUzI1"),
    (_KEY, "Zm9v"),
    (_KEY.replace("\n", "\\n"), "Zm9v"),
    (_KEY.rpartition("\n")[0], "Zm9v"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), _LOOKS)
def test_what_looks_like_a_secret_does_not_survive(text: str, secret: str) -> None:
    assert secret in text
    redacted = Redactor().text(f"before\n{text}\nand after;\n")
    assert secret not in redacted
    assert MARK in redacted
    assert redacted.startswith("before\n")
    assert redacted.endswith("after;\n") or "PRIVATE" in text


@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, 4000), max_size=8), which=st.permutations(range(len(_LOOKS))))
def test_what_looks_like_a_secret_is_found_over_two_reads(
    cuts: list[int], which: list[int]
) -> None:
    data = "".join(f"line {_LOOKS[at][0]}\nnext;\n" for at in which[:5]).encode()
    assert _streamed(Redactor(), data, cuts) == Redactor().data(data)


@settings(deadline=None)
@given(
    length=st.integers(0, 9000),
    padding=st.sampled_from(["x", "x ", "pw \r", "token ", "password=x"]),
    cuts=st.lists(st.integers(0, 20_000), max_size=20),
)
def test_a_line_without_an_end_does_not_carry_a_secret_over(
    length: int, padding: str, cuts: list[int]
) -> None:
    """Longer than what is held: settled in parts."""
    known = "s3cr3t & more"
    lines = (padding * 9000)[:length] + f" {known} password=hunter2 " + (padding * 9000)[:length]
    given_ = _streamed(Redactor([known]), lines.encode(), cuts, line_max=1)
    assert b"s3cr3t" not in given_
    assert b"hunter2" not in given_


@pytest.mark.parametrize("opener", ["password=", "-----BEGIN PRIVATE KEY-----\n", "cookie: "])
def test_a_secret_longer_than_what_is_held_is_left_out(opener: str) -> None:
    data = f"begin\n{opener}{'abcd' * 50_000}\nthe end; told\n".encode()
    told = _streamed(Redactor(), data, list(range(0, len(data), 5000)), line_max=1)
    assert b"abcd" not in told
    assert told.startswith(b"begin\n")
    assert told.endswith(b"told\n")
    assert len(told) < 200


@settings(deadline=None)
@given(cut=st.integers(0, 200_020))
@example(0)
def test_a_secret_at_the_end_of_a_longer_one_is_left_out_too(cut: int) -> None:
    data = f"password={'abcd' * 50_000} one and; more".encode()
    told = _streamed(Redactor(["cdabcd one and;"]), data, [cut], line_max=1)
    assert b"one" not in told
    assert b"and" not in told


def test_whole_lines_pass_as_they_come() -> None:
    stream = RedactedStream(Redactor(["hunter2"]))
    assert stream.feed(b"first\nsec") == b"first\n"
    assert stream.feed(b"ond hunt") == b""
    assert stream.feed(b"er2\nthird\nhun") == b"second [redacted]\nthird\n"
    assert stream.end() == b"hun"


@settings(deadline=None)
@given(cut=st.integers(0, 200))
def test_a_tail_does_not_begin_within_a_secret(cut: int) -> None:
    known = "s3cr3t one\nand two"
    whole = f"{'x' * 50} {known} password=hunter2\n{_KEY}\n".encode()
    last = b"the last line;\n"
    _, tail = Redactor([known]).tail(whole[cut:] + last * 20)
    for part in (b"s3cr", b"one", b"two", b"hunter2", b"MIIE", b"Zm9v"):
        assert part not in tail
    assert tail.endswith(last)


@settings(deadline=None)
@given(cut=st.integers(0, 900))
def test_a_tail_does_not_begin_within_a_key(cut: int) -> None:
    key = _KEY.replace("Zm9v", "\n".join(["Zm9vYmFy" * 8] * 12))
    _, tail = Redactor().tail(f"{key}\nthe end; told\n".encode()[cut:])
    assert b"MIIE" not in tail
    assert b"Zm9v" not in tail


def test_a_tail_without_a_lines_end_is_left_out() -> None:
    assert Redactor(["hunter2"]).tail(b"x" * 1000) == (1000, b"")


def test_a_long_secret_is_found_by_its_lines() -> None:
    secret = "\n".join(f"line-{number}-" + "k" * 30 for number in range(40))
    redactor = Redactor([secret])
    indented = "\n".join("  " + line for line in secret.splitlines())
    assert "kkk" not in redactor.text(f"a {secret} b")
    assert "kkk" not in redactor.text(indented)
    encoded = base64.b64encode(secret.encode()).decode()
    assert redactor.text(f"a {encoded} b") == f"a {MARK}== b"


def test_a_command_is_recorded_without_its_secrets() -> None:
    argv = [
        "ssh",
        "b1",
        "--password",
        "a b",
        "--token=xyz",
        "-Dpw=hunter2",
        "--password-file",
        "/f",
    ]
    assert Redactor(["hunter2"]).argv(argv) == [
        "ssh", "b1", "--password", MARK, f"--token={MARK}", f"-Dpw={MARK}", "--password-file", "/f",
    ]  # fmt: skip


def test_a_body_is_recorded_without_its_secrets() -> None:
    body: JsonValue = {
        "note": ["ok", "is hunter2"],
        "db": {"password": "x", "token": 7},
        "token_file": "/f",
    }
    assert Redactor(["hunter2"]).body(body) == {
        "note": ["ok", f"is {MARK}"],
        "db": {"password": MARK, "token": 7},
        "token_file": "/f",
    }


@pytest.mark.parametrize(
    "text",
    [
        "Kafka's log directory /data/d1 is offline, offset 413, hash sha256:0a1b2c",
        "PLAINTEXT://b1:9092,SSL://b2:9093 voters=3000@c1:9093",
        "password_file: /etc/kraftgate/password",
        "--password-file=/etc/kraftgate/password",
        "uSLaubyUxZGsRKrz8FtoCw assigned to broker 3",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "the password for kafka@host is asked for",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor(["hunter2"]).text(text) == text


def test_half_characters_and_binary_pass() -> None:
    assert Redactor(["x"]).text("a\udce9b") == "a\\udce9b"
    data = bytes(byte for byte in range(256)) * 3
    assert Redactor(["hunter2"]).data(data) == data


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("DB_PASSWORD", True),
        ("MYTOKEN", True),
        ("aws.secret-key", True),
        ("SSH_AUTH_SOCK", False),
        ("PWD", False),
        ("TOKEN_FILE", False),
        ("PATH", False),
    ],
)
def test_names_of_secrets(name: str, is_secret: bool) -> None:
    assert names_a_secret(name) is is_secret


def test_alphabets_do_not_hide_what_they_should_find() -> None:
    """Letters that the mark has are found too, where they are not the mark's own."""
    for secret in (*string.ascii_letters, "red", "redact"):
        assert Redactor([secret]).text(f"{secret}!").replace(MARK, "") == "!"
