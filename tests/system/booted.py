"""A systemd of its own for a test: it boots in new namespaces, and sees the host read-only.

The network is the host's. Only the units that the test gives exist. Everything that systemd or a
service writes is in memory, and is gone with the namespaces.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

from tests.manual.pages import ROOT
from tests.support.polling import PATIENCE_S, until

USER: Final = "kraftgate"
_UID: Final = 987
_CGROUPS: Final = Path("/sys/fs/cgroup")
_TARGETS: Final = ("sysinit", "basic", "multi-user", "network-online", "shutdown")
_NAMESPACES: Final = ("--fork", "--kill-child", "--pid", "--mount", "--uts", "--ipc", "--cgroup")
_MOUNTS: Final = """
umask 022
mount --make-rprivate /
mount -t tmpfs tmpfs /opt
mkdir -p /opt/{python,given} /opt/kraftgate/{packages,source}
mount --bind "$PYTHON" /opt/python
mount --bind "$PACKAGES" /opt/kraftgate/packages
mount --bind "$SOURCE" /opt/kraftgate/source
mount --bind "$GIVEN" /opt/given
for each in /run /tmp /var /dev/shm; do mount -t tmpfs tmpfs $each; done
mkdir -p /run/etc/{up,work}
mount -t overlay -o lowerdir=/etc,upperdir=/run/etc/up,workdir=/run/etc/work overlay /etc
mount -o remount,bind,ro /
mount -t proc proc /proc
umount --recursive /sys/fs/cgroup
if [ "$CGROUPS" = 2 ]; then
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
else
    mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
    mkdir /sys/fs/cgroup/systemd
    mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
fi
"""
_START: Final = """
echo "$USER_LINE" >>/etc/passwd
echo "$GROUP_LINE" >>/etc/group
cp -r /opt/given/. /
chown -R "$UID_AND_GID" /etc/kraftgate
exec env -i container=test PATH="$PATH" SYSTEMD_UNIT_PATH=/run/units /lib/systemd/systemd \\
    --system --unit=multi-user.target --show-status=no --log-target=null
"""


def cgroups() -> Path | None:
    """The hierarchy in which systemd groups processes; None: there is none."""
    if (_CGROUPS / "cgroup.controllers").exists():
        return _CGROUPS
    legacy = _CGROUPS / "systemd"
    return legacy if (legacy / "cgroup.procs").exists() else None


def can_boot() -> bool:
    """Whether this process may boot a systemd: as root, with namespaces, where one is installed."""
    programs = ("bash", "unshare", "nsenter", "systemctl")
    if os.geteuid() or cgroups() is None or not all(map(shutil.which, programs)):
        return False
    tried = ["unshare", *_NAMESPACES, "bash", "-euc", _MOUNTS]
    done = subprocess.run(tried, env=_environment(ROOT), capture_output=True, check=False)
    return Path("/lib/systemd/systemd").exists() and done.returncode == 0


def _environment(given: Path) -> dict[str, str]:
    return {
        "CGROUPS": "2" if cgroups() == _CGROUPS else "1",
        "GIVEN": str(given),
        "GROUP_LINE": f"{USER}:x:{_UID}:",
        "PACKAGES": next(each for each in sys.path if each.endswith("site-packages")),
        "PATH": os.environ["PATH"],
        "PYTHON": sys.base_prefix,
        "SOURCE": str(ROOT),
        "UID_AND_GID": f"{_UID}:{_UID}",
        "USER_LINE": f"{USER}:x:{_UID}:{_UID}::/nonexistent:/usr/sbin/nologin",
    }


class Booted:
    """A systemd that runs.

    Attributes:
        root: its root directory, as the host sees it.
    """

    def __init__(self, process: psutil.Process) -> None:
        self._pid = str(process.pid)
        self.root = Path("/proc", self._pid, "root")

    def systemctl(self, *words: str) -> str:
        """Run systemctl; return its output."""
        done = self._run("systemctl", *words)
        return done.stdout + done.stderr

    def shell(self, commands: str) -> None:
        """Run commands of a shell as root; all must succeed."""
        self._run("sh", "-euc", commands).check_returncode()

    def as_user(self, *words: str) -> str:
        """Run a program as the service's user; return what it printed to stdout."""
        ids = ("--reuid", str(_UID), "--regid", str(_UID), "--clear-groups")
        return self._run("setpriv", *ids, *words).stdout

    def shows(self, unit: str, name: str) -> str:
        """Return a property of a unit."""
        return self.systemctl("show", "--value", "--property", name, unit).strip()

    def wait_for(self, unit: str, state: str) -> None:
        """Wait until a unit's ActiveState is this one."""
        until(
            lambda: self.shows(unit, "ActiveState") == state,
            f"{unit} to be {state}",
            lambda: self.shows(unit, "ActiveState"),
        )

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["nsenter", "--target", self._pid, "--all", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )


@contextmanager
def booted(folder: Path, files: Mapping[str, str]) -> Iterator[Booted]:
    """Boot; `files`: below `/`, such as units in `run/units` and programs in `opt`.

    Files in `etc/kraftgate` belong to the user `kraftgate`, and those in `opt` can be executed.
    """
    hierarchy = cgroups()
    assert hierarchy is not None
    group = hierarchy / f"kraftgate-test-{os.getpid()}"
    group.mkdir()
    given = folder / "given"
    targets = {f"run/units/{each}.target": "[Unit]\n" for each in _TARGETS}
    for name, text in (targets | dict(files)).items():
        file = given / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        file.chmod(0o755 if name.startswith("opt/") else 0o644)
    for each in (given, *given.rglob("*")):
        if each.is_dir():
            each.chmod(0o755)
    enter = (
        f'echo $$ >"{group}/cgroup.procs"; exec unshare {" ".join(_NAMESPACES)} bash -euc "$BOOT"'
    )
    environment = _environment(given) | {"BOOT": _MOUNTS + _START}
    with (
        (folder / "systemd.log").open("wb") as log,
        subprocess.Popen(
            ["bash", "-euc", enter], env=environment, stdout=log, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield _wait_booted(process, folder / "systemd.log")
        finally:
            process.kill()
            process.wait()
            until(lambda: not _processes(group), "its processes to end")
            for each in (*sorted(group.rglob("*"), reverse=True), group):
                if each.is_dir():
                    each.rmdir()


def _wait_booted(process: subprocess.Popen[bytes], log: Path) -> Booted:
    found: list[Booted] = []

    def runs() -> bool:
        assert process.poll() is None, log.read_text("utf-8", "replace")
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(process.pid).children():
                if child.name() == "systemd":
                    one = Booted(child)
                    if one.systemctl("is-active", "multi-user.target").strip() == "active":
                        found.append(one)
        return bool(found)

    until(runs, "systemd to boot", lambda: log.read_text("utf-8", "replace"))
    return found[0]


def _processes(group: Path) -> list[str]:
    return [
        line for file in group.rglob("cgroup.procs") for line in file.read_text("ascii").split()
    ]
