"""The records of a store, cut into transactions anywhere, are all of them and each once."""

import json
import shutil
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from threading import Event as Signal
from typing import Any, ClassVar

import numpy as np
import pytest

from migration.image.cluster import ClusterImage, summarize
from migration.metadata.directory_ids import MIGRATING, DirectoryId
from migration.metadata.events import Event
from migration.shard.transitions import ABSENT, ASSIGNED_STATE, MIGRATING_STATE, place
from orchestrator.config.load import parse_config
from orchestrator.errors import PublishingError
from orchestrator.run import publishing
from orchestrator.run.identity import FollowedIds
from orchestrator.run.publishing import ClusterRecords, Position, Record
from streams.kafka.errors import ConnectionFailed, NotAuthorized
from streams.kafka.topic_writer import WriterFenced
from streams.spark.transition_files import write_transitions
from streams.state.store import BatchResult, Store, StoreError, TransitionFile
from tests.support.polling import PATIENCE_S, polls

QUERY = "3f8a2d6e"
FOLLOWED = FollowedIds(frozenset({"followed"}), ())
DIRECTORY = DirectoryId(bytes(range(16)))


def _transitions(folder: Path, until: int, rows: int, *, cluster: str = "prod") -> TransitionFile:
    migrating, assigned = place(0, MIGRATING_STATE), place(1, ASSIGNED_STATE)
    moves = [
        (until - rows + row, 1000 + row, 0, row, 1, *change)
        for row, change in zip(
            range(rows), cycle([(migrating, assigned), (ABSENT, migrating)]), strict=False
        )
    ]
    directory = folder / "transitions"
    path = write_transitions(
        directory,
        cluster,
        0,
        (1, until),
        np.array(moves, dtype=np.int64),
        [(bytes(range(16)), "orders")],
        [MIGRATING, DIRECTORY],
    )
    return TransitionFile(path=str(path.relative_to(directory)), rows=rows)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "store.db") as store:
        store.claim(QUERY)
        for batch in range(3):
            events = [
                Event(offset=None, timestamp_ms=None, kind=f"kind-{batch}-{number}", seen_ms=5)
                for number in range(4)
            ]
            result = BatchResult(
                cluster="prod",
                image=ClusterImage(),
                summary=summarize("prod", ClusterImage()),
                brokers=(),
                gone=(),
                place={"kraft_metadata": batch},
                events=events,
                files=[_transitions(tmp_path, 10 * (batch + 1), 5 + batch)],
            )
            store.commit(batch, [result], now_ms=7)
    return tmp_path


def _all(state: Path, position: Position) -> list[Any]:
    """Take each chunk with a reader of its own, as if the process had died in between."""
    found: list[Any] = []
    while True:
        records, position = ClusterRecords("prod", state).after(position)
        if not records:
            return found
        position = Position.of(position.to_text(), QUERY)
        found += [json.loads(value) for _, value in records]


@pytest.mark.parametrize("records_max", [1, 2, 3, 7, 1000])
def test_each_record_comes_once_wherever_the_transactions_end(
    state: Path, records_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "RECORDS_MAX", records_max)
    found = _all(state, Position(store=QUERY))
    events = [each for each in found if each["type"] == "event"]
    transitions = [each for each in found if each["type"] == "transition"]
    assert [each["kind"] for each in events] == [
        f"kind-{b}-{n}" for b in range(3) for n in range(4)
    ]
    assert [each["row"] for each in transitions] == [row for b in range(3) for row in range(5 + b)]
    assert len({each["file"] for each in transitions}) == 3
    assert {each["store"] for each in found} == {QUERY}


def test_a_transition_has_the_columns_of_its_file(state: Path) -> None:
    (found, *_) = [each for each in _all(state, Position(store=QUERY)) if each["type"] != "event"]
    assert (found["topic"], found["partition"], found["broker"]) == ("orders", 0, 1)
    assert (found["was"], found["now"], found["timestamp_ms"]) == ("migrating", "assigned", 1000)


def test_a_new_state_directory_is_published_from_its_beginning() -> None:
    text = Position(store="another", sequence=9, files=2, rows=1).to_text()
    assert Position.of(text, QUERY) == Position(store=QUERY)
    assert Position.of(text, "another").sequence == 9
    for foreign in ("", "7", '{"sequence": 1}', '{"store": 1}'):
        with pytest.raises(StoreError, match="was not written by Kraftgate"):
            Position.of(foreign, QUERY)


