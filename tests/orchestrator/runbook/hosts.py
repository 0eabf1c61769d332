"""A host in a temporary root for kraftgate-node: real files, and a stand-in for systemctl.

There is no systemd on a machine for tests. The stand-in knows the calls that the script makes,
keeps each unit's state in a file, and gives each start an id of its own, as systemd does.
"""

import os
import pwd
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.polling import PATIENCE_S

HOOKS: Final = Path("runbooks/hooks").resolve()
_SYSTEMCTL: Final = """#!/bin/sh
set -eu
state={root}/units
echo "$*" >> {root}/systemctl.log
for unit in "$@"; do :; done
case "$*" in
"stop $unit" | "disable --quiet --now $unit") rm -f "$state/$unit" ;;
"start $unit")
    [ ! -e "{root}/dies/$unit" ] || exit 0
    [ ! -e "$state/$unit" ] || exit 0
    n=$(($(cat "$state.n" 2>/dev/null || echo 0) + 1))
    echo $n > "$state.n"
    echo "id-$n" > "$state/$unit" ;;
"is-active --quiet $unit") [ -e "$state/$unit" ] ;;
"show --property=InvocationID --value $unit") head -n 1 "$state/$unit" 2>/dev/null || echo ;;
"show --property=Restart --value $unit") cat "$state.restart" ;;
"show --property=LoadState --value $unit") cat "$state.load" ;;
"show --property=RefuseManualStart --value $unit") cat "$state.held" ;;
"show --property=User --value $unit") cat "$state.user" ;;
"show --property=Group --value $unit") cat "$state.group" 2>/dev/null || echo ;;
"enable --quiet $unit") ;;
*) echo "systemctl: what is '$*'?" >&2; exit 9 ;;
esac
"""
_STORAGE: Final = """#!/bin/sh
# Stands in for kafka-storage.sh: the real one is Kafka's, and the lab's to run.
echo "$*" >> {root}/storage.log
while [ $# -gt 0 ]; do
    case $1 in --cluster-id=*) id=${{1#*=}} ;; --config) file=$2 ;; esac
    shift
done
node=$(sed -n 's/^node.id=//p' "$file")
sed -n 's/^log.dirs=//p' "$file" | tr , '\\n' | while read -r dir; do
    [ -e "$dir/meta.properties" ] ||
        printf 'version=1\\ncluster.id=%s\\nnode.id=%s\\n' "$id" "$node" > "$dir/meta.properties"
done
"""


class Connected:
    """A script whose output goes to a connection."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.returncode: int | None = None

    def hang_up(self) -> None:
        """End the connection, and that of a terminal."""
        if self._process.stdout is not None:
            self._process.stdout.close()
        os.killpg(self._process.pid, signal.SIGHUP)


@dataclass(frozen=True)
class Host:
    """A broker's or controller's host below `root`."""

    root: Path

    @property
    def etc(self) -> Path:
        """Where the properties are."""
        return self.root / "etc"

    def node(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Call kraftgate-node here."""
        return self.call("sh", str(HOOKS / "kraftgate-node"), *arguments)

    def call(self, *argv: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """Call a command in this host's environment."""
        environment = {**self._environment(), **more}
        return subprocess.run(
            argv, capture_output=True, text=True, env=environment, timeout=PATIENCE_S, check=False
        )

    @contextmanager
    def stopping(self, unit: str, *arguments: str) -> Iterator["Connected"]:
        """Call kraftgate-node over a connection, and yield while systemd stops the unit."""
        began, goes_on = (self.root / name for name in ("began", "goes-on"))
        for fifo in (began, goes_on):
            os.mkfifo(fifo)
        systemctl = self.root / "bin" / "systemctl"
        waits = f"echo >{began}; read -r _ <{goes_on}"
        slow = f'case "$*" in *"now {unit}" | "stop {unit}") {waits} ;; esac\n'
        text = systemctl.read_text("utf-8").replace("set -eu\n", f"set -eu\n{slow}", 1)
        systemctl.write_text(text, "utf-8")
        process = subprocess.Popen(
            ["sh", str(HOOKS / "kraftgate-node"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment(),
            start_new_session=True,
        )
        connected = Connected(process)
        try:
            began.read_bytes()
            yield connected
            with goes_on.open("rb+", buffering=0) as opened:  # does not wait for a reader
                opened.write(b"\n")
                connected.returncode = process.wait(PATIENCE_S)
        finally:
            process.kill()

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "KRAFTGATE_NODE_CONF": str(self.root / "node.conf"),
        }

    def properties(self, name: str, **properties: str) -> Path:
        """Write a properties file; `_` in a key stands for a dot."""
        file = self.etc / f"{name}.properties"
        lines = [f"{key.replace('_', '.')}={value}" for key, value in properties.items()]
        file.write_text("# as the operator wrote it\n" + "\n".join(lines) + "\n", "utf-8")
        return file

    def directory(self, name: str, written: str = "version=0\nbroker.id=1\n") -> Path:
        """Make a log directory that was formatted, by default for broker 1."""
        path = self.root / "data" / name
        path.mkdir(parents=True, exist_ok=True)
        (path / "meta.properties").write_text(written, "utf-8")
        return path

    def calls(self) -> list[str]:
        """Return the commands that systemctl received, without queries."""
        log = self.root / "systemctl.log"
        told = log.read_text("utf-8").splitlines() if log.exists() else []
        return [one for one in told if not one.startswith(("is-active", "show"))]


def host(root: Path) -> Host:
    """Make a host whose broker 1 has two directories and the properties of all its modes."""
    for name in ("bin", "etc", "units", "dies", "data", "run"):
        (root / name).mkdir()
    for name, text in (("systemctl", _SYSTEMCTL), ("kafka-storage.sh", _STORAGE)):
        file = root / "bin" / name
        file.write_text(text.format(root=root), "utf-8")
        file.chmod(0o755)
    user = pwd.getpwuid(os.getuid()).pw_name
    for name, value in (("restart", "no"), ("load", "loaded"), ("held", "no"), ("user", user)):
        (root / f"units.{name}").write_text(f"{value}\n", "utf-8")
    (root / "node.conf").write_text(
        f"KAFKA_ETC={root}/etc\nKAFKA_BIN={root}/bin\nRUN={root}/run\nKAFKA_USER={os.getuid()}\n"
        "CLUSTER_ID=AAAAAAAAAAAAAAAAAAAAAA\n",
        "utf-8",
    )
    made = Host(root)
    dirs = ",".join(str(made.directory(name)) for name in ("d0", "d1"))
    made.properties("broker.zookeeper", broker_id="1", log_dirs=dirs, zookeeper_connect="zk:2181")
    made.properties(
        "broker.migration",
        broker_id="1",
        log_dirs=dirs,
        zookeeper_connect="zk:2181",
        zookeeper_metadata_migration_enable="true",
    )
    made.properties("broker.kraft", process_roles="broker", node_id="1", log_dirs=dirs)
    (made.etc / "broker.properties").symlink_to(made.etc / "broker.zookeeper.properties")
    return made
