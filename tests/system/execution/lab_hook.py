"""Wraps `kraftgate lab` in the tests' hooks: fails, hangs or reports that it runs, once.

    lab_hook.py FAULTS LAB_HOME kraftgate lab COMMAND [ID [..]]

A file FAULTS/COMMAND-ID names the fault: `fail`, `half-way` (stop the broker, fail), `hang`,
`freeze` (run, then freeze the broker) or `mark` (create COMMAND-ID.runs, then run).
"""

import subprocess
import sys
import threading
from pathlib import Path


def main(faults: Path, home: str, words: list[str]) -> int:
    _, _, command, *ids = words
    fault = faults / "-".join([command, *ids])
    what = fault.read_text() if fault.exists() else ""
    fault.unlink(missing_ok=True)
    if what == "fail":
        print("failing on request, password=hush-hush-123", flush=True)  # noqa: T201  # a hook's output
        return 1
    if what == "half-way":
        _lab("stop", f"broker-{ids[0]}", home)
        return 1
    if what == "hang":
        threading.Event().wait()
    if what == "mark":
        fault.with_name(f"{fault.name}.runs").touch()
    code = _lab(command, *ids, home)
    if what == "freeze":
        _lab("freeze", f"broker-{ids[0]}", home)
    return code


def _lab(*words: str) -> int:
    *command, home = words
    line = [sys.executable, "-m", "orchestrator", "lab", *command, "--home", home]
    return subprocess.run(line, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
