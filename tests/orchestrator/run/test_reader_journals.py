"""A reader opens a journal again only after a commit, and then always."""

import os
from pathlib import Path

from migration.assessment.assess import Journal as JournalState
from migration.assessment.data_source import DataSource
from migration.observed.facts import ZooKeeperBlind
from orchestrator.config.load import parse_config
from orchestrator.run.reader import Reader
from streams.state.journal import Journal

CONFIG = "cluster: {name: prod}\nzookeeper: {connect: 'z1:2181'}\nstate_dir: state\n"


class Read:
    """A journal, and what a reader of its directory says of it."""

    def __init__(self, folder: Path) -> None:
        config = parse_config(CONFIG, folder / "kraftgate.yaml")
        file = config.state_dir / "clusters" / "prod" / "zookeeper.db"
        self.files = (file, file.with_name(f"{file.name}-wal"))
        self.journal = Journal(file)
        self._reader = Reader(config, newest=1, opener=lambda _: None)

    def append(self) -> None:
        self.journal.append([ZooKeeperBlind(7, "x")])

    def now(self) -> JournalState:
        (one,) = self._reader.read(1_000)
        return one.journals[DataSource.ZOOKEEPER]

    def hide_times(self) -> None:
        """Let the files' times say nothing: a commit is shown after its fsync, which takes time."""
        for each in self.files:
            os.utime(each, ns=(10**18, 10**18))


def test_every_commit_is_seen(tmp_path: Path) -> None:
    read = Read(tmp_path)
    for number in range(1, 6):
        read.append()
        read.hide_times()
        assert read.now() == JournalState(last=number, read=0, unread_ms=7)
        assert read.now().last == number


def test_an_unchanged_journal_is_not_opened_again(tmp_path: Path) -> None:
    read = Read(tmp_path)
    read.append()
    before = read.now()
    for each in read.files:
        each.write_bytes(b"x" * each.stat().st_size)
    assert read.now() == before
    config = parse_config(CONFIG, tmp_path / "kraftgate.yaml")
    (another,) = Reader(config, newest=1, opener=lambda _: None).read(1_000)
    assert another.journals[DataSource.ZOOKEEPER].last is None
