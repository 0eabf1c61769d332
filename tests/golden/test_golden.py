"""What every consumer shows of every recorded scene, byte for byte.

`pytest tests/golden --update-golden` writes the files again; a commit that does so says why.
"""

from difflib import unified_diff
from pathlib import Path
from typing import Final

import pytest

from tests.golden.drive import OUTPUTS, outputs
from tests.scenes.recorded import SCENES

EXPECTED: Final = Path(__file__).with_name("expected")


@pytest.mark.parametrize("scene", SCENES)
def test_every_consumer_shows_what_it_showed(
    scene: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, update_golden: bool
) -> None:
    # The scene's facts do not change: `hazards` would wait for unread ones in vain.
    monkeypatch.setattr("orchestrator.run.caught_up._CATCH_UP_S_MAX", 0.0)
    shown = outputs(SCENES[scene](tmp_path), monkeypatch)
    folder = EXPECTED / scene
    if update_golden:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in shown.items():
            (folder / name).write_bytes(text.encode())
    changed = [_changed(folder / name, shown[name]) for name in OUTPUTS]
    if any(changed):
        pytest.fail("".join(changed) + "if that is meant: pytest tests/golden --update-golden")


def test_every_expected_file_is_compared(*, update_golden: bool) -> None:
    if update_golden:
        pytest.skip("the files are being written")
    there = {str(each.relative_to(EXPECTED)) for each in EXPECTED.glob("*/*")}
    assert there == {f"{scene}/{name}" for scene in SCENES for name in OUTPUTS}


def _changed(file: Path, shown: str) -> str:
    """The difference as a patch; empty where every byte is the same."""
    expected = file.read_bytes().decode() if file.exists() else ""
    if shown == expected:
        return ""
    name = str(file.relative_to(EXPECTED))
    lines = unified_diff(
        expected.splitlines(keepends=True), shown.splitlines(keepends=True), name, "now", n=1
    )
    return "".join(lines) or f"{name}: the ends of lines differ\n"
