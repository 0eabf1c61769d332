"""The jar cache: fetched once, whole or not at all, and never run when it is not the locked set."""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from orchestrator.lab.errors import LabError
from orchestrator.lab.machine import jars
from streams.state.directory import cache_root

_CONTENT = b"jar"
_DIGEST = hashlib.sha256(_CONTENT).hexdigest()
FakeProgram = Callable[[str, str], Path]

_MVN = """
echo run >> "{runs}"
for word in "$@"; do case "$word" in -DoutputDirectory=*) out="${{word#*=}}";; esac; done
mkdir -p "$out"
sleep {slow}
while read -r digest name; do printf '{content}' > "$out/$name"; done < "{lock}"
"""


@pytest.fixture
def small_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose lock file names two tiny jars."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "jars.sha256").write_text(f"{_DIGEST}  a.jar\n{_DIGEST}  b.jar\n")
    (package / "pom.xml").write_text("<project/>")
    monkeypatch.setattr(jars, "files", lambda _: package)
    return package / "jars.sha256"


def mvn(tmp_path: Path, lock: Path, content: str = "jar", slow: float = 0) -> str:
    return _MVN.format(runs=tmp_path / "runs", lock=lock, content=content, slow=slow)


def test_the_committed_lock_names_the_kafka_of_the_pom() -> None:
    package = files("orchestrator.lab.machine")
    lock = jars.read_lock((package / "jars.sha256").read_text("ascii"))
    assert f"kafka_2.13-{jars.KAFKA_VERSION}.jar" in lock
    assert (package / "pom.xml").read_text().count(f"<version>{jars.KAFKA_VERSION}<") == 3
    assert len(lock) == 107


def test_the_agents_lock_names_the_agent_of_its_pom() -> None:
    package = files("orchestrator.lab.machine")
    lock = jars.read_lock((package / "agent.sha256").read_text("ascii"))
    assert list(lock) == [f"jmx_prometheus_javaagent-{jars.AGENT_VERSION}.jar"]
    assert f"<version>{jars.AGENT_VERSION}<" in (package / "agent.xml").read_text()


def test_the_agent_is_fetched_by_itself(
    small_lock: Path, tmp_path: Path, fake_program: FakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not come onto Kafka's class path."""
    lock = small_lock.with_name("agent.sha256")
    lock.write_text(f"{_DIGEST}  agent.jar\n")
    small_lock.with_name("agent.xml").write_text("<project/>")
    fake_program("mvn", mvn(tmp_path, lock))
    monkeypatch.setenv("KRAFTGATE_CACHE", str(tmp_path / "cache"))
    found = jars.ensure_agent()
    assert found.read_bytes() == _CONTENT
    assert found.parent.name == f"jmx_prometheus_javaagent-{jars.AGENT_VERSION}"


@pytest.mark.parametrize(
    "text",
    ["", "abc  a.jar\n", f"{_DIGEST} a.jar\n", f"{_DIGEST}  ../a.jar\n", f"{_DIGEST}  a.txt\n",
     f"{_DIGEST}  a.jar\n{_DIGEST}  a.jar\n"],
)  # fmt: skip
def test_a_lock_file_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(LabError, match="lock file"):
        jars.read_lock(text)


def test_a_changed_jar_is_named_with_both_digests(tmp_path: Path) -> None:
    (tmp_path / "a.jar").write_bytes(b"other")
    with pytest.raises(LabError, match=_DIGEST) as raised:
        jars.verify(tmp_path, {"a.jar": _DIGEST})
    assert raised.value.where == str(tmp_path / "a.jar")
    assert "Remove" in raised.value.fix


def test_an_absent_jar_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"a\.jar"):
        jars.verify(tmp_path, {"a.jar": _DIGEST})


def test_only_locked_jars_are_on_the_class_path(tmp_path: Path) -> None:
    (tmp_path / "a.jar").write_bytes(_CONTENT)
    (tmp_path / "stranger.jar").write_bytes(_CONTENT)
    assert jars.verify(tmp_path, {"a.jar": _DIGEST}).classpath == str(tmp_path / "a.jar")


def test_fetched_once_then_cached(
    tmp_path: Path, small_lock: Path, fake_program: FakeProgram
) -> None:
    fake_program("mvn", mvn(tmp_path, small_lock))
    first = jars.ensure_jars(tmp_path / "cache")
    assert jars.ensure_jars(tmp_path / "cache") == first
    assert first.names == ("a.jar", "b.jar")
    assert (tmp_path / "runs").read_text() == "run\n"


def test_a_fetch_that_brings_something_else_leaves_no_cache(
    tmp_path: Path, small_lock: Path, fake_program: FakeProgram
) -> None:
    fake_program("mvn", mvn(tmp_path, small_lock, content="evil"))
    with pytest.raises(LabError, match=_DIGEST):
        jars.ensure_jars(tmp_path / "cache")
    assert [p.suffix for p in (tmp_path / "cache").iterdir()] == [".lock"]


def test_a_failing_mvn_is_quoted(
    tmp_path: Path, small_lock: Path, fake_program: FakeProgram
) -> None:
    assert small_lock.exists()
    fake_program("mvn", "echo '[ERROR] no route to the repository'; exit 1")
    with pytest.raises(LabError, match="no route to the repository"):
        jars.ensure_jars(tmp_path / "cache")


def test_without_mvn_the_install_line_is_told(
    tmp_path: Path, small_lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert small_lock.exists()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="apt-get install openjdk-17-jre-headless maven"):
        jars.ensure_jars(tmp_path / "cache")


@pytest.mark.slow
def test_two_processes_at_once_fetch_once(
    tmp_path: Path, small_lock: Path, fake_program: FakeProgram
) -> None:
    fake_program("mvn", mvn(tmp_path, small_lock, slow=0.5))
    program = (
        "import sys; from pathlib import Path; from orchestrator.lab.machine import jars\n"
        "jars.files = lambda _: Path(sys.argv[1])\n"
        "print(jars.ensure_jars(Path(sys.argv[2])).names)\n"
    )
    command = [sys.executable, "-c", program, str(small_lock.parent), str(tmp_path / "cache")]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
        for _ in range(2)
    ]
    assert [process.communicate(timeout=180)[0] for process in both] == ["('a.jar', 'b.jar')\n"] * 2
    assert (tmp_path / "runs").read_text() == "run\n"


def test_the_cache_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("KRAFTGATE_CACHE", raising=False)
    assert cache_root() == tmp_path / "xdg" / "kraftgate"
    monkeypatch.setenv("KRAFTGATE_CACHE", str(tmp_path / "own"))
    assert cache_root() == tmp_path / "own"


def test_every_error_tells_what_where_and_the_mend() -> None:
    error = LabError("it broke", where="here", fix="Mend it.")
    assert str(error) == "it broke (here). Mend it."
