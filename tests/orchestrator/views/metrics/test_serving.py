"""The listener: what it speaks, that it ends, and what it says when it cannot listen."""

import gzip
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families as plain_families

from orchestrator.cli.program import main
from orchestrator.cli.run import follow_and_show, served_metrics
from orchestrator.config.load import Config, load_config, parse_config
from orchestrator.errors import ConfigError, ExitCode
from orchestrator.notify.sender import SenderStats
from orchestrator.process import http_server
from orchestrator.run.assessed import Tick
from orchestrator.views.terminal.live import Stop
from streams.net.endpoint import Endpoint
from tests.orchestrator.run.test_run import gate
from tests.orchestrator.views.metrics.scraping import samples, seen, text_format
from tests.scenes.night import HYBRID, NOW_MS
from tests.support.assessing import tick
from tests.support.fake_store import FakeFollowing, FakeStore
from tests.support.prometheus import promtool

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def get(at: Endpoint, **headers: str) -> tuple[str, bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"http://{at}/metrics", headers=named)
    with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310  # http, see above
        return reply.headers["Content-Type"], reply.read()


@dataclass
class Loop:
    """The run loop, as far as scrapes read it."""

    last: Tick | None = None


@contextmanager
def listening(
    listen: str = "127.0.0.1:0", receivers: Callable[[], Mapping[str, SenderStats]] = dict
) -> Iterator[tuple[Endpoint, Loop]]:
    config = parse_config(
        f"cluster: {{name: prod}}\nmetrics: {{listen: '{listen}'}}\n", Path("kraftgate.yaml")
    )
    loop = Loop()
    with served_metrics(config, lambda: loop.last, receivers) as metrics:
        assert metrics is not None
        yield metrics.at, loop


def test_openmetrics_is_given_to_whoever_asks_for_it() -> None:
    with listening() as (at, loop):
        loop.last = tick([HYBRID], NOW_MS)
        kind, body = get(at, Accept=OPENMETRICS)
        assert kind.startswith(OPENMETRICS)
        found = samples(body.decode())
        assert found["kraftgate_phase"]["hybrid",] == 1
        assert "kraftgate_process_resident_memory_bytes" in found
        kind, body = get(at)
        assert kind.startswith("text/plain")
        assert "kraftgate_phase" in {each.name for each in plain_families(body.decode())}


def test_it_is_compressed_on_request() -> None:
    with listening() as (at, _):
        _, body = get(at, Accept_Encoding="gzip")
        assert b"kraftgate_build_info" in gzip.decompress(body)


def test_an_ipv6_address_is_an_address() -> None:
    with listening("[::1]:0") as (at, _):
        assert b"kraftgate_build_info" in get(at)[1]


def test_it_listens_on_loopback_unless_it_is_told_otherwise() -> None:
    config = parse_config("cluster: {name: prod}\nmetrics: {}\n", Path("kraftgate.yaml"))
    assert config.metrics is not None
    assert str(config.metrics.listen) == "127.0.0.1:9464"


def test_nothing_listens_when_nothing_is_configured(config_file: Path) -> None:
    config = load_config(config_file)
    before = threading.active_count()
    with served_metrics(config, lambda: None) as metrics:
        assert metrics is None
        assert threading.active_count() == before


def test_silent_connections_keep_nobody_out() -> None:
    """Each one held a thread of `kraftgate run` for as long as it liked."""
    with listening() as (at, loop), ExitStack() as opened:
        loop.last = tick([HYBRID], NOW_MS)
        before = threading.active_count()
        first, *_ = [
            opened.enter_context(closing(socket.create_connection((at.host, at.port), timeout=20)))
            for _ in range(100)
        ]
        assert get(at)[1]
        assert first.recv(1) == b"", "the oldest one made room"
        assert threading.active_count() - before < 100


def test_a_silent_connection_is_closed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(http_server, "HEAD_S_MAX", 0.5)
    with (
        listening() as (at, _),
        closing(socket.create_connection((at.host, at.port), timeout=20)) as one,
    ):
        one.sendall(b"GET /met")
        with pytest.raises(ConnectionResetError):
            one.recv(1)
    assert "Traceback" not in capfd.readouterr().err


