"""The options with which Spark starts its JVM on this machine."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from streams.spark.session import _on_this_machine


def _options(state_dir: Path) -> list[str]:
    settings = _on_this_machine(Path("/tmp/scratch"), state_dir / "spark.log", ())  # noqa: S108
    return settings["spark.driver.extraJavaOptions"].split(" ")


def test_the_report_of_a_crash_is_next_to_the_log() -> None:
    options = _options(Path("/var/lib/kraftgate-1"))
    assert options.count("-XX:ErrorFile=/var/lib/kraftgate-1/hs_err.log") == 1


def test_the_report_of_a_crash_is_not_deleted_with_a_temporary_log() -> None:
    with TemporaryDirectory() as name:
        options = _options(Path(name))
    assert not any("ErrorFile" in each for each in options)


@pytest.mark.parametrize(
    "name", ["my state", "a\tb", "a\nb", "a'b", 'a"b', "a\\b", "a%p", "a${b}", "é"]
)
def test_a_path_that_spark_or_the_jvm_would_interpret_is_not_an_option(name: str) -> None:
    options = _options(Path("/var/lib", name))
    plain = [each for each in _options(Path("/var/lib/plain")) if "ErrorFile" not in each]
    assert options == plain
