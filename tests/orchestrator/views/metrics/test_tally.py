"""Events are counted in the store: once each, over restarts, whatever the view was shown."""

from pathlib import Path

import pytest

from migration.image.cluster import ClusterImage, summarize
from migration.image.summary import Phase
from migration.metadata.events import Event
from orchestrator.config.load import Config, parse_config
from orchestrator.errors import FollowingError
from orchestrator.run.reader import Reader, Tally
from streams.state.store import BatchResult, Store
from tests.scenes.night import NOW_MS
from tests.support.assessing import assessed


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return parse_config("clusters: [{name: a}, {name: b}]\n", tmp_path / "kraftgate.yaml")


def commit(config: Config, batch: int, cluster: str, *events: Event) -> None:
    image = ClusterImage()
    outcome = BatchResult(
        cluster=cluster,
        image=image,
        summary=summarize(cluster, image),
        brokers=(),
        gone=(),
        place={},
        events=events,
        files=(),
    )
    with Store.open(config.state_dir / "store.db") as store:
        store.commit(batch, [outcome], now_ms=1)


def event(kind: str, offset: int, **fields: object) -> Event:
    return Event(offset=offset, timestamp_ms=1000 + offset, kind=kind, fields=fields)


def tallies(reader: Reader) -> dict[str, Tally]:
    return {each.summary.cluster: each.tally for each in reader.read(NOW_MS)}


def test_before_the_first_batch_nothing_is_counted(config: Config) -> None:
    assert tallies(Reader(config, newest=None)) == {"a": Tally(), "b": Tally()}


def test_each_event_is_counted_once(config: Config) -> None:
    held, copying = event("broker_held", 4), event("phase_changed", 5, now="copying")
    commit(config, 0, "a", held, copying, held)
    commit(config, 1, "b", held)
    reader = Reader(config, newest=2)
    first = tallies(reader)
    assert first["a"].counts == {"broker_held": 2, "phase_changed": 1}
    assert first["a"].phase is not None
    assert first["a"].phase.fields == {"now": "copying"}
    assert first["b"] == Tally(last=4, counts={"broker_held": 1}, since_ms=1)
    assert tallies(reader) == first
    commit(config, 2, "a", event("phase_changed", 9, now="hybrid"), held)
    then = tallies(reader)
    assert then["a"].counts == {"broker_held": 3, "phase_changed": 2}
    assert then["a"].phase is not None
    assert then["a"].phase.fields == {"now": "hybrid"}
    assert then["b"] == first["b"]
    assert tallies(Reader(config, newest=None)) == then


def test_a_phase_that_a_snapshot_shows_lasts_since_the_snapshot(config: Config) -> None:
    """And not since the first event: ZooKeeper may have been followed before."""
    snapshot = event("snapshot_loaded", 5, phase="hybrid")
    commit(config, 0, "a", event("zookeeper_seen_again", 1), snapshot)
    reader = Reader(config, newest=None)
    first = tallies(reader)["a"]
    assert first.phase_began_ms(Phase.HYBRID) is None
    assert first.phase_seen_ms(Phase.HYBRID) == snapshot.timestamp_ms
    assert first.phase_seen_ms(Phase.COPYING) is None
    commit(config, 1, "a", event("broker_held", 6))
    assert tallies(reader)["a"].snapshot == first.snapshot
    commit(config, 2, "a", event("snapshot_loaded", 9, phase="hybrid"))
    again = tallies(reader)["a"]
    assert again.phase_seen_ms(Phase.HYBRID) == snapshot.timestamp_ms, "another one moves nothing"
    assert tallies(Reader(config, newest=None))["a"] == again
    commit(config, 3, "a", event("snapshot_loaded", 12, phase="dual-write"))
    commit(config, 4, "a", event("snapshot_loaded", 15, phase="hybrid"))
    assert tallies(reader)["a"].phase_seen_ms(Phase.HYBRID) == 1015, "it was in another one"
    commit(config, 5, "a", event("phase_changed", 16, now="dual-write"))
    commit(config, 6, "a", event("snapshot_loaded", 19, phase="hybrid"))
    assert tallies(reader)["a"].phase_seen_ms(Phase.HYBRID) == 1019


def test_the_alerts_have_the_time_of_the_snapshot(config: Config) -> None:
    phase = str(ClusterImage().phase)
    commit(config, 0, "a", event("snapshot_loaded", 5, phase=phase))
    read = Reader(config, newest=None).read(NOW_MS)[0]
    view = assessed(read, NOW_MS).assessment.view
    assert (view.phase_began_ms, view.phase_seen_ms) == (None, 1005)


def test_a_store_that_cannot_be_read_is_told(config: Config) -> None:
    commit(config, 0, "a")
    reader = Reader(config, newest=None)
    tallies(reader)
    (config.state_dir / "store.db").write_bytes(b"no database " * 1000)
    with pytest.raises(FollowingError, match=r"store\.db cannot be read"):
        tallies(reader)
