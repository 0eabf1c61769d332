"""The console in `kraftgate run`: it shows each tick of the loop, and ends with it."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from orchestrator.cli import run as command
from orchestrator.cli.program import main
from orchestrator.cli.run import follow_and_show
from orchestrator.config.load import Config, load_config, parse_config
from orchestrator.config.models import ConsoleAddress
from orchestrator.errors import ConfigError, ExitCode, KraftgateError
from orchestrator.views.console.web.serving import served as console_served
from orchestrator.views.terminal.live import Stop
from tests.orchestrator.run.test_run import gate
from tests.orchestrator.views.console.conftest import Start
from tests.orchestrator.views.console.reading import valid, watching
from tests.support.fake_store import FakeFollowing, FakeStore
from tests.support.small_volume import mounted

CLUSTER = "cluster: {name: prod}\n"


def with_console(config_file: Path, listen: str) -> Path:
    config_file.write_text(f"{config_file.read_text()}console: {{listen: '{listen}'}}\n")
    return config_file


@pytest.fixture
def free() -> str:
    with socket.create_server(("127.0.0.1", 0)) as other:
        return f"127.0.0.1:{other.getsockname()[1]}"


def test_it_shows_what_the_loop_looks_at_and_ends_with_it(
    config_file: Path, store: FakeStore, free: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By Ctrl-C, with a page open."""
    found: list[str] = []
    ended = threading.Event()

    def watch() -> None:
        with (
            httpx.Client(base_url=f"http://{free}", timeout=20) as http,
            http.stream("GET", "/api/stream") as answer,
        ):
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    found.append(line)
                if "hybrid" in line:
                    os.kill(os.getpid(), signal.SIGINT)
        ended.set()

    tab = threading.Thread(target=watch)

    def open_tab(poll: int) -> None:
        if poll == 1:
            tab.start()

    with Stop() as stop:
        query = FakeFollowing(open_tab)
        config = load_config(with_console(config_file, free))
        follow_and_show(config, gate(None), stop, query.follow)
    assert ended.wait(60)
    tab.join()
    assert query.stopped
    assert found[-1] == "event: end"
    assert not [each.name for each in threading.enumerate() if "console" in each.name]
    said = capsys.readouterr().err
    place = config.state_dir / f"console-{free.partition(':')[2]}.token"
    assert f"console at http://{free}/" in said
    assert str(place) in said
    assert store.summaries["prod"].phase == "hybrid"


def test_the_flag_serves_it_where_the_configuration_does_not_name_it(
    config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[ConsoleAddress | None] = []

    def follow(config: Config, *_: object, **__: object) -> None:
        wanted.append(config.console)

    monkeypatch.setattr(command, "follow_and_show", follow)
    for words in (["--console"], []):
        result = CliRunner().invoke(main, ["run", *words, "--config", str(config_file)])
        assert result.exit_code == ExitCode.DONE, result.output
    with_console(config_file, "127.0.0.1:9999")
    CliRunner().invoke(main, ["run", "--console", "--config", str(config_file)])
    assert [each and str(each.listen) for each in wanted] == [
        "127.0.0.1:8464",
        None,
        "127.0.0.1:9999",
    ]


def test_it_does_not_belong_to_a_dry_run(config_file: Path) -> None:
    words = ["run", "--console", "--dry-run", "--config", str(config_file)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == ExitCode.USAGE
    assert "--dry-run only prints" in result.output


def test_nothing_listens_when_nothing_is_wanted(config_file: Path, store: FakeStore) -> None:
    names: list[str] = []

    def once(_: int) -> None:
        names.extend(each.name for each in threading.enumerate())
        stop.set()

    with Stop() as stop:
        follow_and_show(load_config(config_file), gate(None), stop, FakeFollowing(once).follow)
    assert not [each for each in names if "console" in each]
    assert store.summaries


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield f"127.0.0.1:{other.getsockname()[1]}"


def test_a_port_in_use_is_one_clear_error(taken: str, config_file: Path) -> None:
    with_console(config_file, taken)
    done = CliRunner().invoke(main, ["run", "--config", str(config_file)])
    assert done.exit_code == ExitCode.USAGE
    assert done.stderr.splitlines()[-1] == (
        f"{config_file}: `console.listen` {taken}: Address already in use: choose another address,"
        " or stop what listens there"
    )
    assert not list(config_file.parent.glob("state/*.token"))


@pytest.mark.parametrize("where", ["192.0.2.1:8464", "no-such-host.invalid:8464"])
def test_an_address_of_another_host_is_the_same(config_file: Path, where: str) -> None:
    config = load_config(with_console(config_file, where))
    assert config.console is not None
    with pytest.raises(ConfigError, match=where), console_served(config, config.console):
        pass


def test_a_state_directory_that_cannot_be_written_is_one_too(config_file: Path) -> None:
    config = load_config(with_console(config_file, "127.0.0.1:0"))
    config = replace(config, state_dir=config_file / "no-directory")
    assert config.console is not None
    with (
        pytest.raises(ConfigError, match=r"the console's token: .*: set another directory"),
        console_served(config, config.console),
    ):
        pass


def test_a_full_disk_is_no_wrong_configuration(config_file: Path) -> None:
    """After which systemd would not start Kraftgate again; it leaves no empty file."""
    config = load_config(with_console(config_file, "127.0.0.1:0"))
    assert config.console is not None
    with mounted(config.state_dir, size_mb=1):
        with (config.state_dir / "rest").open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        with (
            pytest.raises(KraftgateError, match=r"the console's token: .*: free space") as raised,
            console_served(config, config.console),
        ):
            pass
        assert [each.name for each in config.state_dir.iterdir()] == ["rest"]
    assert raised.value.code is ExitCode.FAILED


def test_it_listens_on_loopback_unless_it_is_told_otherwise() -> None:
    config = parse_config(f"{CLUSTER}console: {{}}\n", Path("kraftgate.yaml"))
    assert config.console is not None
    assert str(config.console.listen) == "127.0.0.1:8464"


@pytest.mark.parametrize("key", ["hosts: ['http://x']", "hosts: ['x:1']", "token: secret"])
def test_what_the_configuration_may_not_say(key: str) -> None:
    text = f"{CLUSTER}console: {{{key}}}\n"
    with pytest.raises(ConfigError, match=r"kraftgate\.yaml:2"):
        parse_config(text, Path("kraftgate.yaml"))


def test_an_ipv6_address_is_an_address(start: Start) -> None:
    served = start(console="{listen: '[::1]:0'}")
    assert served.url.startswith("http://[::1]:")
    with watching(served) as page:
        assert page.next().event == "state"


def test_the_published_schema_is_the_one_that_answers_are_checked_by(start: Start) -> None:
    from orchestrator.api.console.answers import SHAPES, schema

    served = start()
    with httpx.Client(base_url=served.url, timeout=20) as http:
        answer = http.get("/api/schema")
    assert answer.headers["content-type"] == "application/schema+json"
    assert answer.json() == schema()
    assert {each.__name__ for each in SHAPES} <= set(answer.json()["$defs"])
    with pytest.raises(AssertionError):
        valid("Beat", {"at_ms": 1, "looked_ms": "now"})


def test_the_page_is_served_with_its_parts(start: Start) -> None:
    served = start()
    with httpx.Client(base_url=served.url, timeout=20) as http:
        assert http.get("/").headers["content-type"] == "text/html; charset=utf-8"
        assert http.get("/static/index.html").text == http.get("/").text
