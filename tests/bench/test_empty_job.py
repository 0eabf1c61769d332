"""The job with which the start of Spark is measured does its work."""

from pathlib import Path

import pytest

from tests.bench.empty_job import run

pytestmark = pytest.mark.spark


def test_the_empty_job_delivers_its_row(tmp_path: Path) -> None:
    assert run(tmp_path) == 1
