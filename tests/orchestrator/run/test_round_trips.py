"""Whatever is written into the state directory reads back: any 64-bit number, any Unicode text."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from migration.assessment.alerts import AlertStates
from migration.image.cluster import ClusterImage
from migration.image.summary import ClusterSummary
from migration.metadata.events import Event
from migration.observed.source_status import SourceStatus
from orchestrator.config.alerts import WebhookReceiver
from orchestrator.notify.delivery import Delivery
from orchestrator.notify.delivery_file import DeliveryFile, ReceiverState
from orchestrator.run import alert_file, execution_status
from orchestrator.run.reader import read_status
from streams.metadata import spool_info
from streams.metadata.batches import Mark
from streams.state.source_status import STATUS_FILE, write_status
from streams.state.store import BatchResult, Store, broker_json, read_summary, summary_json
from streams.wire.batches import HEADER
from tests.support.examples import examples

_HEADER = HEADER.size
_INT64 = st.integers(-(2**63), 2**63 - 1)
_few = examples(15, suppress=list(HealthCheck))


def _dictionary(kind: object) -> st.SearchStrategy[dict[object, object]]:
    key, value = get_args(kind)
    return st.dictionaries(st.from_type(key), st.from_type(value), max_size=2)


@pytest.fixture(autouse=True, scope="module")
def _numbers_of_64_bits() -> Iterator[None]:
    """Foreign numbers are bounded where they are read."""
    st.register_type_strategy(int, _INT64)
    st.register_type_strategy(Mapping, _dictionary)
    yield
    st.register_type_strategy(int, st.integers())


@_few
@given(st.data())
def test_a_sources_status(data: st.DataObject) -> None:
    status = data.draw(st.from_type(SourceStatus))
    with TemporaryDirectory() as folder:
        write_status(Path(folder, "clusters", "c", STATUS_FILE), status)
        assert read_status(Path(folder), "c") == status


def test_half_a_character_in_a_sources_words_hides_nothing_else(tmp_path: Path) -> None:
    status = SourceStatus(observed_ms=7, waiting="the file d\udcff")
    write_status(tmp_path / "clusters" / "c" / STATUS_FILE, status)
    assert read_status(tmp_path, "c") == SourceStatus(observed_ms=7, waiting="the file d?")


@pytest.mark.slow
@_few
@given(st.data())
def test_a_summary(data: st.DataObject) -> None:
    summary = data.draw(st.from_type(ClusterSummary))
    brokers = [broker_json(each) for each in summary.brokers]
    assert read_summary(summary_json(summary), brokers) == summary


@pytest.mark.slow
@_few
@given(st.data())
def test_an_event_in_the_store(data: st.DataObject) -> None:
    values = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())
    event = data.draw(
        st.builds(
            Event,
            timestamp_ms=st.none() | st.integers(-8_640_000_000_000_000, 8_640_000_000_000_000),
            fields=st.dictionaries(st.text(), values),
            seen_ms=_INT64,
        )
    )
    outcome = BatchResult(
        cluster="c",
        image=ClusterImage(),
        summary=data.draw(st.from_type(ClusterSummary)),
        brokers=(),
        gone=(),
        place={"zookeeper": data.draw(_INT64)},
        events=(event,),
        files=(),
    )
    with TemporaryDirectory() as folder, Store.open(Path(folder, "store.db")) as store:
        store.commit(0, [outcome], data.draw(_INT64))
        assert [each for _, each in store.events("c")] == [event]
        assert store.place("c", "zookeeper") == outcome.place["zookeeper"]


@pytest.mark.slow
@_few
@given(st.data())
def test_what_stands(data: st.DataObject) -> None:
    standings = data.draw(st.from_type(AlertStates))
    with TemporaryDirectory() as folder:
        file = Path(folder, "alerts.json")
        alert_file.AlertFile(file).keep(standings)
        assert alert_file.read(file) == standings


@_few
@given(st.data())
def test_what_a_receiver_was_told(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        receiver = WebhookReceiver.model_construct(url="https://alerts.example.com/")
        ledger = DeliveryFile(Path(folder), "pager", receiver)
        book = data.draw(st.dictionaries(st.text(), st.from_type(Delivery), max_size=3))
        account = ReceiverState(
            receiver_id=ledger.read().receiver_id,
            deliveries=book,
            success_ms=data.draw(st.none() | _INT64),
            failure_ms=data.draw(st.none() | _INT64),
            error=data.draw(st.none() | st.text()),
        )
        ledger.write(account)
        assert ledger.read() == account


@pytest.mark.slow
@_few
@given(st.data())
def test_where_a_runbook_is(data: st.DataObject) -> None:
    walk = data.draw(st.from_type(execution_status.ExecutionStatus))
    with TemporaryDirectory() as folder:
        execution_status.write(Path(folder, "walk.json"), walk)
        assert execution_status.read(Path(folder, "walk.json")) == walk


@_few
@given(st.data())
def test_what_a_spool_is_of(data: st.DataObject) -> None:
    """With the heads that a spool has: one for each of its logs, a batch header or none yet."""
    head = st.builds(Mark, st.integers(0, 2**63 - 1), st.binary(min_size=_HEADER, max_size=_HEADER))
    heads = st.lists(st.none() | head, min_size=1, max_size=3).map(tuple)
    spool = data.draw(
        st.builds(spool_info.SpoolInfo, cluster_id=st.none() | st.text(), heads=heads)
    )
    with TemporaryDirectory() as folder:
        spool_info.save(Path(folder), spool)
        assert spool_info.load(Path(folder)) == spool
