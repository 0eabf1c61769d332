"""Records of any date: read, added up, kept and shown."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from migration.metadata.directory_ids import MIGRATING
from migration.observed.source_status import NO_STATUS
from migration.shard.transitions import ABSENT, place
from migration.values.timestamps import LATEST_MS, iso, within
from orchestrator.api.status import status_json
from orchestrator.output.formatting import event_fields, pairs
from orchestrator.run.reader import ClusterRead
from orchestrator.views.terminal.closing import closing
from streams.spark.shard_batch import pack_shard, unpack_shard
from streams.spark.transition_files import read_transitions, write_transitions
from streams.state.store import broker_json, read_summary, summary_json
from tests.support.assessing import assessed, entry
from tests.support.examples import examples
from tests.support.logs import Action, values
from tests.support.pipeline import Run
from tests.support.wire_writing import write_batch, write_leader_change

_EXTREMES = (-(2**63), 2**63 - 1, 253_402_300_800_000, -62_167_219_200_001, 2**53, 0)
_TIMES = st.sampled_from(_EXTREMES) | st.integers(-(2**63), 2**63 - 1)
_HELD: list[Action] = [(9, 0, 0, 1), (0, 0, 0, 0), (3, 0, 0, 3), (11, 0, 1, 0), (5, 0, 0, 0)]


def _segment(made: list[bytes], times: list[int]) -> bytes:
    written = [write_leader_change(0, 1, times[0], 3000)]
    for offset, value in enumerate(made, 1):
        written.append(write_batch(offset, 1, times[offset % len(times)], [value]))
    return b"".join(written)


@examples(60, suppress=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(*[st.integers(0, 17), *[st.integers(0, 7)] * 3]), max_size=12),
    st.lists(_TIMES, min_size=1, max_size=6),
)
@example([], [253_402_300_800_000])
@example([], [-(2**63), 2**63 - 1])
def test_a_record_of_any_date_is_read_kept_and_shown(drawn: list[Action], times: list[int]) -> None:
    with TemporaryDirectory() as folder:
        made = values(_HELD + drawn)
        Path(folder, f"{0:020d}.log").write_bytes(_segment(made, times))
        run = Run().follow(Path(folder), 2**40)
    for packed in run.states.values():
        assert pack_shard(*unpack_shard(packed)) == packed
    summary = run.summary
    kept = read_summary(summary_json(summary), [broker_json(each) for each in summary.brokers])
    assert kept == summary
    now_ms = 1_795_311_000_000
    numbered = tuple(enumerate(run.events, 1))
    read = ClusterRead(summary=kept, events=numbered, status=NO_STATUS)
    state = status_json(assessed(read, now_ms, of=entry(), stall_after_ms=1))
    told = json.loads(json.dumps(state))
    assert [each["timestamp"] for each in told["events"]] == [
        iso(each.timestamp_ms) for each in run.events if each.timestamp_ms is not None
    ]
    assert all(pairs(event_fields(each)) for each in run.events)
    assert closing(summary)


def test_a_date_beyond_what_is_computed_with_is_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}.log").write_bytes(_segment(values(_HELD), [2**63 - 1]))
    assert Run().follow(tmp_path, 2**40).summary.observed_ms == LATEST_MS


def test_transitions_of_any_date_are_written_and_read(tmp_path: Path) -> None:
    times = sorted((-LATEST_MS, LATEST_MS, *_EXTREMES))
    table = np.array(
        [
            (offset, at_ms, 0, 0, 2**31 - 1, ABSENT, place(0, 0))
            for offset, at_ms in enumerate(times)
        ],
        dtype=np.int64,
    )
    until = (1, len(times))
    path = write_transitions(tmp_path, "c", 0, until, table, [(bytes(16), "t")], [MIGRATING])
    found = read_transitions(tmp_path, [str(path.relative_to(tmp_path))])
    assert found.at_ms.tolist() == [within(each) for each in times]
    assert found.brokers.tolist() == [2**31 - 1] * len(times)
