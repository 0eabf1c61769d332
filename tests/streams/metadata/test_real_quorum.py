"""A real quorum: the spool equals the controllers' logs, whichever controller leads."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kio.schema.describe_quorum.v2 import request as describe
from kio.schema.types import TopicName
from kio.static.primitive import i32

from orchestrator.lab import Lab, LabSpec
from streams.kafka.connection import Connection
from streams.kafka.messages import METADATA_TOPIC
from streams.metadata.follower import Follower
from streams.metadata.spool import Spool
from streams.net.endpoint import Endpoint
from streams.net.listener import Listener
from streams.net.security import Security
from streams.wire.batches import read_batches
from tests.streams.metadata.quorum import PATIENCE_S, config, mirrored, until, wait_for

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=0, controllers=3)) as made:
        made.start_kraft()
        yield made


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool(tmp_path / "spool") as made:
        yield made


def assert_same_bytes(lab: Lab, spool: Spool, controllers: tuple[int, ...]) -> None:
    ours = mirrored(spool)
    assert ours
    for id_ in controllers:
        theirs = (lab.metadata_log_dir(f"controller-{id_}") / f"{0:020d}.log").read_bytes()
        assert theirs[: len(ours)] == ours


def test_follows_from_offset_0_and_mirrors_every_byte(lab: Lab, spool: Spool) -> None:
    with Follower(config(lab), spool) as follower:
        start = spool.position.next_offset
        assert wait_for(follower, start + 30, PATIENCE_S)
        # A controller that has just started describes its cluster a moment later.
        until(follower, lambda _: spool.cluster_id is not None)
        status = until(follower, lambda s: s.high_watermark == s.next_offset)
        assert (status.waiting, status.error) == (None, None)
        assert status.cluster_id == spool.cluster_id == lab.cluster_id
        # A busy voter may cause an election at any time.
        until(follower, lambda s: s.active_controller == lab.active_controller())
    lab.wait_quorum_caught_up()
    assert_same_bytes(lab, spool, lab.spec.controller_ids)
    batches = list(read_batches(mirrored(spool), file="spool"))
    assert batches[-1].last_offset + 1 == spool.position.next_offset
    assert batches[-1].leader_epoch == spool.position.epoch


def test_any_controller_leads_to_the_leader(lab: Lab, tmp_path: Path) -> None:
    for n, endpoint in enumerate(config(lab).endpoints):
        with Spool(tmp_path / str(n)) as spool:
            only = Listener((endpoint,))
            with Follower(only, spool) as follower:
                assert wait_for(follower, 5, PATIENCE_S)
                until(follower, lambda s: s.active_controller == lab.active_controller())


def test_never_is_an_observer_or_a_voter(lab: Lab, spool: Spool) -> None:
    with Follower(config(lab), spool) as follower:
        assert wait_for(follower, 5, PATIENCE_S)
        endpoint = until(follower, lambda s: s.endpoint is not None).endpoint
        assert endpoint is not None
        connection = Connection(Endpoint.parse_list(endpoint)[0], Security())
        partition = describe.PartitionData(partition_index=i32(0))
        topic = describe.TopicData(topic_name=TopicName(METADATA_TOPIC), partitions=(partition,))
        reply = connection.ask(describe.DescribeQuorumRequest(topics=(topic,)))
        connection.close()
    (found,) = reply.topics[0].partitions
    assert {voter.replica_id for voter in found.current_voters} == set(lab.spec.controller_ids)
    assert found.observers == ()


def test_follows_the_new_leader_when_the_old_one_is_killed(lab: Lab, spool: Spool) -> None:
    with Follower(config(lab), spool) as follower:
        assert wait_for(follower, 10, PATIENCE_S)
        before = until(follower, lambda s: s.endpoint is not None)
        epoch = before.leader_epoch or 0
        killed = f"controller-{before.active_controller}"
        lab.kill(killed)
        try:
            after = until(
                follower,
                lambda s: (s.leader_epoch or 0) > epoch and s.endpoint is not None,
            )
            assert after.active_controller != before.active_controller
            assert wait_for(follower, follower.position.next_offset + 4, PATIENCE_S)
        finally:
            lab.start(killed)
        assert wait_for(follower, follower.position.next_offset + 4, PATIENCE_S)
    lab.wait_quorum_caught_up()
    assert_same_bytes(lab, spool, lab.spec.controller_ids)
    epochs = {b.leader_epoch for b in read_batches(mirrored(spool), file="spool")}
    assert len(epochs) >= 2


def test_leaves_a_leader_that_hangs(lab: Lab, spool: Spool) -> None:
    with Follower(config(lab), spool) as follower:
        assert wait_for(follower, 10, PATIENCE_S)
        before = until(follower, lambda s: s.endpoint is not None)
        epoch = before.leader_epoch or 0
        frozen = f"controller-{before.active_controller}"
        lab.freeze(frozen)
        try:
            until(
                follower,
                lambda s: (s.leader_epoch or 0) > epoch and s.endpoint is not None,
            )
            assert frozen != f"controller-{lab.active_controller()}"
            assert wait_for(follower, follower.position.next_offset + 4, PATIENCE_S)
        finally:
            lab.thaw(frozen)
    lab.wait_quorum_caught_up()
    assert_same_bytes(lab, spool, lab.spec.controller_ids)


def test_another_cluster_is_refused(lab: Lab, spool: Spool) -> None:
    with Follower(config(lab, "AAAAAAAAAAAAAAAAAAAAAA"), spool) as follower:
        # A controller that has just started reports its cluster id at a later attempt.
        status = until(follower, lambda s: s.cluster_id == lab.cluster_id)
        assert status.error is not None
        both = f"belongs to cluster {lab.cluster_id}, not to AAAAAAAAAAAAAAAAAAAAAA"
        assert both in status.error
        assert status.cluster_id == lab.cluster_id
        assert spool.position.next_offset == 0
    assert spool.cluster_id is None
