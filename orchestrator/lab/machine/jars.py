"""Kafka's jars, and an agent's: fetched once by the machine's mvn, then verified with a lock file.

Input: a pom and a lock file of this package. Output: a directory whose locked jars are all
verified.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from orchestrator.lab.errors import LabError
from orchestrator.lab.machine.spawner import tied_to_this_process
from streams.state.directory import cache_root, create_in_cache
from streams.state.files import try_lock

KAFKA_VERSION = "3.9.1"
AGENT_VERSION = "1.0.1"
APT_INSTALL = "apt-get install openjdk-17-jre-headless maven"
_COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_FETCH_S_MAX = 900.0
_LOCK_S_MAX = _FETCH_S_MAX + 60.0
_ERROR_LINES_MAX = 12


@dataclass(frozen=True, slots=True)
class JarSet:
    """Jars that are fetched together: the name of their directory, their pom, their lock file.

    `folder`: of pom and lock file; None: this package.
    """

    name: str
    pom: str
    lock: str
    folder: Path | None = None

    def read(self, file: str) -> bytes:
        return ((self.folder or files(__package__)) / file).read_bytes()


KAFKA = JarSet(f"kafka-{KAFKA_VERSION}", "pom.xml", "jars.sha256")
_AGENT = JarSet(f"jmx_prometheus_javaagent-{AGENT_VERSION}", "agent.xml", "agent.sha256")


@dataclass(frozen=True, slots=True)
class Jars:
    """A verified set of jars.

    Attributes:
        directory: Their directory.
        names: Their file names, in the lock file's order.
    """

    directory: Path
    names: tuple[str, ...]

    @property
    def classpath(self) -> str:
        """The locked jars as a Java class path, without other files of the directory."""
        return os.pathsep.join(str(self.directory / name) for name in self.names)


def read_lock(text: str) -> dict[str, str]:
    """Parse a lock file in sha256sum's format.

    Returns:
        The digest of every jar by its file name.

    Raises:
        LabError: A line is not ``<64 hex digits>  <name>.jar``, or the file is empty.
    """
    lock: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        digest, _, name = line.partition("  ")
        hexadecimal = len(digest) == 64 and all(c in "0123456789abcdef" for c in digest)
        if not hexadecimal or not name.endswith(".jar") or "/" in name or name in lock:
            raise LabError(
                f"line {number} of the lock file is not a digest and a jar's name",
                where="jars.sha256",
                fix="Reinstall kraftgate: the lock file is part of the package.",
            )
        lock[name] = digest
    if not lock:
        raise LabError("the lock file is empty", where="jars.sha256", fix="Reinstall kraftgate.")
    return lock


def verify(directory: Path, lock: dict[str, str]) -> Jars:
    """Verify the digest of every jar.

    Raises:
        LabError: A jar is absent or its digest differs.
    """
    for name, expected in lock.items():
        path = directory / name
        try:
            with path.open("rb") as jar:
                found = hashlib.file_digest(jar, "sha256").hexdigest()
        except OSError as error:
            raise LabError(
                f"a jar cannot be read: {error.strerror}",
                where=str(path),
                fix=f"Remove {directory}; the next start fetches it again.",
            ) from error
        if found != expected:
            raise LabError(
                f"a jar is not the locked one: sha256 {found}, expected {expected}",
                where=str(path),
                fix=f"Remove {directory}; the next start fetches it again.",
            )
    return Jars(directory, tuple(lock))


def ensure_jars(root: Path | None = None, wanted: JarSet = KAFKA) -> Jars:
    """Return verified jars, by default Kafka's; fetch them first when the cache has none.

    Safe in several processes at the same time: one fetches, the others wait for it. A fetched set
    gets its final name in one step and only after it was verified. `root`: the cache; None:
    `cache_root`.

    Raises:
        LabError: The jars must be fetched and there is no mvn, mvn failed, another process held
            the cache too long, or the cached or fetched jars differ from the lock file.
    """
    lock = read_lock(wanted.read(wanted.lock).decode("ascii"))
    place = (root or cache_root()) / wanted.name
    if not place.exists():
        with _held(place.with_suffix(".lock")):
            if not place.exists():
                _fetch(place, lock, wanted.read(wanted.pom))
    return verify(place, lock)


def ensure_agent() -> Path:
    """Return the verified jar of jmx_exporter's Java agent, fetched as Kafka's jars are.

    Raises:
        LabError: As `ensure_jars`.
    """
    found = ensure_jars(wanted=_AGENT)
    return found.directory / found.names[0]


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold an exclusive file lock, after a wait of at most `_LOCK_S_MAX` seconds."""
    create_in_cache(path.parent)
    with path.open("w") as handle:
        if not try_lock(handle.fileno(), wait_s_max=_LOCK_S_MAX):
            raise LabError(
                f"another process has held the jar cache for {_LOCK_S_MAX:.0f} s",
                where=str(path),
                fix="End it, or set KRAFTGATE_CACHE to a cache of your own.",
            )
        yield


def _fetch(place: Path, lock: dict[str, str], source: bytes) -> None:
    mvn = shutil.which("mvn")
    if mvn is None:
        raise LabError(
            "the lab fetches Kafka's jars with Maven, and there is no mvn",
            where="PATH",
            fix=f"Run: {APT_INSTALL}",
        )
    with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as scratch:
        pom = Path(scratch) / "pom.xml"
        pom.write_bytes(source)
        fetched = Path(scratch) / "jars"
        _run_maven([mvn, "-q", "-B", "-f", str(pom), _COPY_GOAL, f"-DoutputDirectory={fetched}",
                    "-DincludeScope=runtime"])  # fmt: skip
        verify(fetched, lock)
        fetched.rename(place)


def _run_maven(command: list[str]) -> None:
    fix = "Try again; behind a proxy or a mirror, set up Maven's own settings.xml for it."
    try:
        done = subprocess.run(
            tied_to_this_process(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_FETCH_S_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(
            f"mvn did not end within {_FETCH_S_MAX:.0f} s", where=command[0], fix=fix
        ) from error
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).splitlines()[:_ERROR_LINES_MAX])
        raise LabError(f"mvn ended with {done.returncode}:\n{said}\n", where=command[0], fix=fix)
