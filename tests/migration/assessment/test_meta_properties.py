"""meta.properties: one case per rule (KIP-858, "meta.properties"), and the parser."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.assessment.meta_properties import (
    FaultKind,
    InvalidMetaProperties,
    faults,
    parse,
    properties,
)
from migration.assessment.next_start import (
    Effect,
    NextStart,
    Role,
    modes_that_count,
    next_start,
    role_of,
)
from migration.image.summary import Mode
from migration.metadata.directory_ids import is_reserved
from migration.observed.probed import MetaProperties
from tests.migration.assessment.meta_cases import CASES, ID_0, ID_1, MetaCase

PATHS = ("/d0", "/d1")


def files_of(case: MetaCase) -> list[MetaProperties]:
    common = {"version": "0", "broker.id": "1", "cluster.id": "C"}
    texts = case.change([common | {"directory.id": each} for each in (ID_0, ID_1)])
    return [
        replace(
            MetaProperties(path=path, missing=True)
            if text is None
            else parse(path, text.encode("latin-1")),
            metadata_log=index == case.metadata_log_in,
        )
        for index, (path, text) in enumerate(zip(PATHS, texts, strict=True))
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faults_and_next_starts(case: MetaCase) -> None:
    """KIP-858, "Broker lifecycle management": an id in two directories ends the start."""
    files = files_of(case)
    found = faults(files, cluster_id="C", node_id=1, metadata_log_dir="/d0")
    assert tuple(each.kind for each in found) == case.faults
    starts = [
        next_start(files, mode, metadata_log_dir="/d0", cluster_id="C", node_id=1) for mode in Mode
    ]
    assert {each.mode for each in starts if each.refusal is not None} == case.refused
    assert {
        each.mode for each in starts if each.refusal is None and not each.is_safe
    } == case.harmed


def start(mode: Mode, *files: MetaProperties, cluster_id: str | None = None) -> str | list[Effect]:
    found = next_start(files, mode, metadata_log_dir=files[0].path, cluster_id=cluster_id)
    return [each.effect for each in found.directories] if found.refusal is None else found.refusal


WELL = MetaProperties(path="/d0", node_id=1, cluster_id="C", directory_id=ID_0)


def test_partitions_without_a_file_stay_in_zookeeper_and_migration_mode() -> None:
    """KIP-858, "Storage format command": in KRaft mode a directory is to be formatted."""
    bare = MetaProperties(path="/d1", missing=True, partitions=frozenset({"t-0", "t-1", "t-2"}))
    assert start(Mode.ZOOKEEPER, WELL, bare) == [Effect.KEEPS, Effect.WRITES]
    assert start(Mode.MIGRATING, WELL, bare) == [Effect.KEEPS, Effect.WRITES]
    assert "No `meta.properties` found in /d1" in start(Mode.KRAFT, WELL, bare)


def test_a_log_in_two_directories_ends_the_start_in_every_mode() -> None:
    """LogManager.loadLog; a directory that is offline loads none, and so does a controller."""
    twice = [
        replace(WELL, path=path, directory_id=id_, partitions=frozenset({"t-0", own}))
        for path, id_, own in (("/d0", ID_0, "t-1"), ("/d1", ID_1, "t-2"))
    ]
    for mode in Mode:
        assert start(mode, *twice) == (
            "Duplicate log directories for t-0 are found in both /d1/t-0 and /d0/t-0."
        )
    assert [each.kind for each in faults(twice)] == [FaultKind.DUPLICATE_LOG] * 2
    assert "t-0" in start(Mode.MIGRATING, twice[0], replace(twice[1], missing=True))
    assert "t-0" not in str(start(Mode.MIGRATING, twice[0], replace(twice[1], error="x")))
    assert controller_start(*twice).refusal is None


def test_a_first_start_generates_the_ids() -> None:
    """KIP-858, "meta.properties": a directory without an id gets one."""
    files = [replace(WELL, path=path, directory_id=None) for path in PATHS]
    assert start(Mode.ZOOKEEPER, *files) == [Effect.KEEPS] * 2
    assert start(Mode.MIGRATING, *files) == [Effect.WRITES] * 2
    assert start(Mode.KRAFT, *files) == [Effect.WRITES] * 2


SPELLINGS = ("/d1/", "//d1", "/d1/.")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_another_spelling_of_the_metadata_log_directory(spelling: str) -> None:
    """MetaPropertiesEnsemble compares the text of metadata.log.dir with that of log.dirs."""
    files = [WELL, replace(WELL, path="/d1", directory_id=ID_1, metadata_log=True)]
    first, second = sorted(("/d1", spelling))
    refusal = (
        f"Duplicate directory ID Optional[{ID_1}] found. It was the ID of {first}, but also of"
        f" {second}"
    )
    starts = {each: next_start(files, each, metadata_log_dir=spelling) for each in Mode}
    assert {mode: each.refusal for mode, each in starts.items()} == {
        Mode.ZOOKEEPER: None,
        Mode.MIGRATING: refusal,
        Mode.KRAFT: refusal,
    }
    (fault,) = faults(files, metadata_log_dir=spelling)
    assert (fault.path, fault.kind) == ("/d1", FaultKind.SPELLINGS)
    assert f"also {spelling}" in fault.text


def test_without_ids_another_spelling_lets_a_broker_start_once() -> None:
    """KafkaServer then generates an id for each spelling, and writes both to one file."""
    files = [WELL, replace(WELL, path="/d1", directory_id=None)]
    for mode in Mode:
        found = next_start(files, mode, metadata_log_dir="/d1/")
        assert found.is_safe is (mode is Mode.ZOOKEEPER)
        assert ("no later start" in found.directories[1].text) is not found.is_safe


def test_a_damaged_file_of_a_metadata_log_directory_with_another_spelling() -> None:
    bad = [WELL, MetaProperties(path="/d1", error="x")]
    found = next_start(bad, Mode.KRAFT, metadata_log_dir="/d1/")
    assert found.refusal == (
        "Encountered I/O error in metadata log directory /d1/. Cannot continue."
    )


def test_one_log_directory_with_two_spellings() -> None:
    """LogManager.createAndValidateLogDirs compares the directories; a controller has no LogManager.

    Kafka prints a path in it without its superfluous slashes.
    """
    twice = [replace(WELL, path=path, directory_id=None) for path in ("/d1", "/d1//")]
    assert start(Mode.ZOOKEEPER, *twice) == "Duplicate log directory found: /d1, /d1"
    assert controller_start(*twice).refusal is None
    assert [each.kind for each in faults(twice)] == [FaultKind.SPELLINGS] * 2
    assert "Duplicate directory ID" in start(
        Mode.ZOOKEEPER, *(replace(each, directory_id=ID_1) for each in twice)
    )


def test_no_file_can_be_read() -> None:
    """The ensemble compares the metadata log directory before LogManager opens any directory."""
    bad = [MetaProperties(path=path, error="x") for path in PATHS]
    assert "none of the specified log dirs from /d0, /d1" in start(Mode.ZOOKEEPER, *bad)
    assert "I/O error in metadata log directory /d0" in start(Mode.MIGRATING, *bad)
    assert start(Mode.KRAFT, *bad) == "No readable meta.properties files found."


def test_the_controllers_compare_the_cluster_of_a_kraft_broker() -> None:
    assert "INCONSISTENT_CLUSTER_ID" in start(Mode.KRAFT, WELL, cluster_id="D")
    assert "Expected D, but read C" in start(Mode.MIGRATING, WELL, cluster_id="D")


def test_files_of_version_1_start_in_kraft_mode_only() -> None:
    """KIP-858, "Storage format command": the version of meta.properties stays 1."""
    assert modes_that_count([replace(WELL, version=1)], Role.BROKER) == (Mode.KRAFT,)
    assert modes_that_count([WELL, replace(WELL, version=1)], Role.BROKER) == tuple(Mode)
    assert modes_that_count([MetaProperties(path="/d0", missing=True)], Role.BROKER) == tuple(Mode)


CONTROLLER = replace(WELL, version=1, node_id=3000, metadata_log=True, voters=(3000, 3001))


def controller_start(*files: MetaProperties, cluster_id: str | None = None) -> NextStart:
    return next_start(
        files,
        Mode.KRAFT,
        metadata_log_dir=files[0].path,
        cluster_id=cluster_id,
        role=Role.CONTROLLER,
    )


def test_the_directories_show_the_role() -> None:
    """A broker's copy of the metadata log names the voters, too."""
    broker = replace(WELL, metadata_log=True, voters=(3000,))
    assert role_of([broker]) is Role.BROKER
    assert role_of([replace(broker, voters=None)]) is Role.BROKER
    assert role_of([CONTROLLER, replace(CONTROLLER, path="/d1", voters=None)]) is Role.CONTROLLER
    with_partition = replace(WELL, path="/d1", partitions=frozenset({"t-0"}))
    assert role_of([CONTROLLER, with_partition]) is Role.COMBINED
    assert modes_that_count([CONTROLLER], Role.CONTROLLER) == (Mode.KRAFT,)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("role", [Role.CONTROLLER, Role.COMBINED])