class _Writer:
    """In place of a topic: what a real one (test_two_clusters) cannot be made to do on demand."""

    failures: ClassVar[list[Exception]] = []
    written: ClassVar[list[Record]] = []
    closed: ClassVar[int] = 0
    position: ClassVar[str | None] = None

    def __init__(self, *_: object) -> None:
        """Take the place of a TopicWriter."""

    def cluster_id(self) -> str:
        return "other"

    def topic_id(self) -> str:
        return "topic id"

    def connect(self) -> str | None:
        return self.position

    def write(self, records: list[Record], position: str, _number: int) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.written.extend(records)
        type(self).position = position

    def close(self) -> None:
        type(self).closed += 1


@pytest.fixture
def publisher(state: Path, monkeypatch: pytest.MonkeyPatch) -> publishing.Publisher:
    for name in ("failures", "written"):
        monkeypatch.setattr(_Writer, name, [])
    monkeypatch.setattr(_Writer, "closed", 0)
    monkeypatch.setattr(_Writer, "position", None)
    monkeypatch.setattr(publishing, "TopicWriter", _Writer)
    monkeypatch.setattr(publishing, "_LOOK_S", 0.01)
    monkeypatch.setattr(publishing, "_AGAIN_S", 0.01)
    monkeypatch.setattr(publishing, "_QUIET_S", PATIENCE_S)
    return _publisher(state)


def _publisher(state: Path, topic: str = "kraftgate") -> publishing.Publisher:
    text = (
        f"cluster: {{name: prod}}\nstate_dir: {state}\n"
        f"publish: {{bootstrap: 'k1:9092', topic: {topic}}}\n"
    )
    config = parse_config(text, state / "kraftgate.yaml")
    assert config.publish is not None
    return publishing.Publisher(config, config.publish, lambda: FOLLOWED)


def _until(holds: Callable[[], object]) -> None:
    for _ in polls(60.0):
        if holds():
            return
    raise AssertionError("not within 60 s")


