"""A real controller: one that goes away, one that has trimmed its log, one that keeps secrets."""

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kio.schema.alter_user_scram_credentials.v0 import request as credentials
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1 import request as configs
from kio.static.primitive import i8, i32

from migration.observed.source_status import controllers_now_ms
from orchestrator.lab import Lab, LabSpec
from streams.kafka.node import Node
from streams.metadata.batches import redacted
from streams.metadata.follower import Follower
from streams.metadata.log_files import Listing, listing
from streams.metadata.spool import Spool
from streams.net.security import Security
from streams.wire.batches import read_batches
from streams.wire.schema import UserScramCredentialRecordV0
from streams.wire.values import read_value
from tests.streams.metadata.quorum import PATIENCE_S, config, mirrored, until, wait_for

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=1.5)]

CONTROLLER = "controller-3000"
TRIM_S = 120.0
"""KafkaRaftClient cleans its log once a minute."""
TRIMMING = {
    "metadata.log.segment.min.bytes": "1024",
    "metadata.log.segment.bytes": "1024",
    "metadata.log.max.record.bytes.between.snapshots": "1000",
    "metadata.max.retention.bytes": "2048",
    "metadata.max.retention.ms": "1000",
    "metadata.max.idle.interval.ms": "100",
}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=0, controller_properties=TRIMMING)) as made:
        made.start_kraft()
        yield made


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool(tmp_path / "spool") as made:
        yield made


def wait_trimmed(lab: Lab, beyond: int) -> Listing:
    deadline = time.monotonic() + TRIM_S
    while (files := listing(lab.metadata_log_dir(CONTROLLER))).segments[0].base_offset <= beyond:
        assert time.monotonic() < deadline, files
        time.sleep(0.2)
    return files


def test_no_controller_is_a_named_wait_and_its_return_is_noticed(lab: Lab, spool: Spool) -> None:
    with Follower(config(lab), spool) as follower:
        assert wait_for(follower, 10, PATIENCE_S)
        lab.kill(CONTROLLER)
        try:
            status = until(follower, lambda s: s.waiting is not None and "refused" in s.waiting)
            assert status.waiting is not None
            assert "no controller reachable" in status.waiting
            assert status.error is None
        finally:
            lab.start(CONTROLLER)
        assert wait_for(follower, follower.position.next_offset + 2, PATIENCE_S)
        assert until(follower, lambda s: s.waiting is None).error is None


def test_a_log_trimmed_meanwhile_is_replaced_by_its_snapshot(lab: Lab, tmp_path: Path) -> None:
    with Spool(tmp_path / "spool") as spool, Follower(config(lab), spool) as follower:
        assert wait_for(follower, 10, PATIENCE_S)
    behind = spool.position.next_offset
    wait_trimmed(lab, beyond=behind)
    with Spool(tmp_path / "spool") as spool:
        assert spool.position.next_offset == behind
        with Follower(config(lab), spool) as follower:
            assert wait_for(follower, behind, PATIENCE_S)
            assert wait_for(follower, follower.position.next_offset + 20, PATIENCE_S)
        theirs = listing(lab.metadata_log_dir(CONTROLLER))
        ours = listing(spool.directory)
        snapshot = ours.checkpoints[-1]
        assert snapshot.end_offset > behind
        assert (ours.segments[-1].base_offset) == snapshot.end_offset
        same = next(c for c in theirs.checkpoints if c.path.name == snapshot.path.name)
        # Another test of this lab may have stored a password before; the spool never holds one.
        assert snapshot.path.read_bytes() == redacted(same.path.read_bytes())
        log = b"".join(redacted(segment.path.read_bytes()) for segment in theirs.segments)
        assert ours.segments[-1].path.read_bytes() in log
        for path in (snapshot.path, ours.segments[-1].path):
            assert "baseOffset" in lab.dump_log(path)


OF_A_NODE, SCRAM_SHA_256 = 4, 1
"""Kafka's numbers of a kind of settings, and of a mechanism."""
PASSWORD = "orange-bicycle-beneath-seven-lamps"  # noqa: S105


def secrets(lab: Lab) -> set[bytes]:
    """What the controller's own log has of keys and passwords."""
    found = {PASSWORD.encode()}
    for segment in listing(lab.metadata_log_dir(CONTROLLER)).segments:
        content = segment.path.read_bytes()
        for batch in read_batches(content, file=segment.path.name, allow_partial_tail=True):
            for _, _, value in batch.records():
                record = read_value(value)
                if isinstance(record, UserScramCredentialRecordV0):
                    found |= {record.salt, record.stored_key, record.server_key}
    return found


def setting(name: str, value: str) -> configs.IncrementalAlterConfigsRequest:
    """A dynamic setting of the controller's node."""
    change = configs.AlterableConfig(name=name, config_operation=i8(0), value=value)
    node = configs.AlterConfigsResource(
        resource_type=i8(OF_A_NODE), resource_name="3000", configs=(change,)
    )
    return configs.IncrementalAlterConfigsRequest(resources=(node,), validate_only=False)


def user(name: str, password: str) -> credentials.AlterUserScramCredentialsRequest:
    """What Kafka's tools send of a password: the controller stores keys that it derives."""
    salt, iterations = b"pepper", 4096
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    made = credentials.ScramCredentialUpsertion(
        name=name,
        mechanism=i8(SCRAM_SHA_256),
        iterations=i32(iterations),
        salt=salt,
        salted_password=salted,
    )
    return credentials.AlterUserScramCredentialsRequest(deletions=(), upsertions=(made,))


def test_no_secret_of_the_log_is_spooled(lab: Lab, spool: Spool) -> None:
    """A user's SCRAM keys, a password of a node's reporter; Kafka's own tool reads the rest."""
    with Follower(config(lab), spool) as follower:
        assert wait_for(follower, 0, PATIENCE_S)
        with Node(config(lab).endpoints[0], Security()) as controller:
            configured = controller.ask(setting("my.reporter.password", PASSWORD))
            known = controller.ask(user("alice", PASSWORD))
        for each in (*configured.responses, *known.results):
            assert each.error_code is ErrorCode.none, each
        theirs = secrets(lab)
        deadline = time.monotonic() + PATIENCE_S
        while b"alice" not in (ours := mirrored(spool)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert len(theirs) == 4
    assert [secret for secret in theirs if secret in ours] == []
    dumps = [lab.dump_log(segment.path) for segment in listing(spool.directory).segments]
    shown = "".join(dumps)
    assert "USER_SCRAM_CREDENTIAL_RECORD" in shown
    assert '"name":"my.reporter.password","value":"' + "*" * len(PASSWORD) in shown
    assert "isvalid: false" not in shown


def test_an_empty_spool_begins_with_the_snapshot(lab: Lab, spool: Spool) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not listing(lab.metadata_log_dir(CONTROLLER)).checkpoints[1:]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    with Follower(config(lab), spool) as follower:
        assert wait_for(follower, 0, PATIENCE_S)
        ours = listing(spool.directory)
        assert [c.end_offset for c in ours.checkpoints] == [ours.segments[0].base_offset]
        assert wait_for(follower, follower.position.next_offset + 5, PATIENCE_S)
        status = until(follower, lambda now: now.record_seen_ms is not None)
        assert abs(controllers_now_ms(status, 0)) < 60_000  # they are on the same host
    assert mirrored(spool)
