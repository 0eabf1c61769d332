"""What the commands that ask the cluster print for people, byte for byte, and as prose.

Their answers are those of the commands' own tests. `pytest tests/golden --update-golden` writes the
files again; a commit that does so says why.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from migration.observed.probed import Facts
from migration.observed.znode_codec import ZkController
from orchestrator.cli import preflight, what_if
from orchestrator.cli.program import main
from streams.probe.brokers import BrokerAnswers
from streams.zookeeper.probe import BrokerAddresses
from tests.golden.drive import WIDTH, in_zone
from tests.golden.test_people import FORBIDDEN, ISO, UTC_ALONE
from tests.migration.assessment.checks.cases import CASES, KRAFT, OFFLINE
from tests.migration.assessment.checks.cases import migration as migration_znode
from tests.migration.assessment.checks.clusters import WELL, broker1, no_brokers, topics, zookeeper
from tests.migration.assessment.meta_cases import ID_0, ID_1
from tests.migration.moves.brokers import D0, D1, broker, log_dir
from tests.migration.what_if.situations import D0 as D0_OF_WHAT_IF
from tests.migration.what_if.situations import part, situation
from tests.orchestrator.cli.test_log_dirs import TWO, Brokers
from tests.orchestrator.cli.test_move import Cluster

PRINTED: Final = Path(__file__).with_name("printed")
CONFIG: Final = """cluster: {name: prod}
zookeeper: {connect: 'zk1:2181'}
brokers: {bootstrap: 'b:9000'}
"""
PREFLIGHTS: Final[Mapping[str, Facts]] = {
    "preflight_passed": WELL,
    "preflight_directory_offline": broker1(log_dirs=OFFLINE),
    "preflight_under_way": zookeeper(migration=migration_znode(283), controller=KRAFT),
    "preflight_no_brokers": no_brokers(),
}
KRAFT_SETTINGS: Final = {"process.roles": "broker", "log.dirs": "/m,/d0,/d1"}
NAMES: Final = (
    *PREFLIGHTS,
    "what_if_broker",
    "what_if_directory",
    "log_dirs",
    "move_plan",
    "move_verify",
    "meta_properties",
    "meta_properties_twice",
)


def printed(name: str, folder: Path, patch: pytest.MonkeyPatch) -> str:
    """What a command prints; stderr and the exit code follow where it is not 0."""
    patch.chdir(folder)
    patch.setenv("COLUMNS", str(WIDTH))
    (folder / "kraftgate.yaml").write_text(CONFIG)
    if name.startswith("meta_properties"):  # its columns are as wide as the test's folder
        patch.setenv("COLUMNS", "400")
    text = "".join(_printed(name, folder, patch))
    if str(folder) in text:
        text = re.sub(r"(?<=\S) {2,}", "  ", text.replace(str(folder), "FOLDER"))
    return text


def _printed(name: str, folder: Path, patch: pytest.MonkeyPatch) -> Iterator[str]:
    if name in PREFLIGHTS:
        patch.setattr(preflight, "gather", lambda _: PREFLIGHTS[name])
        yield _said("preflight")
    elif name.startswith("what_if"):
        now = situation(part((1,)), part((1, 2), at=part((1,)).at._replace(number=1)))
        in_kraft = name == "what_if_directory"
        settings: Any = KRAFT_SETTINGS if in_kraft else {"zookeeper.connect": "zk1:2181"}
        found = BrokerAnswers(topics=now.topics, brokers=tuple(now.brokers.values()))
        patch.setattr(what_if, "ask_brokers", lambda *_: found)
        patch.setattr(what_if, "broker_settings", lambda *_: settings)
        led = BrokerAddresses(
            cluster_id="c",
            listeners={},
            controller=ZkController(id=2, kraft_epoch=-1, claimed_ms=0),
        )
        patch.setattr(what_if, "ask_addresses", lambda _: led)
        only = ("--log-dir", D0_OF_WHAT_IF) if in_kraft else ()
        yield _said("what-if", "--broker", "1", *only)
    elif name == "log_dirs":
        made = Brokers(dict(TWO))
        for module in ("streams.probe.asking", "streams.probe.brokers"):
            patch.setattr(f"{module}.Node", made.connect)
        yield _said("log-dirs")
    elif name.startswith("move"):
        yield from _moves(name, patch)
    else:
        yield _said("meta-properties", *_directories(folder, twice=name.endswith("twice")))


def _moves(name: str, patch: pytest.MonkeyPatch) -> Iterator[str]:
    cluster = Cluster(throttle="100")
    cluster.put(
        broker(1, log_dir(D0, {"t-0": 600, "t-1": 200}), log_dir(D1)),
        broker(2, log_dir(D0, {"t-0": 600}), log_dir(D1, {"t-1": 200})),
    )
    cluster.install(patch)
    planned = _said("move", "plan", "--broker", "1", "--drain", D0, "--out", "plan.json")
    yield planned if name == "move_plan" else _said("move", "verify", "plan.json")


def _directories(folder: Path, *, twice: bool) -> Iterator[str]:
    for name, id_ in (("d0", ID_0), ("d1", ID_0 if twice else ID_1)):
        directory = folder / name
        shutil.rmtree(directory, ignore_errors=True)
        (directory / f"orders-{name[1]}").mkdir(parents=True)
        text = f"version=0\nbroker.id=1\ncluster.id=C\ndirectory.id={id_}\n"
        (directory / "meta.properties").write_text(text)
        yield str(directory)


def _said(*arguments: str) -> str:
    done = CliRunner().invoke(main, list(arguments))
    failed = f"--- exit code {done.exit_code}\n{done.stderr}" if done.exit_code else ""
    return done.stdout + failed


@pytest.mark.parametrize("name", NAMES)
def test_a_command_prints_what_it_printed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, update_golden: bool
) -> None:
    with in_zone(monkeypatch):
        text = printed(name, tmp_path, monkeypatch)
    file = PRINTED / f"{name}.txt"
    if update_golden:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8"), "if that is meant: pytest tests/golden --update-golden"
    require_prose(text)


def test_every_printed_file_is_compared(*, update_golden: bool) -> None:
    if update_golden:
        pytest.skip("the files are being written")
    assert {each.stem for each in PRINTED.iterdir()} == set(NAMES)


def test_preflight_names_every_fact_as_json_and_counts_the_rest_for_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kraftgate.yaml").write_text(CONFIG)
    one = part((1, 2), isr=(1,))
    parts = tuple(replace(one, at=one.at._replace(number=n)) for n in range(1000))
    monkeypatch.setattr(preflight, "gather", lambda _: topics(partitions=parts))
    found = json.loads(_said("preflight", "--json").partition("--- exit code")[0])
    check = next(each for each in found["checks"] if each["id"] == "under-replicated")
    assert (len(check["evidence"]), check["evidence_total"]) == (1000, 1000)
    assert "    - and 981 more" in _said("preflight")


@pytest.mark.slow
def test_no_result_of_preflight_has_what_people_do_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kraftgate.yaml").write_text(CONFIG)
    for facts in {id(each.facts): each.facts for each in CASES}.values():
        monkeypatch.setattr(preflight, "gather", lambda _, facts=facts: facts)
        text = _said("preflight")
        require_prose(text)
        assert "prod  preflight: " in text, text


def require_prose(text: str) -> None:
    """Require that a text for people has no digests, ms since 1970, levels and bare UTC times."""
    for what, pattern in FORBIDDEN.items():
        found = re.search(pattern, text)
        assert found is None, f"{what}: {found and found[0]}"
    assert ISO.search(text) is None
    assert UTC_ALONE.search(text) is None
    assert "Traceback" not in text
