"""A state directory is private from its creation; one that others can change is refused."""

import logging
import os
import stat
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from streams.spark import session
from streams.state import directory
from streams.state.directory import UnsafeStateDir, prepare, why_unusable
from streams.state.files import replace_file
from streams.state.store import Store

_NOBODY = 65534
_NAMELESS = 54321

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


@pytest.fixture(autouse=True)
def usual_umask() -> None:
    os.umask(0o022)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_all_that_is_written_in_a_new_one_is_private(tmp_path: Path) -> None:
    state = tmp_path / "kraftgate-state"
    prepare(state)
    with Store.open(state / "store.db") as store:
        store.claim("a query")
        (state / "clusters" / "prod").mkdir(parents=True)
        (state / "clusters" / "prod" / "source.json").write_text("{}")
        modes = {str(path.relative_to(tmp_path)): _mode(path) for path in tmp_path.rglob("*")}
    folders = {path for path in modes if (tmp_path / path).is_dir()}
    assert {"kraftgate-state/store.db-wal", "kraftgate-state/store.db-shm"} < set(modes)
    assert {modes[path] for path in folders} == {0o700}
    assert {modes[path] for path in set(modes) - folders} == {0o600}


def test_one_that_an_earlier_release_left_readable_is_made_private(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = tmp_path / "state"
    (state / "clusters").mkdir(parents=True)
    (state / "clusters" / "log").write_bytes(b"")
    (state / "store.db").touch()
    (state / "elsewhere").symlink_to(tmp_path / "not-ours")
    (tmp_path / "not-ours").write_text("")
    for each in (state, state / "clusters"):
        each.chmod(0o755)
    for each in (state / "clusters" / "log", tmp_path / "not-ours"):
        each.chmod(0o644)
    with caplog.at_level(logging.WARNING):
        prepare(state)
        prepare(state)
    assert [_mode(state), _mode(state / "clusters")] == [0o700, 0o700]
    assert _mode(state / "clusters" / "log") == 0o600
    assert _mode(tmp_path / "not-ours") == 0o644
    # A thread of an earlier test may log at the same time.
    said = [each.getMessage() for each in caplog.records if each.name == directory.__name__]
    assert said == [f"{state} was readable by other users: it is private to its owner now"]


@pytest.mark.parametrize("mode", [0o770, 0o757, 0o1777])
def test_one_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(mode)
    with pytest.raises(UnsafeStateDir) as refused:
        prepare(state)
    assert f"{state} has mode {mode:04o}" in str(refused.value)
    assert "set another directory" in str(refused.value)
    assert str(refused.value).endswith(f"chmod go= {state}")
    assert _mode(state) == mode


def test_a_shared_directory_is_not_to_be_taken_from_its_users(tmp_path: Path) -> None:
    """Such as /tmp, in which any program may have created a file with this name."""
    shared = tmp_path / "tmp"
    (shared / "checkpoint").mkdir(parents=True)
    shared.chmod(0o1777)
    with pytest.raises(UnsafeStateDir) as refused:
        prepare(shared)
    assert "-R" not in str(refused.value)


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o1777])
@pytest.mark.parametrize("name", ["hooks/step.sh", "meta.properties", "kraftgate.yaml"])
def test_a_directory_with_other_files_is_refused_and_not_changed(
    tmp_path: Path, name: str, mode: int
) -> None:
    given = tmp_path / "given"
    (given / name).parent.mkdir(parents=True)
    (given / name).touch()
    (given / name).chmod(0o755)
    given.chmod(mode)
    with pytest.raises(UnsafeStateDir) as refused:
        prepare(given)
    assert str(refused.value) == (
        f"{given} is not a state directory, but has other files: set another directory, new or"
        " empty"
    )
    assert [_mode(given), _mode(given / name)] == [mode, 0o755]


def test_a_directory_with_tracebacks_only_can_become_one(tmp_path: Path) -> None:
    """A command that failed before the first `kraftgate run` stores its traceback there."""
    (tmp_path / "kraftgate-crash-20260101T000000Z-x.txt").touch()
    prepare(tmp_path)


def test_what_its_owner_can_execute_stays_executable(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / "step.sh").touch()
    (tmp_path / "step.sh").chmod(0o755)
    tmp_path.chmod(0o755)
    prepare(tmp_path)
    assert [_mode(tmp_path), _mode(tmp_path / "step.sh")] == [0o700, 0o700]


def test_a_file_that_others_can_write_to_in_a_readable_one_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "store.db").touch()
    (state / "store.db").chmod(0o666)
    with pytest.raises(UnsafeStateDir, match=r"store\.db has mode 0666"):
        prepare(state)
    assert _mode(state) == 0o755


@as_root
@pytest.mark.parametrize("mode", [0o700, 0o755])
@pytest.mark.parametrize("inside", ["store.db", "clusters/prod/alerts.json"])
def test_what_belongs_to_another_user_is_refused(tmp_path: Path, inside: str, mode: int) -> None:
    """Such as what an administrator copied back as root."""
    state = tmp_path / "it's"
    (state / "clusters" / "prod").mkdir(parents=True)
    state.chmod(mode)
    (state / "clusters" / "prod" / "alerts.json").touch()
    (state / "store.db").touch()
    os.chown(state / inside, _NOBODY, _NOBODY)
    with pytest.raises(UnsafeStateDir) as refused:
        prepare(state)
    assert f"{state / inside} belongs to nobody, and kraftgate runs as root" in str(refused.value)
    assert str(refused.value).endswith(f"chown -R root '{tmp_path}/it'\"'\"'s'")


