"""`kraftgate replay` and the oracle give the same answer about the same real logs.

tests/system/test_standalone.py compares them for a log that is made there.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from migration.image.summary import ClusterSummary
from migration.metadata.events import Event
from orchestrator.api.status import cluster_json
from streams.spark.query import replay
from tests.oracle.compare import differences
from tests.oracle.fixtures import cut, dump_of, forget_before, unpack
from tests.oracle.projection import project
from tests.support.pipeline import Run

Json = dict[str, Any]

HELD_SNAPSHOT = "00000000000000000185-0000000001.checkpoint"


@dataclass(frozen=True)
class Log:
    """Which part of a recorded case is replayed.

    Attributes:
        case: Its folder below ``data``.
        since: Begin with the snapshot at this offset, not with the log's first record.
        until: End the log before this offset.
        only: Replay this one file of it.
    """

    case: str
    since: int = 0
    until: int | None = None
    only: str = ""


class Replays:
    """Replays as ``kraftgate replay --json`` does, each log once.

    One Spark session serves all, and its scratch lies in the first state directory: so those
    outlive the tests.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._numbers = count()
        self._answers: dict[Log, tuple[Json, Json]] = {}

    def both(self, log: Log) -> tuple[Json, Json]:
        """Return the product's answer and the oracle's."""
        if log not in self._answers:
            number = next(self._numbers)
            path, oracle = laid_out(log, self._home / f"log-{number}")
            outcome = replay(path, self._home / f"state-{number}")
            assert outcome.damage is None
            assert outcome.summary is not None
            self._answers[log] = answer(outcome.summary, outcome.events), oracle
        return self._answers[log]


def laid_out(log: Log, folder: Path) -> tuple[Path, Json]:
    """Return the log's path, and the oracle's answer about it."""
    directory, dump = unpack(log.case, folder), dump_of(log.case)
    if log.until is not None:
        dump = cut(directory, dump, log.until)
    forget_before(directory, log.since)
    path = directory / log.only
    return path, project(path, dump)


def answer(summary: ClusterSummary, events: Sequence[Event]) -> Json:
    decoded: Json = json.loads(json.dumps(cluster_json(summary, events, complete=True)))
    return decoded


@pytest.fixture(scope="module")
def replays(tmp_path_factory: pytest.TempPathFactory) -> Replays:
    return Replays(tmp_path_factory.mktemp("replays"))


WHOLE = [
    pytest.param(Log("migration"), id="a migration whose copy was aborted once"),
    pytest.param(Log("bad-directory"), id="a hold that a deleted topic ends"),
    pytest.param(Log("bad-directory", since=185, only=HELD_SNAPSHOT), id="one checkpoint"),
    pytest.param(Log("native"), id="a life in KRaft"),
    pytest.param(Log("upgrade"), id="registrations that were amended"),
]
PARTS = [
    pytest.param(
        Log("migration", until=108, only="00000000000000000000.log"),
        id="one segment, ending within the copy, after a new leader",
    ),
    pytest.param(Log("migration", until=294), id="an end while a broker is held and unfenced"),
    pytest.param(Log("migration", since=348), id="a snapshot with new replicas after a hold"),
    pytest.param(Log("bad-directory", since=185), id="a snapshot of a broker held and unfenced"),
    pytest.param(Log("bad-directory", since=228), id="a snapshot of a broker held and fenced"),
    pytest.param(Log("native", until=200), id="an end while a directory is offline"),
    pytest.param(Log("native", since=408, until=490), id="an end without one of the brokers"),
]


@pytest.mark.spark
@pytest.mark.parametrize("log", WHOLE)
def test_replay_says_what_the_oracle_says(log: Log, replays: Replays) -> None:
    product, oracle = replays.both(log)
    assert differences(product, oracle, since=log.since) == []


@pytest.mark.parametrize("log", PARTS)
def test_the_functions_of_the_job_say_what_the_oracle_says(log: Log, tmp_path: Path) -> None:
    """They come to the same with Spark: see above, and tests/fuzz/test_whole_logs.py."""
    path, oracle = laid_out(log, tmp_path / "log")
    run = Run().follow(path, 2**40)
    assert differences(answer(run.summary, run.events), oracle, since=log.since) == []


@pytest.mark.spark
def test_a_snapshot_is_no_event(replays: Replays) -> None:
    product, oracle = replays.both(Log("bad-directory", since=185, only=HELD_SNAPSHOT))
    assert differences(product, oracle) == []
