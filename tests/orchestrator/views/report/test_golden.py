"""The report of one night, word for word; a change of it is one that somebody wanted.

`python -m tests.orchestrator.views.report.test_golden` writes the files. The page's plots and style
are left out: they are looked at in a browser, and change with matplotlib. `tests/golden` compares
the JSON of the same night.
"""

import re
import tempfile
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.orchestrator.views.report.night import night
from tests.orchestrator.views.report.reporting import run

GOLDEN = Path(__file__).with_name("golden")
FORMATS = {"markdown": "night.md", "html": "night.html"}


def written(folder: Path, format_: str) -> str:
    text = run(night(folder), "--format", format_).stdout
    text = text.replace(version("kraftgate"), "VERSION")
    text = re.sub(r"<style>.*?</style>", "<style></style>", text, flags=re.DOTALL)
    return re.sub(r"<svg.*?</svg>", "<svg></svg>", text, flags=re.DOTALL)


@pytest.mark.parametrize("format_", FORMATS)
def test_the_report_is_as_it_was(tmp_path: Path, format_: str) -> None:
    fix = "if that is meant: python -m tests.orchestrator.views.report.test_golden"
    assert written(tmp_path, format_) == (GOLDEN / FORMATS[format_]).read_text("utf-8"), fix


def main() -> None:
    for format_, name in FORMATS.items():
        with tempfile.TemporaryDirectory() as folder:
            (GOLDEN / name).write_text(written(Path(folder), format_), "utf-8")


if __name__ == "__main__":
    main()