@as_root
@pytest.mark.parametrize(
    ("uid", "user"), [(_NOBODY, "nobody"), (_NAMELESS, f"'#{_NAMELESS}'")], ids=str
)
@pytest.mark.parametrize("owned", ["home/state", "home"])
def test_the_directory_of_another_user_is_not_to_be_taken_over(
    tmp_path: Path, uid: int, user: str, owned: str
) -> None:
    """Its owner, such as the service that runs, could not use it any more."""
    state = tmp_path / "home" / "state"
    state.mkdir(parents=True)
    os.chown(state, uid, uid)
    os.chown(tmp_path / owned, uid, uid)
    with pytest.raises(UnsafeStateDir) as refused:
        prepare(state)
    assert str(refused.value).endswith(
        f"and kraftgate runs as root: run it as that user: sudo -u {user} kraftgate ..."
    )


@as_root
def test_the_root_of_a_volume_can_be_one(tmp_path: Path) -> None:
    """mkfs makes lost+found, which belongs to root."""
    (tmp_path / "lost+found").mkdir()
    os.chown(tmp_path / "lost+found", _NOBODY, _NOBODY)
    prepare(tmp_path)


def test_files_that_another_process_deletes_meanwhile_are_no_error(tmp_path: Path) -> None:
    """`kraftgate run` renames temporary files while an operator's command starts."""
    (tmp_path / "lock").touch()
    prepare(tmp_path)
    ends = threading.Event()

    def writes() -> None:
        while not ends.is_set():
            replace_file(tmp_path / "source.json", b"{}", durable=False)

    thread = threading.Thread(target=writes)
    thread.start()
    try:
        for _ in range(300):
            prepare(tmp_path)
    finally:
        ends.set()
        thread.join()


def test_one_that_others_can_replace_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(UnsafeStateDir) as refused:
        prepare(shared / "here" / "state")
    assert str(refused.value).endswith(f"chmod go-w {shared}")
    assert not (shared / "here").exists()


def test_a_sticky_directory_above_it_is_safe(tmp_path: Path) -> None:
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    prepare(shared / "state")
    assert _mode(shared / "state") == 0o700


def test_the_way_through_a_symbolic_link_is_checked(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "volume").mkdir(parents=True)
    shared.chmod(0o777)
    (tmp_path / "link").symlink_to("hop/../hop")
    (tmp_path / "hop").symlink_to(shared / "volume")
    with pytest.raises(UnsafeStateDir, match=rf"{shared} has mode 0777"):
        prepare(tmp_path / "link" / "state")


@as_root
def test_a_link_of_another_user_on_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "link").symlink_to("volume")
    os.chown(tmp_path / "link", _NOBODY, _NOBODY, follow_symlinks=False)
    with pytest.raises(UnsafeStateDir) as refused:
        prepare(tmp_path / "link" / "state")
    assert str(refused.value).endswith(f"chown -h root {tmp_path / 'link'}")


def test_a_cache_that_others_can_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark runs the classes that lie there."""
    monkeypatch.setenv("KRAFTGATE_CACHE", str(tmp_path / "kraftgate"))
    (tmp_path / "kraftgate").mkdir()
    (tmp_path / "kraftgate").chmod(0o775)
    with pytest.raises(UnsafeStateDir, match=f"chmod go-w {tmp_path}/kraftgate$"):
        session._home()


def test_links_that_lead_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to("there")
    (tmp_path / "there").symlink_to("here")
    with pytest.raises(UnsafeStateDir, match="symbolic links"):
        prepare(tmp_path / "here" / "state")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (os.ST_RDONLY | os.ST_NOSUID, "Read-only file system: check its disk and mount it"),
        (os.ST_NOSUID, "Permission denied: let user "),
    ],
)
def test_a_disk_that_was_mounted_read_only_after_an_error_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: int, said: str
) -> None:
    """Simulated: a test may not mount a file system, and root can write to every other one."""
    prepare(tmp_path / "state")
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=flags))
    with pytest.raises(OSError) as refused:  # noqa: PT011  # the text is checked below
        prepare(tmp_path / "state")
    assert why_unusable(tmp_path, refused.value).startswith(f"{tmp_path}: {said}")


@pytest.mark.parametrize("is_parent", [False, True])
def test_one_with_an_execution_is_protected_and_not_replaced(
    tmp_path: Path, *, is_parent: bool
) -> None:
    state_dir = tmp_path / "kraftgate" / "state"
    prepare(state_dir)
    (state_dir / "audit.db").touch()
    wrong = state_dir.parent if is_parent else state_dir
    wrong.chmod(0o777)
    with pytest.raises(UnsafeStateDir, match="chmod go") as refused:
        prepare(state_dir)
    assert "another directory" not in str(refused.value)
