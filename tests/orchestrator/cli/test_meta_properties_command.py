"""`kraftgate meta-properties`: what it prints, and its exit codes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli import meta_properties as module
from orchestrator.cli.program import main
from tests.migration.assessment.meta_cases import ID_0, ID_1


def ask(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["meta-properties", *map(str, arguments)])


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two consistent directories of a broker in migration mode."""
    made = [tmp_path / "d0", tmp_path / "d1"]
    for number, (folder, id_) in enumerate(zip(made, (ID_0, ID_1), strict=True)):
        (folder / f"orders-{number}").mkdir(parents=True)
        text = f"version=0\nbroker.id=1\ncluster.id=C\ndirectory.id={id_}\n"
        (folder / "meta.properties").write_text(text)
    return made


def test_consistent_files(folders: list[Path]) -> None:
    found = ask(*folders, "--cluster-id", "C", "--node-id", 1)
    assert found.exit_code == 0, found.output
    assert found.output.count("mode: starts") == 3
    assert ID_0 in found.output


def test_a_file_names_its_directory(folders: list[Path]) -> None:
    assert ask(folders[0] / "meta.properties", folders[1]).exit_code == 0


def test_a_duplicate_id_blocks(folders: list[Path]) -> None:
    """KIP-858, "Broker lifecycle management": the broker fails at startup."""
    text = (folders[0] / "meta.properties").read_text()
    (folders[1] / "meta.properties").write_text(text)
    found = ask(*folders, "--json")
    assert found.exit_code == 5
    document = json.loads(found.stdout)
    assert [each["faults"][0]["kind"] for each in document["directories"]] == [
        "duplicate_directory_id"
    ] * 2
    assert {each["mode"]: each["safe"] for each in document["starts"]} == {
        "zookeeper": False,
        "migrating": False,
        "kraft": False,
    }
    assert "Duplicate directory ID" in document["starts"][0]["refusal"]


def test_a_partition_with_two_logs_blocks(folders: list[Path]) -> None:
    """LogManager.loadLog ends the start; logs that move, or wait for their deletion, may remain."""
    for suffix in ("future", "delete", "stray"):
        (folders[1] / f"orders-0.0123456789abcdef-{suffix}").mkdir()
    assert ask(*folders).exit_code == 0
    (folders[1] / "orders-0").mkdir()
    found = ask(*folders)
    assert found.exit_code == 5
    fault = "has logs of partitions that another directory has, too: orders-0"
    for folder in folders:
        assert f"{folder}: {fault}" in found.output
    refusal = "refuses to start: Duplicate log directories for orders-0 are found in both"
    assert found.output.count(refusal) == 3
    rows = json.loads(ask(*folders, "--json").stdout)["directories"]
    assert [(each["partitions"], each["faults"][0]["kind"]) for each in rows] == [
        (1, "duplicate_log"),
        (2, "duplicate_log"),
    ]


def test_the_mode_decides(folders: list[Path]) -> None:
    (folders[1] / "meta.properties").unlink()
    assert ask(*folders).exit_code == 5
    assert ask(*folders, "--mode", "migrating").exit_code == 0  # its partition stays
    found = ask(*folders, "--mode", "kraft")
    assert found.exit_code == 5
    assert "No `meta.properties` found in" in found.output


def test_a_kraft_brokers_files_count_in_kraft_mode_only(folders: list[Path]) -> None:
    for folder, id_ in zip(folders, (ID_0, ID_1), strict=True):
        text = f"version=1\nnode.id=1\ncluster.id=C\ndirectory.id={id_}\n"
        (folder / "meta.properties").write_text(text)
    found = ask(*folders)
    assert found.exit_code == 0
    assert "zookeeper mode: refuses to start: Found unexpected version" in found.output
    assert ask(*folders, "--mode", "zookeeper").exit_code == 5


def test_the_metadata_log_lies_in_its_directory(folders: list[Path]) -> None:
    """KIP-858, "Motivation": a node cannot run without its metadata log directory."""
    (folders[1] / "__cluster_metadata-0").mkdir()
    assert ask(*folders, "--mode", "kraft").exit_code == 5
    assert ask(*folders, "--mode", "kraft", "--metadata-log-dir", folders[1]).exit_code == 0