def test_a_controller_starts_as_a_broker_in_kraft_mode(case: MetaCase, role: Role) -> None:
    """A combined node has a broker's replicas; a controller uses its metadata log only."""
    files = files_of(case)
    if case.metadata_log_in is None and not files[0].missing:
        files[0] = replace(files[0], metadata_log=True, voters=(1,))
    found = next_start(
        files, Mode.KRAFT, metadata_log_dir="/d0", cluster_id="C", node_id=1, role=role
    )
    assert (found.refusal is not None) is (Mode.KRAFT in case.refused)
    harmed = Mode.KRAFT in case.harmed and role is Role.COMBINED
    empty = found.refusal is None and not files[0].metadata_log
    assert found.is_safe is not (found.refusal is not None or harmed or empty)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"metadata_log": False, "voters": None}, "begins with an empty metadata log"),
        ({"directory_id": None, "voters": None}, "the node is then no voter"),
        ({"cluster_id": "D"}, "belongs to cluster D: the nodes of cluster C and this one reject"),
    ],
)
def test_what_harms_a_controller(change: dict[str, Any], text: str) -> None:
    (found,) = controller_start(replace(CONTROLLER, **change), cluster_id="C").directories
    assert found.effect is Effect.HARMS
    assert text in found.text


def test_a_voter_of_a_static_quorum_may_get_an_id() -> None:
    """KIP-858, "meta.properties": a directory without an id gets one; here it names no voter."""
    (found,) = controller_start(replace(CONTROLLER, directory_id=None)).directories
    assert (found.effect, found.text) == (Effect.WRITES, "generates a directory.id")


