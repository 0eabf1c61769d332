"""No secret of the metadata log reaches the spool, and all else does, byte for byte."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kio.schema.types import TopicName
from kio.static.primitive import i8, i32

from migration.values.secret_settings import is_sensitive, setting_digest
from streams.kafka.messages import FetchReply, OffsetAndEpoch
from streams.metadata.batches import Mark, mark_at, redacted
from streams.metadata.continuity import Continuity, LogIdentity
from streams.metadata.spool import Position, Spool
from streams.wire.batches import HEADER, read_batches
from streams.wire.records import read_records
from streams.wire.schema import (
    ConfigRecordV0,
    MetadataRecord,
    NoOpRecordV0,
    TopicRecordV0,
    UserScramCredentialRecordV0,
)
from streams.wire.values import read_value
from tests.support.logs import topic_id
from tests.support.wire_writing import (
    write_batch,
    write_checkpoint,
    write_leader_change,
    write_value,
)

SECRET = "correct-horse-battery"  # noqa: S105
KEYS = (b"salt-" * 4, b"stored-key" * 6, b"server-key" * 30)


def config(name: str, value: str | None, resource: str = "1") -> ConfigRecordV0:
    return ConfigRecordV0(resource_type=i8(4), resource_name=resource, name=name, value=value)


def scram() -> UserScramCredentialRecordV0:
    salt, stored, server = KEYS
    return UserScramCredentialRecordV0(
        name="alice",
        mechanism=i8(2),
        salt=salt,
        stored_key=stored,
        server_key=server,
        iterations=i32(8192),
    )


def log(*values: MetadataRecord) -> bytes:
    """A batch before, one with the values, one behind."""
    before = write_leader_change(0, 3, 1000, 3000)
    written = write_batch(1, 3, 2000, [write_value(each) for each in values])
    behind = write_batch(1 + len(values), 3, 3000, [write_value(NoOpRecordV0())])
    return before + written + behind


SECRETS = (
    TopicRecordV0(name=TopicName("orders"), topic_id=topic_id(0)),
    config("listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config", SECRET),
    config("ssl.keystore.password", None),
    scram(),
    config("log.cleaner.threads", "2"),
)


def test_keys_and_passwords_are_overwritten_and_all_else_stays() -> None:
    written = log(*SECRETS)
    found = redacted(written)
    for secret in (SECRET.encode(), *KEYS):
        assert secret in written
        assert secret not in found
    _, batch, _ = read_batches(found, file="spool")
    values = [read_value(value) for _, _, value in batch.records()]
    assert values == [
        SECRETS[0],
        config("listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config", "*" * len(SECRET)),
        SECRETS[2],
        replace(scram(), salt=bytes(20), stored_key=bytes(60), server_key=bytes(300)),
        SECRETS[4],
    ]
    assert [read_records(each) for each in read_batches(found, file="spool")] == [
        read_records(each) for each in read_batches(written, file="log")
    ]


def test_a_log_without_secrets_is_the_same_object() -> None:
    written = log(SECRETS[0], SECRETS[4], config("ssl.keystore.password", None))
    assert redacted(written) is written


_TEXT = st.text(st.characters(codec="utf-8"), max_size=200)
_CONFIGS = st.builds(
    config,
    st.sampled_from(["ssl.key.password", "sasl.jaas.config", "log.retention.ms", "x.token"]),
    st.none() | _TEXT,
    _TEXT,
)


@given(st.lists(_CONFIGS | st.just(scram()) | st.just(NoOpRecordV0()), min_size=1, max_size=8))
@example([config("ssl.key.password", "p" * 200, "r" * 200)] * 8)
def test_any_batch_keeps_its_size_its_offsets_and_what_is_no_secret(
    values: list[MetadataRecord],
) -> None:
    written = log(*values)
    found = redacted(written)
    assert len(found) == len(written)
    assert redacted(found) == found
    for old, new in zip(
        read_batches(written, file="log"), read_batches(found, file="spool"), strict=True
    ):
        assert read_records(new) == read_records(old)
        for (_, _, before), (_, _, after) in zip(old.records(), new.records(), strict=True):
            was, now = read_value(before), read_value(after)
            if isinstance(was, ConfigRecordV0) and isinstance(now, ConfigRecordV0):
                hidden = None if was.value is None else "*" * len(was.value.encode())
                assert now == (replace(was, value=hidden) if is_sensitive(was.name) else was)
            elif isinstance(was, UserScramCredentialRecordV0):
                assert all(key not in after for key in KEYS)
            else:
                assert now == was


@given(st.binary(max_size=60), st.sampled_from([b"\x01\x04\x00", b"\x01\x0b\x00"]))
@example(b"\x02" + b"\xff" * 20, b"\x01\x04\x00")
@example(b"\x02" + b"\xff\xff\xff\x7f", b"\x01\x0b\x00")
def test_a_value_that_does_not_decode_breaks_nothing(value: bytes, frame: bytes) -> None:
    written = write_batch(0, 1, 1000, [frame + value, write_value(NoOpRecordV0())])
    found = list(read_batches(redacted(written), file="spool"))
    assert [each.size for each in found] == [len(written)]
    assert found[0].records()[1][2] == write_value(NoOpRecordV0())


@pytest.mark.parametrize(
    "name",
    [
        "ssl.keystore.password",
        "listener.name.external.ssl.key.password",
        "ssl.truststore.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.truststore.certificates",
        "listener.name.sasl_ssl.plain.sasl.jaas.config",
        "password.encoder.secret",
        "password.encoder.old.secret",
        "delegation.token.master.key",
        "delegation.token.secret.key",
        "zookeeper.ssl.keystore.password",
        "my.reporter.API.KEY",
    ],
)
def test_every_password_of_kafka_is_sensitive(name: str) -> None:
    assert is_sensitive(name)


@pytest.mark.parametrize(
    "name",
    ["cleanup.policy", "log.cleaner.threads", "listener.security.protocol.map", "ssl.key.type"],
)
def test_other_settings_are_not(name: str) -> None:
    assert not is_sensitive(name)


def _content(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_the_spool_has_no_secret_of_the_log(tmp_path: Path) -> None:
    written = log(*SECRETS)
    with Spool(tmp_path) as spool:
        spool.append(written, Position(7, 3))
    with Spool(tmp_path) as spool:
        assert spool.position == Position(7, 3)
    for secret in (SECRET.encode(), *KEYS):
        assert secret not in _content(tmp_path)


@pytest.mark.parametrize("part", [1, 7, 100, 10**6])
def test_the_spool_has_no_secret_of_a_snapshot(tmp_path: Path, part: int) -> None:
    """In whatever parts it comes, at no time."""
    values = [write_value(each) for each in SECRETS]
    snapshot = write_checkpoint(3, 1000, [values, values])
    with Spool(tmp_path) as spool:
        spool.begin_snapshot(OffsetAndEpoch(50, 3))
        for start in range(0, len(snapshot), part):
            end = min(start + part, len(snapshot))
            assert spool.append_snapshot(snapshot[start:end]) == end
            if part > 1:
                assert SECRET.encode() not in _content(tmp_path)
        assert spool.complete_snapshot() == Position(50, 3)
    assert redacted(snapshot) in _content(tmp_path)
    assert all(secret not in _content(tmp_path) for secret in (SECRET.encode(), *KEYS))


@pytest.mark.parametrize("spooled", ["redacted", "by an earlier release"])
def test_the_log_is_the_same_one_after_a_restart(spooled: str) -> None:
    """The spool ends with a batch that has secrets; the controller has it with them."""
    written = write_batch(1, 3, 2000, [write_value(each) for each in SECRETS])
    kept = redacted(written) if spooled == "redacted" else written
    tail = mark_at(kept, 1)
    assert tail is not None
    reply = FetchReply(records=written, high_watermark=6)
    here = Position(6, 3, tail=tail)
    assert Continuity().check_tail(reply, here) is LogIdentity.SAME
    other = Mark(1, tail.header[: HEADER.size - 1] + b"\xff")
    assert Continuity().check_tail(reply, replace(here, tail=other)) is LogIdentity.DOUBTFUL


def test_a_secret_has_no_digest_of_its_own() -> None:
    one, other = (setting_digest("ssl.key.password", text) for text in (SECRET, "another"))
    assert one == other
    assert setting_digest("log.retention.ms", "1") != setting_digest("log.retention.ms", "2")