def test_a_path_is_compared_as_it_is_spelled(folders: list[Path]) -> None:
    """MetaPropertiesEnsemble.verify: the text of metadata.log.dir and its entry in log.dirs."""
    assert ask(f"{folders[0]}/", folders[1], "--mode", "kraft").exit_code == 0
    found = ask(*folders, "--metadata-log-dir", f"{folders[1]}/")
    assert found.exit_code == 5
    assert "zookeeper mode: starts" in found.output
    refusal = f"It was the ID of {folders[1]}, but also of {folders[1]}/"
    assert found.output.count(refusal) == 2
    assert f"{folders[1]}: is also {folders[1]}/: " in found.output
    assert ask(*folders, f"{folders[1]}/", "--mode", "zookeeper").exit_code == 5


def test_a_relative_path_is_made_absolute(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders[0].parent)
    rows = json.loads(ask("d0", "d1/meta.properties", "--json").stdout)["directories"]
    assert [each["path"] for each in rows] == list(map(str, folders))


@pytest.fixture
def controller(tmp_path: Path) -> Path:
    """The metadata log directory of a controller, with the static quorum's state."""
    log = tmp_path / "metadata" / "__cluster_metadata-0"
    log.mkdir(parents=True)
    state = {"currentVoters": [{"voterId": 3000}], "data_version": 0}
    (log / "quorum-state").write_text(json.dumps(state))
    text = f"version=1\nnode.id=3000\ncluster.id=C\ndirectory.id={ID_0}\n"
    (log.parent / "meta.properties").write_text(text)
    return log.parent


def test_a_controller_is_known_by_its_quorum_state(controller: Path, folders: list[Path]) -> None:
    found = ask(controller, "--cluster-id", "C")
    assert found.exit_code == 0, found.output
    assert "controller, kraft mode: starts" in found.output
    assert found.output.count(" mode: ") == 1
    document = json.loads(ask(controller, "--json").stdout)
    assert (document["role"], [each["mode"] for each in document["starts"]]) == (
        "controller",
        ["kraft"],
    )
    assert json.loads(ask(*folders, "--json").stdout)["role"] == "broker"


def test_a_controller_with_partitions_is_a_combined_node(controller: Path) -> None:
    (controller / "orders-0").mkdir()
    assert "combined node, kraft mode: starts" in ask(controller).output


def test_a_controller_of_another_cluster_is_at_risk(controller: Path) -> None:
    found = ask(controller, "--cluster-id", "D")
    assert found.exit_code == 5
    assert "puts metadata at risk in mode kraft" in found.output
    assert "before the controller starts" in found.output


@pytest.mark.parametrize("state", ["", "[]", "{}", '{"currentVoters": [{"voterId": "x"}]}'])
def test_a_role_that_is_not_shown_is_passed(controller: Path, state: str) -> None:
    """As in a dynamic quorum, or with a damaged quorum-state."""
    (controller / "__cluster_metadata-0" / "quorum-state").write_text(state)
    assert json.loads(ask(controller, "--json").stdout)["role"] == "broker"
    found = ask(controller, "--role", "controller")
    assert (found.exit_code, "controller, kraft mode: starts" in found.output) == (0, True)


def test_a_formatted_controller_has_no_metadata_log(controller: Path) -> None:
    log = controller / "__cluster_metadata-0"
    (log / "quorum-state").unlink()
    log.rmdir()
    found = ask(controller, "--role", "controller")
    assert found.exit_code == 5
    assert "begins with an empty metadata log" in found.output


def test_bad_usage(folders: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch()
    for arguments, text in (
        ((), "Missing argument"),
        ((tmp_path / "none",), "does not exist"),
        ((other,), "is neither a directory nor a meta.properties"),
        ((folders[0], folders[0]), "a directory is named twice"),
        ((folders[0], "--metadata-log-dir", folders[1]), "is not among the directories"),
        (
            (folders[0], "--role", "controller", "--mode", "migrating"),
            "a controller starts in KRaft mode only",
        ),
    ):
        found = ask(*arguments)
        assert found.exit_code == 2, found.output
        assert text in found.output.replace("\n", " ")


def test_a_directory_that_cannot_be_read(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module, "read_meta", broken)
    found = ask(*folders)
    assert found.exit_code == 1
    assert f"{folders[0]}: cannot read it: Input/output error" in found.output.replace("\n", "")


def test_names_from_files_reach_the_terminal_as_text(folders: list[Path]) -> None:
    text = f"broker.id=1\ncluster.id=[red]\\u001b[31mC\ndirectory.id={ID_0}\n"
    (folders[0] / "meta.properties").write_text(text)
    assert "\x1b[31m" not in ask(folders[0]).output
