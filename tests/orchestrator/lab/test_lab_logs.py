"""What the report of a failed test shows of its lab."""

from pathlib import Path

from tests.support.lab_logs import faults


def test_errors_and_the_end_of_each_log(tmp_path: Path) -> None:
    lines = ["[1] ERROR it began", *(f"[2] INFO {each}" for each in range(50)), "[3] FATAL over"]
    (tmp_path / "broker-1.log").write_text("\n".join(lines), "utf-8")
    (tmp_path / "broker-2.log").write_bytes(b"")
    (first, shown), (second, _) = faults(tmp_path)
    assert (first, second) == ("lab broker-1", "lab broker-2")
    assert shown.splitlines()[:3] == [lines[0], lines[-1], "... the last of 52 lines:"]
    assert shown.splitlines()[3:] == lines[-10:]
