"""`kraftgate init`: the files that it writes can be read back, and what it refuses."""

from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from migration.observed.probed import Unknown
from orchestrator.cli import init as init_module
from orchestrator.cli.init import config_text, hooks_text
from orchestrator.cli.program import main
from orchestrator.config.load import parse_config
from orchestrator.errors import ExitCode, RunbookError
from orchestrator.runbook.hooks_file import load_hooks
from orchestrator.runbook.load import load
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.probe import BrokerAddresses

PLAIN = ("b1:9092", "b2:9092")
SECURED = ("b1:9093", "b2:9093")
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)


def found(**listeners: tuple[str, ...]) -> BrokerAddresses:
    return BrokerAddresses(cluster_id="4L6g3nShT-eMCtK--X86sw", listeners=listeners)


@pytest.mark.parametrize("controllers", [None, "c1:9093,c2:9093"])
@given(NAMES)
def test_the_configuration_can_be_read(controllers: str | None, name: str) -> None:
    text = config_text(name, "zk1:2181/kafka", found(SSL=SECURED, PLAINTEXT=PLAIN), controllers)
    (entry,) = parse_config(text, Path("kraftgate.yaml")).clusters
    assert (entry.name, entry.id) == (name, "4L6g3nShT-eMCtK--X86sw")
    assert entry.brokers is not None
    assert [f"{host}:{port}" for host, port in entry.brokers.bootstrap] == list(PLAIN)
    assert (entry.controllers is None) is (controllers is None)
    assert entry.runbook is not None


HOSTILE = st.text(st.sampled_from("ab1:,/ \"'{}[]#\\\n\t\r\x1b\x85\u2028%&*!|>-é"), min_size=1)


@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
def test_nothing_that_was_typed_or_read_becomes_yaml(
    name: str, zookeeper: str, broker: str, controllers: str
) -> None:
    text = config_text(name, zookeeper, found(PLAINTEXT=(broker,)), controllers)
    read = yaml.safe_load(text)
    assert read["cluster"] == {"name": name, "id": "4L6g3nShT-eMCtK--X86sw"}
    assert read["zookeeper"] == {"connect": zookeeper}
    assert read["brokers"] == {"bootstrap": broker}
    assert read["controllers"] == {"bootstrap": controllers}
    assert set(read) == {"cluster", "zookeeper", "brokers", "controllers", "state_dir", "runbook"}
    assert len(text.splitlines()) == len(
        config_text("a", "b", found(PLAINTEXT=PLAIN), "c").splitlines()
    )
    secured = yaml.safe_load(config_text(name, zookeeper, found(**{broker: SECURED}), None))
    assert secured["brokers"]["security"]["protocol"] == broker
    hooks = hooks_text(found(PLAINTEXT=PLAIN), controllers)
    assert yaml.safe_load(hooks) == yaml.safe_load(hooks_text(found(PLAINTEXT=PLAIN), "c1:9093"))


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL", "SASL_PLAINTEXT"])
def test_a_secured_cluster_gets_its_protocol(protocol: str, tmp_path: Path) -> None:
    (tmp_path / "kafka-password").write_text("secret")
    text = config_text("prod", "zk1:2181", found(**{protocol: SECURED}), None)
    (entry,) = parse_config(text, tmp_path / "kraftgate.yaml").clusters
    assert entry.brokers is not None
    assert entry.brokers.security.protocol == protocol


def test_a_file_of_hooks_without_a_step_is_refused_and_with_one_can_be_used(tmp_path: Path) -> None:
    file = tmp_path / "hooks.yaml"
    book = load("zk-to-kraft-jbod").runbook
    text = hooks_text(found(PLAINTEXT=PLAIN), None)
    file.write_text(text.replace("  # enter-kraft:", "  enter-kraft:"), "utf-8")
    hooks = load_hooks(file, book)
    values = {"host": "b1", "broker": "1"}
    assert hooks.argv("enter-kraft", values) == ["./enter-kraft", "b1", "1"]
    assert hooks.check_argv("enter-kraft", values) == ["ssh", "-oBatchMode=yes", "b1", "true"]
    file.write_text(text, "utf-8")
    with pytest.raises(RunbookError, match="`steps`"):
        load_hooks(file, book)


def test_the_file_of_hooks_names_the_hosts_and_nothing_of_them_is_a_line() -> None:
    known = BrokerAddresses(cluster_id=None, listeners={}, hosts={1: "b1", 20: "b2\nsteps:"})
    text = hooks_text(known, "c1:9093,c2:9093")
    assert "#   1 on b1, 20 on b2\\nsteps:\n" in text
    assert "# {controllers} is c1:9093,c2:9093\n" in text
    assert "# {controllers} is not known yet: add `controllers`" in hooks_text(known, None)
    assert all(
        line.startswith(("#", "  #", "hooks", "explain", "steps"))
        for line in text.split("\n")
        if line
    )


def test_without_a_terminal_what_is_missing_is_named(tmp_path: Path) -> None:
    file = tmp_path / "kraftgate.yaml"
    done = CliRunner().invoke(main, ["init", "--config", str(file)])
    assert (done.exit_code, file.exists()) == (ExitCode.USAGE, False)
    assert "add --zookeeper" in done.output


