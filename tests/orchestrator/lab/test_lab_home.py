"""A lab's home: claimed once, cleared only when it is an ended lab's."""

from pathlib import Path

import pytest
import yaml

from orchestrator.lab.errors import LabError
from orchestrator.lab.machine.home import claim_home, clear_home, write_config


def test_an_absent_or_empty_directory_is_claimed(tmp_path: Path) -> None:
    claim_home(tmp_path / "new" / "home").close()
    claim_home(tmp_path / "new" / "home2").close()


def test_a_used_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(LabError, match="not empty"):
        claim_home(tmp_path)


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match="cannot be used"):
        claim_home(tmp_path / "file")


@pytest.mark.parametrize("name", ["a,b", "a\nb", "a\rb"])
def test_a_path_that_kafka_would_read_as_another_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(LabError, match="a comma or a line end") as raised:
        claim_home(tmp_path / name / "home")
    assert raised.value.where == str(tmp_path / name / "home")
    assert "--home" in raised.value.fix
    assert not (tmp_path / name).exists()


def test_an_ended_labs_home_is_cleared(tmp_path: Path) -> None:
    home = tmp_path / "home"
    claim_home(home).close()
    (home / "data").mkdir()
    clear_home(home)
    claim_home(home).close()


def test_a_link_to_an_ended_labs_home_still_names_one_after_it_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "home")
    claim_home(tmp_path / "home").close()
    (tmp_path / "home" / "data").mkdir()
    clear_home(tmp_path / "link")
    assert not list((tmp_path / "home").iterdir())
    claim_home(tmp_path / "link").close()
    assert (tmp_path / "link").is_symlink()


def test_a_running_labs_home_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with claim_home(home), pytest.raises(LabError, match="a lab runs in this home"):
        clear_home(home)
    assert home.exists()


def test_what_is_no_labs_home_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(LabError, match="not a lab's home"):
        clear_home(tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_the_config_has_the_keys_of_the_contract(tmp_path: Path) -> None:
    path = write_config(
        tmp_path,
        cluster_id="abc",
        zookeeper="z:1/k",
        controllers="c:1",
        brokers="b:1,b:2",
        jmx_exporters={1: "http://b:7071/metrics"},
    )
    assert yaml.safe_load(path.read_text()) == {
        "cluster": {"name": "lab", "id": "abc"},
        "zookeeper": {"connect": "z:1/k"},
        "controllers": {"bootstrap": "c:1"},
        "brokers": {"bootstrap": "b:1,b:2"},
        "jmx": {"exporters": {"1": "http://b:7071/metrics"}},
        "state_dir": str(tmp_path / "kraftgate-state"),
    }


def test_without_zookeeper_the_config_has_no_word_of_it(tmp_path: Path) -> None:
    path = write_config(
        tmp_path, cluster_id="abc", zookeeper=None, controllers="c:1", brokers="", jmx_exporters={}
    )
    assert set(yaml.safe_load(path.read_text())) == {"cluster", "controllers", "state_dir"}
