"""Beyond loopback the console speaks TLS, or says on every page that it does not."""

import os
import shutil
import ssl
from pathlib import Path

import httpx
import pytest

from orchestrator.config.load import parse_config
from orchestrator.errors import ConfigError
from orchestrator.process import http_server
from tests.orchestrator.views.console.conftest import Start
from tests.orchestrator.views.console.reading import TIMEOUT_S, open_sockets
from tests.orchestrator.views.console.serve import Served
from tests.streams.zookeeper.certificates import Authority, Certificate

TLS = "tls: {{cert_file: {0.cert}, key_file: {0.key}}}"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def pair(authority: Authority, tmp_path: Path) -> Certificate:
    """A certificate in files of its own, which a test may change."""
    issued = authority.issue("console")
    own = Certificate(tmp_path / "console.crt", tmp_path / "console.key", tmp_path / "console.pem")
    put(issued, own)
    return own


def put(issued: Certificate, own: Certificate) -> None:
    """Replace the files as an ACME client does: each by a rename."""
    for source, target in ((issued.cert, own.cert), (issued.key, own.key)):
        fresh = target.with_suffix(".new")
        shutil.copy(source, fresh)
        fresh.chmod(0o600)
        fresh.replace(target)


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority.file)


def get(served: Served, authority: Authority, path: str) -> httpx.Response:
    with httpx.Client(base_url=served.url, verify=trusting(authority), timeout=TIMEOUT_S) as http:
        return http.get(path)


def serial(served: Served, authority: Authority) -> str:
    """The serial number of the certificate that a new connection gets."""
    at = served.console.at
    with (
        httpx.Client(base_url=served.url, verify=trusting(authority), timeout=TIMEOUT_S) as http,
        http.stream("GET", f"https://{at}/api/session") as answer,
    ):
        raw = answer.extensions["network_stream"].get_extra_info("ssl_object")
        return str(raw.getpeercert()["serialNumber"])


def test_it_speaks_tls_and_the_cookie_stays_there(
    start: Start, pair: Certificate, authority: Authority
) -> None:
    served = start(console=f"{{listen: '127.0.0.1:0', {TLS.format(pair)}}}")
    assert served.url.startswith("https://")
    session = get(served, authority, "/api/session").json()
    assert session["insecure"] is False
    with httpx.Client(base_url=served.url, verify=trusting(authority), timeout=TIMEOUT_S) as http:
        right = {"Authorization": f"Bearer {served.token}"}
        answer = http.post("/api/session", json={}, headers=right)
    assert "; Secure" in answer.headers["set-cookie"]
    with httpx.Client(timeout=TIMEOUT_S) as plain, pytest.raises(httpx.TransportError):
        plain.get(served.url.replace("https", "http"))


def test_a_renewed_certificate_is_used_without_a_restart(
    start: Start, pair: Certificate, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    served = start(console=f"{{listen: '127.0.0.1:0', {TLS.format(pair)}}}")
    first = serial(served, authority)
    assert serial(served, authority) == first
    put(authority.issue("renewed"), pair)
    second = serial(served, authority)
    assert second != first
    pair.cert.write_text("half of a certif")
    assert serial(served, authority) == second, "the last one that can be used"
    assert "changed and cannot be used" in caplog.text


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])  # noqa: S104
def test_plain_http_beyond_loopback_is_refused(start: Start, host: str) -> None:
    with pytest.raises(ConfigError) as caught:
        start(console=f"{{listen: '{host}:0'}}")
    (problem,) = caught.value.problems
    assert "add `tls:" in problem
    assert "`insecure: true`" in problem


def test_plain_http_beyond_loopback_can_be_accepted(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    served = start(console="{listen: '0.0.0.0:0', insecure: true}")
    url = f"http://127.0.0.1:{served.console.at.port}"
    with httpx.Client(base_url=url, timeout=TIMEOUT_S) as http:
        assert http.get("/api/session").json()["insecure"] is True
        right = {"Authorization": f"Bearer {served.token}"}
        assert http.get("/api/state", headers=right).json()["insecure"] is True
    said = capsys.readouterr().err
    assert f":{served.console.at.port}/ (all addresses of this host), the token" in said
    assert "served over plain HTTP" in said


def test_on_loopback_nothing_is_insecure(start: Start) -> None:
    with httpx.Client(base_url=start().url, timeout=TIMEOUT_S) as http:
        assert http.get("/api/state").json()["insecure"] is False


def test_both_at_once_is_a_mistake(pair: Certificate) -> None:
    text = f"cluster: {{name: prod}}\nconsole: {{insecure: true, {TLS.format(pair)}}}\n"
    with pytest.raises(ConfigError, match="`insecure: true` is for plain HTTP"):
        parse_config(text, Path("kraftgate.yaml"))


@pytest.mark.parametrize("wrong", ["no certificate", "another key", "a public key file"])
def test_a_certificate_that_cannot_be_used_is_one_clear_error(
    start: Start, pair: Certificate, authority: Authority, wrong: str
) -> None:
    if wrong == "no certificate":
        pair.cert.unlink()
    elif wrong == "another key":
        shutil.copy(authority.issue("other").key, pair.key)
    else:
        os.chmod(pair.key, 0o644)  # noqa: PTH101
    with pytest.raises(ConfigError, match=r"`console`?\.tls"):
        start(console=f"{{listen: '127.0.0.1:0', {TLS.format(pair)}}}")


def test_a_connection_whose_peer_does_not_confirm_the_end_of_tls_is_closed(
    start: Start, pair: Certificate, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "_GRACE_S", 0.1)
    served = start(console=f"{{listen: '127.0.0.1:0', {TLS.format(pair)}}}")
    trusts = trusting(authority)
    with httpx.Client(base_url=served.url, verify=trusts, timeout=TIMEOUT_S) as http:
        assert http.get("/api/session").status_code == 200
        served.end()
    assert open_sockets(served) == []
