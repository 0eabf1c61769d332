"""What executors get and check; `tests/system/test_standalone.py` has real ones."""

import tarfile
from pathlib import Path

import pytest

from streams.spark.executors import _problem, write_archive
from streams.spark.session import CannotDeploy, _require_secret
from streams.spark.settings import Deployment
from streams.state.files import try_lock

WORD = "word"
SETTINGS = {"spark.authenticate": "true"}


@pytest.mark.slow
def test_the_archive_has_the_packages_and_not_spark(tmp_path: Path) -> None:
    write_archive(tmp_path / "packages.tar")
    with tarfile.open(tmp_path / "packages.tar") as archive:
        names = {Path(each).parts for each in archive.getnames()}
    packages = {each[0] for each in names}
    assert {"migration", "streams", "numpy", "pyarrow", "pydantic", "kio"} <= packages
    assert not packages & {"pyspark", "py4j", "orchestrator", "pytest", ".."}
    assert ("streams", "spark", "log4j2.properties") in names


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert _problem(tmp_path / "absent", WORD, 0) == "there is no such directory"


def test_a_file_of_before_is_named(tmp_path: Path) -> None:
    (tmp_path / "driver").write_text("another")
    assert _problem(tmp_path, WORD, 0) == "it reads an old version of a file"


def test_a_lock_that_is_not_seen_is_named(tmp_path: Path) -> None:
    (tmp_path / "driver").write_text(WORD)
    assert _problem(tmp_path, WORD, 0) == "it gets a lock that the driver holds"


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "driver").write_text(WORD)
    with (tmp_path / "driver").open("rb") as held:
        try_lock(held.fileno())
        assert _problem(tmp_path, WORD, 0) is None
        assert (tmp_path / "0").read_text() == WORD
        (tmp_path / "1").mkdir()
        assert "Is a directory" in str(_problem(tmp_path, WORD, 1))


@pytest.mark.parametrize(
    ("master", "settings", "deployment"),
    [
        ("spark://s1:7077", {"spark.authenticate": "false"}, Deployment()),
        ("spark://s1:7077", SETTINGS, Deployment(secret_file=Path("secret"))),
        ("spark://s1:7077", SETTINGS | {"spark.authenticate.secret": "x"}, Deployment()),
        ("yarn", SETTINGS, Deployment()),
    ],
)
def test_a_cluster_with_a_secret_or_without_need_of_one_is_used(
    master: str, settings: dict[str, str], deployment: Deployment
) -> None:
    _require_secret(master, settings, deployment)


def test_a_standalone_cluster_needs_its_secret() -> None:
    with pytest.raises(CannotDeploy, match=r"name its file in `run\.spark\.secret_file`"):
        _require_secret("spark://s1:7077", SETTINGS, Deployment())
