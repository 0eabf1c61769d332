"""A small volume to be filled, and a directory on a read-only one."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.polling import PATIENCE_S

_READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _READ_ONLY)


@contextmanager
def mounted(path: Path, size_mb: int) -> Iterator[None]:
    """Mount a volume in memory; skip the test where that is not permitted."""
    with mounted_if_permitted(path, size_mb) as why_not:
        if why_not is not None:
            pytest.skip(why_not)
        yield


@contextmanager
def mounted_if_permitted(path: Path, size_mb: int) -> Iterator[str | None]:
    """Mount a volume in memory, or yield why that is not permitted."""
    path.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        yield f"a small volume cannot be mounted here: {done.stderr.strip()}"
        return
    try:
        yield None
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def read_only(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `kraftgate` with a directory read-only; skip the test where that is not permitted."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    begin = (*_UNSHARE, str(path))
    if subprocess.run([*begin, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount in a namespace")
    command = [*begin, sys.executable, "-m", "orchestrator", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