def test_superseded_ids_in_a_file_that_kafka_reads_are_named() -> None:
    """KIP-858, "Storage format command", an earlier text: `directory.ids` never shipped."""
    (found,) = faults([replace(WELL, old_ids=True)])
    assert found.kind is FaultKind.OLD_IDS


@pytest.mark.parametrize(
    ("number", "reserved"), [(0, True), (2, True), (3, True), (99, True), (100, False)]
)
def test_reserved_ids(number: int, *, reserved: bool) -> None:
    """KIP-858, "Reserved UUIDs": the first 100."""
    assert is_reserved(number.to_bytes(16, "big")) is reserved


def test_a_negative_low_half_is_reserved_as_in_kafka() -> None:
    """KIP-858, "Reserved UUIDs": Kafka 3.9 compares the low half as a signed number."""
    assert is_reserved(bytes(8) + b"\xff" * 8)
    assert not is_reserved(b"\x01" + bytes(15))


@pytest.mark.parametrize(
    ("data", "entries"),
    [
        (b"#a=b\n!c=d\n e = f\\:g\nh=i=j\n", {"e": "f:g", "h": "i=j"}),
        (b"a:b\r\nc d\re\tf", {"a": "b", "c": "d", "e": "f"}),
        (b"a\\=b=c\n", {"a=b": "c"}),
        (b"a=b\\\n   c\n", {"a": "bc"}),
        (b"a=\\u0041\\t\n", {"a": "A\t"}),
        (b"key\n", {"key": ""}),
        (b"a=\xe9\n", {"a": "\xe9"}),
        (b"a=1\na=2\n", {"a": "2"}),
        (b"", {}),
    ],
)
def test_properties_as_java_reads_them(data: bytes, entries: dict[str, str]) -> None:
    assert properties(data) == entries


def test_a_damaged_escape() -> None:
    with pytest.raises(InvalidMetaProperties, match="Malformed"):
        properties(b"a=\\u00g0\n")


@given(st.dictionaries(st.text("ab=: #!\\\t\n\u00e9", min_size=1), st.text("ab=: #!\\\t\n\u00e9")))
def test_what_java_writes_is_read_back(entries: dict[str, str]) -> None:
    """java.util.Properties.store escapes separators, controls and what is not Latin-1."""

    def escaped(text: str) -> str:
        return "".join(f"\\u{ord(each):04x}" if not each.isalnum() else each for each in text)

    data = "".join(f"{escaped(key)}={escaped(value)}\n" for key, value in entries.items())
    assert properties(data.encode("latin-1")) == entries


@given(st.binary())
def test_any_bytes_are_parsed_or_malformed(data: bytes) -> None:
    found = parse("/d0", data)
    for mode in Mode:
        next_start([found], mode, metadata_log_dir="/d0")
    faults([found])


@given(
    st.sampled_from((0, 1)),
    st.integers(0, 2**31 - 1),
    st.binary(min_size=16, max_size=16),
)
def test_a_valid_file(version: int, node: int, directory: bytes) -> None:
    id_ = base64.urlsafe_b64encode(directory).decode().rstrip("=")
    key = "node.id" if version else "broker.id"
    text = f"version={version}\n{key}={node}\ncluster.id=C\ndirectory.id={id_}\n"
    assert parse("/d0", text.encode()) == MetaProperties(
        path="/d0", version=version, node_id=node, cluster_id="C", directory_id=id_
    )