@pytest.mark.parametrize(
    "failure", [ConnectionFailed("k1:9092: no answer"), NotAuthorized("k1:9092: no answer")]
)
def test_a_topic_that_cannot_be_written_is_tried_again_and_named_once(
    publisher: publishing.Publisher, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    _Writer.failures += [failure] * 3
    with publisher:
        _until(lambda: len(_Writer.written) == 12 + 18)
        publisher.check()
    assert [each.message for each in caplog.records if each.levelname == "WARNING"] == [
        "not published: k1:9092: no answer; next attempt in 0 s",
        "publishing to kraftgate works again",
    ]
    assert _Writer.closed >= 4


def test_a_stop_that_waits_for_the_topic_is_logged_and_ends(
    publisher: publishing.Publisher,
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The topic's broker hangs."""
    del publisher
    writing, answer = Signal(), Signal()

    def hang(*_: object) -> None:
        writing.set()
        assert answer.wait(PATIENCE_S)

    monkeypatch.setattr(_Writer, "write", hang)
    monkeypatch.setattr(publishing, "_QUIET_S", 0.01)
    monkeypatch.setattr(publishing, "_STOP_S", 0.02)
    with _publisher(state) as hanging:
        assert writing.wait(PATIENCE_S)
    assert [each.message for each in caplog.records] == [
        "waiting up to 0 s for the topic kraftgate; what is not published follows at the next start"
    ]
    answer.set()
    hanging.stop()


def test_a_cluster_that_cannot_be_read_keeps_no_other_from_being_published(
    publisher: publishing.Publisher, state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file of its transitions is damaged."""
    del publisher
    config = state / "kraftgate.yaml"
    text = (
        "clusters:\n- {name: alpha, controllers: {bootstrap: 'c1:9093'}}\n- {name: prod}\n"
        f"state_dir: {state}\npublish: {{bootstrap: 'k1:9092', topic: kraftgate}}\n"
    )
    two = parse_config(text, config)
    assert two.publish is not None
    _commit(state, [], [], cluster="alpha")
    damaged = _transitions(state, 10, 3, cluster="alpha")
    _commit(state, [], [damaged], cluster="alpha", batch=4)
    (state / "transitions" / damaged.path).write_bytes(b"x")
    with publishing.Publisher(two, two.publish, lambda: FOLLOWED):
        _until(lambda: len(_Writer.written) == 12 + 18)
        _until(lambda: "not published: " in caplog.text)
    assert "cluster=alpha" in caplog.text


@pytest.mark.parametrize("failure", [WriterFenced("another process"), ValueError("unexpected")])
def test_a_window_goes_on_when_publishing_ends(
    publisher: publishing.Publisher, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    _Writer.failures.append(failure)
    with publisher:
        _until(lambda: any("nothing more is published" in each.message for each in caplog.records))
        publisher.check()
    assert not _Writer.written
    assert _Writer.closed == 1


def test_the_followed_cluster_is_never_written(
    publisher: publishing.Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Writer, "cluster_id", lambda _: "followed")
    with publisher:
        _until(lambda: _Writer.closed)
    with pytest.raises(PublishingError, match="a cluster that is followed"):
        publisher.check()
    assert not _Writer.written


@pytest.mark.parametrize(
    ("patience_s", "says"),
    [
        (
            0.0,
            [
                "not published: the cluster id of late is not known yet; `id` sets it",
                "publishing to kraftgate works again",
            ],
        ),
        (PATIENCE_S, []),
    ],
)
def test_nothing_is_written_while_the_id_of_a_followed_cluster_is_unknown(
    publisher: publishing.Publisher,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    patience_s: float,
    says: list[str],
) -> None:
    """That cluster may be the one of the topic. While Kraftgate starts, that is no warning."""
    monkeypatch.setattr(publishing, "_KNOWN_S_MAX", patience_s)
    asked: list[FollowedIds] = []

    def followed() -> FollowedIds:
        asked.append(FOLLOWED if len(asked) > 20 else FollowedIds(frozenset({"one"}), ("late",)))
        assert asked[-1] is FOLLOWED or not _Writer.written
        return asked[-1]

    monkeypatch.setattr(publisher, "_followed", followed)
    with publisher:
        _until(lambda: len(_Writer.written) == 12 + 18)
    assert [each.message for each in caplog.records if each.levelname == "WARNING"] == says


def test_a_cluster_that_is_known_to_be_followed_only_later_is_written_no_more(
    publisher: publishing.Publisher, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source may report another id after the first records were written."""
    ids = {"followed"}
    monkeypatch.setattr(publisher, "_followed", lambda: FollowedIds(frozenset(ids), ()))
    with publisher:
        _until(lambda: len(_Writer.written) == 12 + 18)
        ids.add("other")
        _commit(state, [Event(offset=None, timestamp_ms=None, kind="later", seen_ms=5)], [])
        _until(lambda: _Writer.closed)
    with pytest.raises(PublishingError, match=r"a cluster that is followed \(its id is other\)"):
        publisher.check()
    assert len(_Writer.written) == 12 + 18


def _published(state: Path) -> Path:
    return state / "clusters" / "prod" / publishing.PUBLISHED_FILE


def test_nothing_is_written_twice_after_kafka_deleted_the_position(
    publisher: publishing.Publisher, state: Path
) -> None:
    """offsets.retention.minutes after its commit; a publisher's last round is at its end."""
    with publisher:
        pass
    assert len(_Writer.written) == 12 + 18
    for _ in range(2):
        _Writer.position = None
        with _publisher(state):
            pass
    assert len(_Writer.written) == 12 + 18


def test_nothing_is_written_twice_by_a_store_that_is_put_back(
    publisher: publishing.Publisher, state: Path
) -> None:
    """Meanwhile another store has published, so Kafka's position is of that one."""
    with publisher:
        pass
    assert _Writer.position is not None
    _Writer.position = _Writer.position.replace(QUERY, "another")
    with _publisher(state):
        pass
    assert len(_Writer.written) == 12 + 18


@pytest.mark.parametrize("other", ["topic", "cluster", "store"])
def test_the_file_of_another_topic_or_store_is_not_used(
    publisher: publishing.Publisher, state: Path, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with publisher:
        pass
    _Writer.position = None
    if other == "cluster":
        monkeypatch.setattr(_Writer, "cluster_id", lambda _: "third")
    if other == "store":
        file = _published(state)
        file.write_text(file.read_text().replace(QUERY, "another"))
    with _publisher(state, "second" if other == "topic" else "kraftgate"):
        pass
    assert len(_Writer.written) == 2 * (12 + 18)


def test_a_topic_that_was_created_again_is_not_continued(
    publisher: publishing.Publisher,
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Kafka deletes the position with the topic; a file of an earlier release has no id."""
    with publisher:
        pass
    _Writer.position = None
    monkeypatch.setattr(_Writer, "topic_id", lambda _: "another")
    with _publisher(state):
        pass
    assert "the topic kraftgate was deleted and created again" in caplog.text
    assert len(_Writer.written) == 12 + 18
    file = json.loads(_published(state).read_text())
    assert file.pop("topic_id") == "topic id"
    _published(state).write_text(json.dumps(file))
    _commit(state, [Event(offset=None, timestamp_ms=None, kind="later", seen_ms=5)], [])
    with _publisher(state):
        pass
    assert len(_Writer.written) == 12 + 18 + 1


def test_an_older_file_counts_only_without_a_position_and_repeats_one_transaction(
    publisher: publishing.Publisher, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the commit of the last transaction and the file."""
    files: list[str] = []
    monkeypatch.setattr(publishing, "RECORDS_MAX", 7)
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "replace_file", lambda _, content: files.append(content))
        with publisher:
            pass
    assert len(_Writer.written) == 12 + 18
    _published(state).write_text(files[-2])
    with _publisher(state):
        pass
    assert len(_Writer.written) == 12 + 18
    _published(state).write_text(files[-2])
    _Writer.position = None
    with _publisher(state):
        pass
    assert _Writer.written == [*_Writer.written[: 12 + 18], *_Writer.written[28 : 12 + 18]]


def test_a_position_that_cannot_be_copied_is_tried_again_without_a_record_twice(
    publisher: publishing.Publisher, state: Path
) -> None:
    _published(state).parent.mkdir(parents=True)
    _published(state).mkdir()  # no file can replace it
    _Writer.position = Position(store=QUERY, sequence=9).to_text()
    with publisher:
        _until(lambda: _Writer.closed)
        assert not _Writer.written
        _published(state).rmdir()
        _until(lambda: len(_Writer.written) == 3 + 18)


def test_a_damaged_file_holds_only_where_it_is_needed(
    publisher: publishing.Publisher, state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = _published(state)
    file.parent.mkdir(parents=True)
    file.write_text("{")
    with publisher:
        _until(lambda: _Writer.closed)
        assert not _Writer.written
        _Writer.position = Position(store=QUERY, sequence=9).to_text()
        _until(lambda: len(_Writer.written) == 3 + 18)
    assert "published.json is damaged" in caplog.text


def _observe(state: Path, kind: str, seen_ms: int) -> None:
    """Commit four events more, and the file of transitions that every history has there."""
    events = [
        Event(offset=None, timestamp_ms=None, kind=f"{kind}-{n}", seen_ms=seen_ms) for n in range(4)
    ]
    _commit(state, events, [_transitions(state, 40, 3)])


def _commit(
    state: Path,
    events: Sequence[Event],
    files: Sequence[TransitionFile],
    *,
    cluster: str = "prod",
    batch: int = 3,
) -> None:
    """Commit one more batch."""
    with Store.open(state / "store.db") as store:
        result = BatchResult(
            cluster=cluster,
            image=ClusterImage(),
            summary=summarize(cluster, ClusterImage()),
            brokers=(),
            gone=(),
            place={"kraft_metadata": batch},
            events=events,
            files=files,
        )
        store.commit(batch, [result], now_ms=8)


@pytest.mark.parametrize("observed", ["nothing", "the same number of events"])
def test_what_a_restored_store_observes_is_published_after_a_decision(
    publisher: publishing.Publisher,
    state: Path,
    observed: str,
    caplog: pytest.LogCaptureFixture,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The position in Kafka is of events that the backup does not have, or has others for."""
    backup = tmp_path_factory.mktemp("backup") / "state"
    with publisher:
        _until(lambda: _published(state).exists() and len(_Writer.written) == 12 + 18)
    shutil.copytree(state, backup)
    _observe(state, "lost", 5)
    with _publisher(state):
        _until(lambda: len(_Writer.written) == 16 + 21)
    if observed != "nothing":
        _observe(backup, "new", 6)
    with _publisher(backup):
        _until(lambda: "not published: the last event or file that was published" in caplog.text)
        assert "Delete the group kraftgate-publish-prod" in caplog.text
        assert len(_Writer.written) == 16 + 21
        if observed == "nothing":
            _observe(backup, "new", 6)
        _Writer.position = None  # the group was deleted
        _until(lambda: len(_Writer.written) == 16 + 21 + 4 + 3)
    kinds = [json.loads(value).get("kind") for _, value in _Writer.written[-7:]]
    assert kinds[:4] == [f"new-{n}" for n in range(4)]


def test_a_position_of_an_earlier_release_counts_unless_the_store_ends_before_it(
    state: Path,
) -> None:
    records = ClusterRecords("prod", state)
    for position in (
        Position(store=QUERY),
        Position(store=QUERY, sequence=12, files=3),
        Position(store=QUERY, sequence=12, files=2, rows=4),
    ):
        records.check(position)
    for position in (
        Position(store=QUERY, sequence=13, files=3),
        Position(store=QUERY, sequence=12, files=4),
        Position(store=QUERY, sequence=12, files=3, rows=1),
    ):
        with pytest.raises(StoreError, match="is not in the store"):
            records.check(position)
