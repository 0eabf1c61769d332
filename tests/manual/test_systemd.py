"""The unit file: systemd accepts it, and rates its sandbox.

tests/system/test_under_systemd.py runs it.
"""

import re
import shlex
import shutil
import subprocess
from configparser import ConfigParser, SectionProxy
from pathlib import Path

import pytest

from tests.manual.pages import pages

UNIT = Path("runbooks/systemd/kraftgate.service")
EXPOSURE_MAX = 20
"""In tenths; systemd calls 20 and less "OK"."""

pytestmark = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def started() -> tuple[str, str]:
    """The unit's program, and the configuration that it is started with."""
    [line] = re.findall(r"^ExecStart=(.*)$", UNIT.read_text("utf-8"), re.MULTILINE)
    words = shlex.split(line)
    return words[0], words[words.index("--config") + 1]


def test_a_command_for_its_user_names_its_program_and_its_configuration() -> None:
    """sudo searches neither the unit's folder nor that of its configuration."""
    text = "".join(page.read_text("utf-8").replace("\\\n", " ") for page in pages())
    lines = re.findall(r"sudo -u kraftgate ([^`\n]+)", text)
    assert lines
    for words in map(shlex.split, lines):
        assert words[0] == started()[0], words
        assert " ".join(("--config", started()[1])) in " ".join(words), words


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_systemd_accepts_it(tmp_path: Path) -> None:
    """Its program does not exist here, so another one stands for it."""
    lines = UNIT.read_text("utf-8").splitlines()
    begin = [line for line in lines if line.startswith("ExecStart=")]
    assert len(begin) == 1
    copy = tmp_path / UNIT.name
    copy.write_text("\n".join(lines).replace(begin[0], "ExecStart=/bin/true"), "utf-8")
    done = analyze("verify", "--man=no", str(copy))
    assert (done.returncode, done.stderr) == (0, "")


def test_its_sandbox_is_rated_well() -> None:
    done = analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", str(UNIT))
    assert done.returncode == 0, done.stdout[-300:]


def of_service() -> SectionProxy:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]  # keys keep their case
    unit.read(UNIT)
    return unit["Service"]


def test_a_start_sees_the_processes_that_a_hook_left_behind() -> None:
    """Those of an earlier start have another user namespace: `invisible` hides them."""
    service = of_service()
    assert service["PrivateUsers"] == "yes"
    assert service["ProtectProc"] == "default"


def test_hooks_outlive_it_and_a_wrong_configuration_is_not_started_again() -> None:
    service = of_service()
    assert service["KillMode"] == "process"
    assert service["RemoveIPC"] == "no"
    assert "\nEnvironment=TMPDIR=/var/cache/kraftgate\n" in UNIT.read_text("utf-8")
    assert service["RestartPreventExitStatus"] == "2"
    assert "--config /etc/kraftgate/kraftgate.yaml" in service["ExecStart"]