def test_it_ends_with_the_block() -> None:
    with listening() as (at, _):
        pass
    with pytest.raises(ConnectionRefusedError), socket.create_connection(at, 5):
        pass
    with listening(str(at)):
        pass


@pytest.fixture
def taken() -> Iterator[Endpoint]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield Endpoint("127.0.0.1", other.getsockname()[1])


def test_a_port_in_use_is_one_clear_error(taken: Endpoint, config_file: Path) -> None:
    config_file.write_text(f"{config_file.read_text()}metrics: {{listen: '{taken}'}}\n")
    done = CliRunner().invoke(main, ["run", "--config", str(config_file)])
    assert done.exit_code == ExitCode.USAGE
    assert done.stderr.splitlines()[-1] == (
        f"{config_file}: `metrics.listen` {taken}: Address already in use: choose another address,"
        " or stop what listens there"
    )


@pytest.mark.parametrize("where", ["192.0.2.1:9464", "no-such-host.invalid:9464"])
def test_an_address_of_another_host_is_the_same(where: str) -> None:
    with pytest.raises(ConfigError, match=where), listening(where):
        pass


def test_a_scrape_has_every_tick_of_run(config_file: Path, store: FakeStore) -> None:
    """Scraped while it runs: its own loop, a fake query and store."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        at = Endpoint("127.0.0.1", other.getsockname()[1])
    config_file.write_text(f"{config_file.read_text()}metrics: {{listen: '{at}'}}\n")
    found: list[float] = []

    def scrape(poll: int) -> None:
        if poll == 2:
            told = samples(get(at, Accept=OPENMETRICS)[1].decode())
            found.append(told["kraftgate_events_total"]["broker_held",])
            stop.set()

    with Stop() as stop:
        query = FakeFollowing(scrape)
        follow_and_show(load_config(config_file), gate(None), stop, query.follow)
    assert found == [1]
    assert store.counts("prod")[0] == 5


def never(seconds: float) -> bool:
    raise AssertionError(f"it waited {seconds} s")


def test_at_the_end_it_waits_for_whoever_scrapes() -> None:
    config = parse_config(
        "cluster: {name: prod}\nmetrics: {listen: '127.0.0.1:0'}\n", Path("kraftgate.yaml")
    )
    loop = Loop()
    with served_metrics(config, lambda: loop.last) as metrics:
        assert metrics is not None
        loop.last = tick([HYBRID], NOW_MS)
        metrics.wait_until_scraped(never)  # nobody scrapes
        get(metrics.at)
        metrics.wait_until_scraped(never)  # this was seen
        loop.last = tick([HYBRID], NOW_MS + 250)
        looks: list[float] = []

        def scrape_at_the_third(seconds: float) -> bool:
            looks.append(seconds)
            if len(looks) == 3:
                get(metrics.at)
            return False

        metrics.wait_until_scraped(scrape_at_the_third)
        assert len(looks) == 3
        loop.last = tick([HYBRID], NOW_MS + 500)
        metrics.wait_until_scraped(lambda _: True)  # Ctrl-C
        metrics.wait_until_scraped(lambda _: False, limit_s=0.01)


def test_nothing_secret_is_told(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    text = (
        "cluster: {name: prod}\ncontrollers:\n  bootstrap: 'c1:9093'\n  security:"
        " {protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN, username: u-kraft,"
        f" password_file: {tmp_path / 'password'}}}\nmetrics: {{listen: '127.0.0.1:0'}}\n"
    )
    config: Config = parse_config(text, tmp_path / "kraftgate.yaml")
    loop = Loop()
    loop.last = tick([HYBRID], NOW_MS)
    with served_metrics(config, lambda: loop.last) as metrics:
        assert metrics is not None
        body = get(metrics.at)[1]
    for secret in (b"hunter2", b"u-kraft", b"password"):
        assert secret not in body


@pytest.mark.prometheus
def test_promtool_finds_nothing_to_mend() -> None:
    code, said = promtool("check", "metrics", stdin=text_format(seen(HYBRID)))
    assert (code, said) == (0, "")
