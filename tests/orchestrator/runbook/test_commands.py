"""`kraftgate runbook`: what a person types and reads, and its exit codes."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.program import main
from orchestrator.config.load import parse_config
from orchestrator.runbook.load import shipped
from tests.orchestrator.runbook.texts import RIGHT, changed
from tests.support.small_volume import mounted


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["runbook", *arguments])
    return result.exit_code, result.output


def test_the_shipped_ones_are_listed_and_shown_by_name() -> None:
    code, listed = run("list")
    assert code == 0
    assert [line.split("\t")[0] for line in listed.splitlines()] == sorted(shipped())
    for name in shipped():
        code, shown = run("show", name)
        assert code == 0
        assert shown.startswith("# ")


def test_lists_and_checks_are_json_too(tmp_path: Path) -> None:
    code, listed = run("list", "--json")
    assert code == 0
    assert [each["name"] for each in json.loads(listed)["runbooks"]] == sorted(shipped())
    file = tmp_path / "night.yaml"
    file.write_text(RIGHT, "utf-8")
    code, checked = run("check", str(file), "--json")
    assert (code, json.loads(checked)["name"]) == (0, "night")


def test_a_copy_is_the_bundled_file_and_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    code, said = run("copy", "disk-replacement", str(file))
    assert (code, file.read_bytes()) == (0, shipped()["disk-replacement"].read_bytes())
    assert f"runbook: {{file: {file}}}" in said
    assert "in kraftgate.yaml, and another `name` in the copy" in said
    assert run("check", str(file))[0] == 0
    file.write_text("mine", "utf-8")
    code, said = run("copy", "kraft-jbod", str(file))
    assert (code, file.read_text("utf-8")) == (2, "mine")
    assert "File exists" in said
    code, said = run("copy", "disk-replacment")
    assert code == 2
    assert "did you mean `disk-replacement`?" in said


def test_a_copy_that_cannot_be_written_leaves_no_part_of_it(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", size_mb=1):
        with (tmp_path / "small" / "rest").open("wb", buffering=0) as rest, suppress(OSError):
            while True:
                rest.write(bytes(4096))
        file = tmp_path / "small" / "ours.yaml"
        code, said = run("copy", "disk-replacement", str(file))
        assert (code, file.exists()) == (1, False)
        assert said == f"kraftgate: cannot write {file}: No space left on device\n"


def test_a_cluster_needs_its_configuration() -> None:
    code, said = run("show", "--cluster", "nope")
    assert code == 2
    assert "--cluster needs the configuration of the cluster: add --config" in said


@pytest.mark.parametrize("name", ["night", "night.yaml"])
def test_a_copy_is_named_as_the_configuration_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    code, said = run("copy", "disk-replacement", name)
    _, _, key = said.partition("`")
    text = f"cluster: {{name: prod}}\n{key.partition('`')[0]}\n"
    config = parse_config(text, tmp_path / "etc" / "kraftgate.yaml")
    assert code == 0
    assert config.clusters[0].runbook is not None
    assert config.clusters[0].runbook.file == tmp_path / "here" / name


def test_the_migration_is_shown_when_nothing_is_named() -> None:
    assert run("show") == run("show", "zk-to-kraft-jbod")


def test_a_file_is_checked_where_it_lies(tmp_path: Path) -> None:
    file = tmp_path / "night.yaml"
    file.write_text(RIGHT, "utf-8")
    assert run("check", str(file)) == (
        0,
        f"{file}: night is valid (3 checkpoints, 1 rollbacks)\n",
    )


def test_a_wrong_file_ends_with_2_and_every_line(tmp_path: Path) -> None:
    file = tmp_path / "night.yaml"
    file.write_text(changed("rollback: back", "rollback: bak"), "utf-8")
    code, said = run("check", str(file))
    assert code == 2
    assert [line.split(": ")[0] for line in said.splitlines()] == [f"{file}:22", f"{file}:34"]


def test_the_schema_is_printed() -> None:
    code, printed = run("schema")
    assert code == 0
    assert json.loads(printed)["$id"] == "urn:kraftgate:runbook:1"


def test_an_unknown_name_ends_with_2() -> None:
    code, said = run("show", "zk-to-kraft")
    assert code == 2
    assert said.startswith("there is no runbook `zk-to-kraft`; did you mean `zk-to-kraft-jbod`?")
