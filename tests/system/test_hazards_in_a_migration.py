"""H1, H2 and H3 on a real cluster: reported and blocked before the restart, named after it.

Each directory fails, the test asks Kraftgate whether the broker may be restarted, and restarts it
anyway. The loss that Kraftgate reports is then compared with Kafka's own watermarks.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterUserScramCredentialsRequest,
    IncrementalAlterConfigsRequest,
)

from migration.assessment.hazards import HazardKind
from migration.image.summary import Phase
from migration.metadata.events import Source
from migration.metadata.replica_state import ReplicaState
from orchestrator.lab import Lab, LabSpec
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from tests.support.lab_steps import watermarks, zookeeper_client
from tests.system.asking import (
    active,
    answered,
    asked,
    blocked,
    directory_id,
    free,
    of,
    on_disk,
)
from tests.system.killing import Killed

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=3.5)]

RECORDS = 40
OF_EACH = [[1], [1], [1], [1], [2], [2], [2], [2]]
"""Partitions of one replica: Kafka spreads those of a broker over its two directories."""
_BROKER = 4
_SET = 0
_SCRAM_SHA_256 = 1
_REQUEST_MS_MAX = 30_000


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=2, directories=2, controllers=2)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("old", assignments=OF_EACH)
        lab.create_topic("copied", 6, 2)
        _settings_of_all_kinds(lab)
        yield lab


@pytest.fixture
def run(lab: Lab, tmp_path: Path) -> Iterator[Killed]:
    sources = (
        f'zookeeper: {{connect: "{lab.zookeeper_connect}"}}\n'
        f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
    )
    with Killed(tmp_path, lab.controller_bootstrap, lab.cluster_id, sources) as run:
        run.start()
        yield run


def lost(run: Killed, topic: str) -> set[int]:
    return {
        int(str(event.fields["partition"]))
        for event in run.events()
        if of("records_lost", topic=topic)(event)
    }


def test_what_a_restart_would_lose_is_said_before_and_named_after(lab: Lab, run: Killed) -> None:
    """KIP-858, "Migrating a cluster in ZK mode ..." and "Handling log directory failures"."""
    run.wait_for(lambda now: now.disks is not None and len(now.disks.brokers) == 2)
    _zookeeper_dies_and_a_broker_freezes(lab, run)
    _an_earlier_attempt_left_its_znode(lab, run)
    lab.start_controllers()
    for broker in lab.spec.broker_ids:
        lab.enter_migration(broker)
    lab.wait_copied()
    run.wait_for(lambda now: now.phase is Phase.HYBRID)
    _somebody_writes_to_zookeeper(lab, run)
    lab.create_topic("young", assignments=OF_EACH)
    lab.wait_in_sync()
    for topic in ("old", "young"):
        for partition in range(len(OF_EACH)):
            lab.produce(topic, partition, RECORDS)
    for broker in (1, 2):
        # The question makes Kraftgate poll the log end offsets, from which it computes a loss.
        asked(run, broker, 0)
    _which_path_is_which_directory(lab, run, {(1, 0), (1, 1), (2, 0), (2, 1)})
    _h1(lab, run)
    _h2_and_h3(lab, run)
    _which_path_is_which_directory(lab, run, {(1, 0), (2, 0)})
    _somebody_finalizes_too_early(lab, run)
    run.stopped(run.interrupt_group)


def _zookeeper_dies_and_a_broker_freezes(lab: Lab, run: Killed) -> None:
    """The job continues; the timeline shows the stale interval, and the state recovers."""
    before = run.wait_for(lambda now: now.zookeeper is not None and len(now.zookeeper.brokers) == 2)
    lab.kill("zookeeper")
    blind = run.wait_for_event(of("zookeeper_blind"))
    lab.start("zookeeper")
    again = run.wait_for_event(of("zookeeper_seen_again"))
    assert again.fields["blind_since_ms"] == blind.seen_ms
    after = run.wait_for(
        lambda now: (
            now.zookeeper is not None
            and now.zookeeper.blind_since_ms is None
            and len(now.zookeeper.brokers) == 2
            and now.zookeeper.controller is not None
        )
    )
    assert before.zookeeper is not None
    assert after.zookeeper is not None
    assert after.zookeeper.brokers.keys() == before.zookeeper.brokers.keys()
    assert after.phase is Phase.ZOOKEEPER
    lab.freeze("broker-2")
    frozen = run.wait_for_event(
        lambda event: (
            of("disks_unreachable", 2)(event) and (event.seen_ms or 0) > (again.seen_ms or 0)
        )
    )
    lab.thaw("broker-2")
    run.wait_for_event(
        lambda event: (
            of("disks_answer_again", 2)(event) and (event.seen_ms or 0) > (frozen.seen_ms or 0)
        )
    )
    lab.wait_in_sync()
    run.wait_for(lambda now: now.zookeeper is not None and len(now.zookeeper.brokers) == 2)


def _an_earlier_attempt_left_its_znode(lab: Lab, run: Killed) -> None:
    """A new quorum that finds it would skip the copy and wipe ZooKeeper."""
    left = {
        "version": 0,
        "kraft_metadata_offset": 283,
        "kraft_controller_id": 3000,
        "kraft_metadata_epoch": 1,
        "kraft_controller_epoch": 1,
    }
    with zookeeper_client(lab.zookeeper_connect) as client:
        client.create("/migration", json.dumps(left).encode())
        run.wait_for_event(of("migration_znode_found", metadata_offset=283))
        blocked(run, "migrate", HazardKind.STALE_MIGRATION_ZNODE)
        client.delete("/migration")
        run.wait_for_event(of("migration_znode_deleted"))
    free(run, "--before", "migrate")


def _somebody_finalizes_too_early(lab: Lab, run: Killed) -> None:
    """Kafka does not reject it (KAFKA-20960); `kraftgate hazards` did."""
    blocked(run, "finalize", HazardKind.FINALIZE_TOO_EARLY)
    (standby,) = {3000, 3001} - {lab.active_controller()}
    lab.finalize_controller(standby, early=True)
    ahead = blocked(run, "restart", HazardKind.CONTROLLER_ENDS_MIGRATION)
    assert f"controller {standby} was restarted without the migration enabled" in ahead["text"]
    assert "broker 1 is in migrating mode" in ahead["evidence"]
    lab.finalize(early=True)
    run.wait_for(lambda now: now.phase is Phase.FINALIZED)
    hazard = active(run, HazardKind.FINALIZED_TOO_EARLY)
    assert "broker 1 is in migrating mode" in hazard["evidence"]
    assert any("broker 2 has replicas" in line for line in hazard["evidence"])


def _settings_of_all_kinds(lab: Lab) -> None:
    """Let Kafka write them while it uses ZooKeeper, so that the copy includes them."""
    user, threads = "al ice+", [("log.cleaner.threads", _SET, "2")]
    quotas = [
        ([("user", user)], [("producer_byte_rate", 1024.0, False)]),
        ([("user", None), ("client-id", "a")], [("request_percentage", 12.5, False)]),
        ([("ip", None)], [("connection_creation_rate", 90.0, False)]),
    ]
    credential = (user, _SCRAM_SHA_256, 4096, b"salt", b"a salted password")
    holder = lab.zookeeper.controller()
    assert holder is not None
    (endpoint,) = Endpoint.parse_list(lab.broker(holder[0]).address)
    with Node(endpoint, Security()) as controller:
        configs, entries, users = (
            controller.send(each, wait_ms=_REQUEST_MS_MAX)
            for each in (
                IncrementalAlterConfigsRequest(
                    resources=[(_BROKER, "", threads)], validate_only=False
                ),
                AlterClientQuotasRequest(entries=quotas, validate_only=False),
                AlterUserScramCredentialsRequest(deletions=[], upsertions=[credential]),
            )
        )
    answers = [*configs.responses, *entries.entries, *users.results]
    assert [each.error_code for each in answers] == [0] * 5, answers


def _somebody_writes_to_zookeeper(lab: Lab, run: Killed) -> None:
    """ZooKeeper and the metadata log have equal content until a client changes one of them."""
    lab.wait_in_sync()  # else the controller still writes what is written here
    compared = run.wait_for(lambda now: now.content.at_ms is not None).content
    assert compared.compared >= len(OF_EACH) + 6 + 2
    assert compared.unreadable == 0
    with zookeeper_client(lab.zookeeper_connect) as client:
        state, config = "/brokers/topics/copied/partitions/0/state", "/config/topics/old"
        topic, default = "/brokers/topics/old", "/config/brokers/<default>"
        user = "/config/users/al%20ice%2B"
        was = {path: client.get(path)[0] for path in (state, config, topic, default, user)}
        isr = json.loads(was[state])["isr"]
        client.set(state, json.dumps(json.loads(was[state]) | {"isr": isr[:1]}).encode())
        client.set(config, b'{"version":1,"config":{"retention.ms":"1"}}')
        client.set(default, b'{"version":1,"config":{"log.cleaner.threads":"3"}}')
        client.set(user, was[user].replace(b"1024", b"1025"))
        client.set(topic, b"{")
        client.create("/brokers/ids/9", client.get("/brokers/ids/1")[0], ephemeral=True)
        event = run.wait_for_event(of("zookeeper_differs", what="isr"))
        assert (event.source, event.fields["subject"]) == (Source.ZOOKEEPER, "copied-0")
        event = run.wait_for_event(of("znode_not_compared"))
        assert (event.fields["path"], event.fields["reason"]) == (topic, "its content is not JSON")
        found = run.wait_for(lambda now: now.content.lasting.keys() >= {"config", "registration"})
        assert {each.subject for each in found.content.named} == {
            "broker 9",
            "broker default: log.cleaner.threads",
            "copied-0",
            "quotas of user 'al ice+': producer_byte_rate",
            "topic old: retention.ms",
        }
        hazard = blocked(run, "finalize", HazardKind.CONTENT_DIFFERS)
        assert "registration of broker 9: ZooKeeper present, metadata log absent" in str(hazard)
        assert hazard["blocks"] == "finalize"
        answered(
            run,
            lambda _, event: len(event["unknown"]) == 1 and topic in event["unknown"][0],
            *("--before", "finalize"),
        )
        client.delete("/brokers/ids/9")
        for path, data in was.items():
            client.set(path, data)
        run.wait_for_event(of("differences_over"))
        run.wait_for_event(of("znodes_compared_again"))


def _which_path_is_which_directory(
    lab: Lab, run: Killed, usable: Iterable[tuple[int, int]]
) -> None:
    expected = {
        (broker, str(lab.directory(broker, index))): directory_id(lab.directory(broker, index))
        for broker, index in usable
    }
    now = run.wait_for(
        lambda now: expected.keys() <= {(each.broker, each.path) for each in now.places.identities}
    )
    found = {(each.broker, each.path): each.directory for each in now.places.identities}
    assert {at: found[at] for at in expected} == expected


def _h1(lab: Lab, run: Killed) -> None:
    """A broker in migration mode halts if its directory fails; its restart recreates the logs."""
    doomed = {topic: on_disk(lab, 1, 1, topic) for topic in ("old", "young")}
    lab.fail_directory(1, 1)
    lab.wait_dead("broker-1")
    run.wait_for_event(of("replicas_cut_off", 1, path=str(lab.directory(1, 1))))
    hazard = blocked(run, "restart", HazardKind.RESTART_LOSES_REPLICAS, 1)
    assert str(lab.directory(1, 1)) in hazard["text"]
    assert "H1" in hazard["text"]
    named = {line.partition(":")[0] for line in hazard["evidence"] if "the only replica" in line}
    assert named == {f"{topic}-{each}" for topic in doomed for each in doomed[topic]}
    lab.start("broker-1")
    for topic, partitions in doomed.items():
        assert partitions
        run.wait_for(lambda _, t=topic, p=partitions: lost(run, t) >= p)  # type: ignore[misc]
        assert lost(run, topic) == partitions
        for partition in range(len(OF_EACH)):
            end = 0 if partition in partitions else RECORDS
            assert watermarks(lab, topic, partition) == (0, end)
    event = run.wait_for_event(of("records_lost", 1))
    assert (event.fields["first_lost_offset"], event.fields["last_lost_offset"]) == (0, RECORDS - 1)
    active(run, HazardKind.REPLICAS_RECREATED, 1)


def _h2_and_h3(lab: Lab, run: Killed) -> None:
    """In KRaft mode, unassigned replicas are recreated, and migrating ones are rejected."""
    young, old = on_disk(lab, 2, 1, "young"), on_disk(lab, 2, 1, "old")
    lab.stop("broker-2")
    lab.fail_directory(2, 1)
    run.wait_for_event(of("replicas_cut_off", 2, path=str(lab.directory(2, 1))))
    hazard = blocked(run, "restart", HazardKind.RESTART_LOSES_REPLICAS, 2)
    lab.move_to_kraft(2)
    run.wait_for(lambda _: lost(run, "young") >= young)
    assert young
    for partition in young:
        assert watermarks(lab, "young", partition) == (0, 0)
    # Those of the copied topics stay without a directory for good, and the broker is held.
    held = run.wait_for(lambda now: any(each.id == 2 and each.held for each in now.brokers))
    (broker,) = (each for each in held.brokers if each.id == 2)
    assert broker.replicas[ReplicaState.MIGRATING] >= len(old) > 0
    hazard = active(run, HazardKind.RESTART_LOSES_REPLICAS, 2)
    assert "not be created if migrating (H3)" in hazard["text"]