def test_what_exists_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "hooks.yaml").write_text("mine")
    file = tmp_path / "kraftgate.yaml"
    done = CliRunner().invoke(main, ["init", "--config", str(file), "--zookeeper", "127.0.0.1:1"])
    assert (done.exit_code, file.exists()) == (ExitCode.USAGE, False)
    assert (tmp_path / "hooks.yaml").read_text() == "mine"


@pytest.mark.slow
def test_an_ensemble_that_does_not_answer_leaves_no_file(tmp_path: Path) -> None:
    file = tmp_path / "kraftgate.yaml"
    done = CliRunner().invoke(main, ["init", "--config", str(file), "--zookeeper", "127.0.0.1:1"])
    assert (done.exit_code, list(tmp_path.iterdir())) == (ExitCode.NO_DATA, [])
    assert "nothing was written" in done.output


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("--zookeeper", "zk1:abc", "'zk1:abc' has no port from 1 to 65535"),
        ("--zookeeper", "zk1:2181 zk2", "'zk1:2181 zk2' has no port from 1 to 65535"),
        ("--zookeeper", ",", "has an empty entry: write host:port"),
        ("--zookeeper", "zk1:99999999", "'zk1:99999999' has no port from 1 to 65535"),
        ("--zookeeper", "[::1", "'[::1' is no address: write an IPv6 one like [::1]:9093"),
        ("--zookeeper", "zk1:2181/", "ends in '/', which is no path: write it like /kafka"),
        ("--name", "my cluster", "'my cluster' cannot name a cluster: up to 64 letters"),
        ("--controllers", "c1", "'c1' has no port: write host:port"),
        ("--controllers", "c1:9093,c1:9093", "names c1:9093 twice: remove one"),
    ],
)
def test_a_value_that_the_configuration_cannot_have_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str, value: str, why: str
) -> None:
    """The corrected command would refuse a file that exists."""
    monkeypatch.delattr(init_module, "ask_addresses")
    file = tmp_path / "kraftgate.yaml"
    words = {"--zookeeper": "zk1:2181", "--name": "prod", "--config": str(file), option: value}
    done = CliRunner().invoke(main, ["init", *(word for pair in words.items() for word in pair)])
    assert (done.exit_code, list(tmp_path.iterdir())) == (ExitCode.USAGE, [])
    assert done.stderr.splitlines()[-1].startswith(f"Error: {option}: {why}")


def test_spaces_between_addresses_are_no_part_of_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    def ask(ensemble: Ensemble) -> Unknown:
        asked.append(ensemble.connect)
        return Unknown("nobody answers")

    monkeypatch.setattr(init_module, "ask_addresses", ask)
    file = tmp_path / "kraftgate.yaml"
    given = ["init", "--config", str(file), "--zookeeper", "zk1:2181, [::1]:2182/kafka"]
    assert CliRunner().invoke(main, given).exit_code == ExitCode.NO_DATA
    assert asked == ["zk1:2181,[::1]:2182/kafka"]


def test_an_address_of_a_broker_that_the_configuration_cannot_have_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(init_module, "ask_addresses", lambda _: found(PLAINTEXT=("b1:0", "b2:9")))
    file = tmp_path / "kraftgate.yaml"
    given = ["init", "--config", str(file), "--zookeeper", "zk1:2181", "--name", "prod"]
    done = CliRunner().invoke(main, given)
    assert (done.exit_code, list(tmp_path.iterdir())) == (ExitCode.USAGE, [])
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"kraftgate: nothing was written: {file}:5: `brokers.bootstrap`: 'b1:0'")


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_SSL"])
def test_the_files_of_a_login_need_not_be_there_yet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, protocol: str
) -> None:
    monkeypatch.setattr(init_module, "ask_addresses", lambda _: found(**{protocol: SECURED}))
    file = tmp_path / "kraftgate.yaml"
    given = ["init", "--config", str(file), "--zookeeper", "zk1:2181", "--name", "prod"]
    monkeypatch.setattr(
        init_module, "preflight", click.Command("preflight", callback=lambda **_: 0)
    )
    done = CliRunner().invoke(main, given)
    assert done.exit_code == ExitCode.DONE, done.output
    assert file.is_file()


def test_a_file_that_cannot_be_written_leaves_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The next attempt would refuse a file that exists."""
    monkeypatch.setattr(init_module, "ask_addresses", lambda _: found(PLAINTEXT=PLAIN))
    hooks = tmp_path / "hooks.yaml"
    hooks.symlink_to(tmp_path / "gone" / "hooks.yaml")
    file = tmp_path / "kraftgate.yaml"
    given = ["init", "--config", str(file), "--zookeeper", "zk1:2181", "--name", "prod"]
    done = CliRunner().invoke(main, given)
    assert (done.exit_code, list(tmp_path.iterdir())) == (ExitCode.USAGE, [hooks])
    assert f"cannot write {hooks}: " in done.output
