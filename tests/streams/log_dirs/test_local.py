"""Whether a path of this host is a broker's log directory."""

import os
import socket
import threading
from pathlib import Path

import pytest

from migration.assessment.conditions import parse
from migration.assessment.failed_directories import failed_directories
from migration.assessment.finding import Verdict
from migration.image.summary import BrokerSummary, Mode, Phase
from migration.observed.log_dirs import DisksImage, observe
from streams.kafka.broker_values import LogDirAnswer
from streams.log_dirs import local_host
from streams.log_dirs.compare import Compared, answered, unanswered
from streams.log_dirs.local_host import LocalReader, is_own_host, read_local
from streams.log_dirs.remembered import NOTHING, LocalDir
from tests.migration.assessment.conditions.views import SUMMARY, broker, seen
from tests.streams.log_dirs.world import inputs, log_dir
from tests.support.polling import PATIENCE_S, until

ID = "uSLaubyUxZGsRKrz8FtoCw"
VERSION_0 = "#\n#Sat Nov 21 2026\nversion=0\nbroker.id=2\ncluster.id=c\n"
VERSION_1 = f"version=1\nnode.id=2\ncluster.id=c\ndirectory.id={ID}\n"


def with_meta(path: Path, text: str) -> Path:
    (path / "meta.properties").write_text(text)
    return path


def test_a_zookeeper_brokers_directory(tmp_path: Path) -> None:
    """KIP-858, "Storage formatting": earlier releases ignore directory.id."""
    assert read_local(with_meta(tmp_path, VERSION_0), 2, "c") == LocalDir(is_own=True, version=0)


def test_a_kraft_brokers_directory(tmp_path: Path) -> None:
    """KIP-858, "meta.properties": version 1 with directory.id."""
    assert read_local(with_meta(tmp_path, VERSION_1), 2, "c") == LocalDir(
        is_own=True, directory_id=ID, version=1
    )


def test_a_migrating_brokers_directory(tmp_path: Path) -> None:
    """KIP-858, "Migrating a cluster in ZK mode ...": meta.properties gets a directory.id."""
    text = VERSION_0 + f"directory.id={ID}\n"
    assert read_local(with_meta(tmp_path, text), 2, "c").directory_id == ID


@pytest.mark.parametrize(("broker", "cluster"), [(3, "c"), (2, "d")])
def test_anothers_directory_is_not_ours(tmp_path: Path, broker: int, cluster: str) -> None:
    found = read_local(with_meta(tmp_path, VERSION_0), broker, cluster)
    assert not found.is_own
    assert "broker 2 of cluster c" in str(found.trouble)


def test_an_empty_mount_point_is_not_ours(tmp_path: Path) -> None:
    assert not read_local(tmp_path, 2, "c").is_own


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        (None, "has no meta.properties, and 1 folders of partitions"),
        (VERSION_1.replace("2", "3"), "meta.properties belongs to broker 3 of cluster c"),
        (VERSION_1.replace("version=1", "version=7"), "Unknown meta.properties version number 7"),
        ("", "meta.properties belongs to broker None of cluster None"),
    ],
)
def test_a_bad_file_is_not_an_unreadable_directory(
    tmp_path: Path, text: str | None, trouble: str
) -> None:
    (tmp_path / "t-0").mkdir()
    if text is not None:
        with_meta(tmp_path, text)
    found = read_local(tmp_path, 2, "c")
    assert (found.is_own, found.has_bad_file, found.directory_id) == (False, True, None)
    assert found.folders == {"t-0"}
    assert trouble in str(found.trouble)
    assert found.version is None
    assert not read_local(tmp_path / "gone", 2, "c").has_bad_file


def test_a_file_in_its_place_is_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "d0"
    path.touch()
    assert not read_local(path, 2, "c").is_own


def test_the_draft_of_kip_858_is_worth_saying(tmp_path: Path) -> None:
    """KIP-858, "Storage format command", an earlier text."""
    found = read_local(with_meta(tmp_path, VERSION_1 + f"directory.ids={ID}\n"), 2, "c")
    assert found.is_own
    assert "KIP-858" in str(found.trouble)


def test_the_folders_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-1").touch()
    assert read_local(with_meta(tmp_path, VERSION_0), 2, "c").folders == {"t-0"}


class Host:
    """The host of broker 2, which is in migration mode: t-0 is in d0, t-1 in d1."""

    def __init__(self, root: Path) -> None:
        self.paths = {str(root / f"d{number}"): f"t-{number}" for number in range(2)}
        for path, folder in self.paths.items():
            self.make(Path(path))
            (Path(path) / folder).mkdir()
        self.known, self.image = NOTHING, DisksImage()
        self.answers([log_dir(path, number) for number, path in enumerate(self.paths)])

    def make(self, path: Path) -> None:
        path.mkdir()
        with_meta(path, VERSION_0)

    def answers(self, answer: list[LogDirAnswer]) -> None:
        self._take(answered(self.known, answer, inputs(local_dirs=self._read())))

    def is_down(self, *, is_read: bool = True) -> None:
        local_dirs = self._read() if is_read else {}
        self._take(unanswered(self.known, "refused", inputs(local_dirs=local_dirs)))

    def restart(self) -> Verdict:
        halted = broker(2, Mode.MIGRATING, fenced=True)
        return self.judge("no_hazard(restart, 2)", halted)

    def judge(self, condition: str, one: BrokerSummary) -> Verdict:
        now = seen(broker(1), one, broker(3), phase=Phase.HYBRID, disks=self.disks())
        return parse(condition).judge(now).verdict

    def disks(self) -> DisksImage:
        assert SUMMARY.disks is not None
        return DisksImage(brokers={**SUMMARY.disks.brokers, 2: self.image.brokers[2]})

    def _read(self) -> dict[str, LocalDir]:
        return {path: read_local(Path(path), 2, "c") for path in self.paths}

    def _take(self, done: Compared) -> None:
        self.known = done.known
        for fact in (done.disks, *done.facts):
            self.image, _ = observe(self.image, fact)


def test_a_halted_broker_whose_disk_has_no_replicas_must_not_start(tmp_path: Path) -> None:
    host, disk, failed = Host(tmp_path), tmp_path / "d1", tmp_path / "failed"
    disk.rename(failed)
    host.is_down()
    assert host.restart() is Verdict.VIOLATED
    host.make(disk)
    host.is_down()
    assert host.restart() is Verdict.VIOLATED
    (disk / "t-1").mkdir()
    host.is_down()
    assert host.restart() is Verdict.SATISFIED


def test_a_halted_broker_whose_disks_are_no_longer_read_is_unchecked(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.is_down()
    assert host.restart() is Verdict.SATISFIED
    (tmp_path / "d1").rename(tmp_path / "failed")
    host.is_down(is_read=False)
    assert host.restart() is Verdict.VIOLATED


def test_a_served_directory_without_its_file_forbids_a_restart(tmp_path: Path) -> None:
    """Kafka does not start then (KRaft mode); the disk is well."""
    host, file = Host(tmp_path), tmp_path / "d1" / "meta.properties"
    serving = [log_dir(path, number) for number, path in enumerate(host.paths)]
    in_kraft = broker(2, Mode.KRAFT)

    def verdicts() -> list[Verdict]:
        wanted = ("log_dirs_online(2)", "no_hazard(restart, 2)")
        return [host.judge(each, in_kraft) for each in wanted]

    file.unlink()
    host.answers(serving)
    assert verdicts() == [Verdict.SATISFIED, Verdict.VIOLATED]
    host.is_down()
    assert host.judge("no_hazard(restart, 2)", in_kraft) is Verdict.VIOLATED
    assert not failed_directories(seen(in_kraft, disks=host.disks()).summary)
    host.answers(serving)
    with_meta(file.parent, VERSION_0)
    host.answers(serving)
    assert verdicts() == [Verdict.SATISFIED, Verdict.SATISFIED]


def test_which_hosts_are_this_one() -> None:
    assert is_own_host("127.0.0.1")
    assert is_own_host("localhost")
    assert not is_own_host("192.0.2.1")
    assert not is_own_host("no-such-host.invalid")


def test_a_hosts_name_may_map_to_another_loopback_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.1.1", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert is_own_host("b1")


def test_a_disk_that_hangs_holds_one_look_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released, started = threading.Event(), list[str]()

    def hang(path: Path, *_: object) -> LocalDir:
        started.append(os.fspath(path))
        released.wait()
        return LocalDir(is_own=True)

    reader = LocalReader(timeout_s=0.05)
    with monkeypatch.context() as patched:
        patched.setattr(local_host, "read_local", hang)
        for _ in range(3):
            found = reader.read(str(tmp_path), 2, "c")
            assert (found.is_own, "takes over" in str(found.trouble)) == (False, True)
        until(lambda: started)
        assert started == [str(tmp_path)]
        released.set()
        held = next(iter(reader._held.values()))
        held.join()
    with_meta(tmp_path, VERSION_0)
    reader._timeout_s = PATIENCE_S
    assert reader.read(str(tmp_path), 2, "c").is_own
