"""`meta.properties`: what is wrong with a broker's files, and what its next start makes of them.

Kafka 3.9 reads the files in MetaPropertiesEnsemble.Loader and MetaProperties.Builder, and compares
them in MetaPropertiesEnsemble.verify. KafkaServer.startup (ZooKeeper and migration mode) writes the
files that are missing; KafkaRaftServer.initializeLogDirs (KRaft mode) refuses to start without
them. LogManager treats a directory whose file cannot be read as offline.
"""

import enum
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from migration.image.summary import Mode
from migration.metadata.directory_ids import (
    InvalidDirectoryId,
    from_text,
    is_reserved,
    to_text,
)
from migration.observed.probed import MetaProperties
from migration.values.foreign import INT32_MAX

META: Final = "meta.properties"
METADATA_LOG: Final = "__cluster_metadata-0"
_INT: Final = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_PAIR: Final = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class InvalidMetaProperties(ValueError):
    """Kafka cannot read the file; the text is Kafka's reason."""


def properties(data: bytes) -> Mapping[str, str]:
    r"""Return the entries of a file by the rules of java.util.Properties.load.

    Raises:
        InvalidMetaProperties: a `\\u` is not followed by four hexadecimal digits.
    """
    found = {}
    for line in _lines(re.split(r"\r\n|\r|\n", data.decode("latin-1"))):
        pair = _PAIR.fullmatch(line)
        if pair is not None:
            found[_plain(pair[1])] = _plain(pair[2])
    return found


def _lines(natural: Sequence[str]) -> Iterator[str]:
    """Yield the logical lines: an odd number of backslashes at the end continues a line."""
    begun = ""
    for line in natural:
        text = line.lstrip(" \t\f")
        if not begun and (not text or text[0] in "#!"):
            continue
        begun += text
        if (len(begun) - len(begun.rstrip("\\"))) % 2:
            begun = begun[:-1]
            if begun:
                continue
        yield begun
        begun = ""
    if begun:
        yield begun


def _plain(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        escaped = found[1]
        if len(escaped) > 1:
            return chr(int(escaped[1:], 16))
        if escaped == "u":
            raise InvalidMetaProperties("Malformed \\uxxxx encoding.")
        return _CONTROLS.get(escaped, escaped)

    return _ESCAPE.sub(one, text)


def parse(path: str, data: bytes) -> MetaProperties:
    """Return the content of a directory's file; a file that Kafka cannot read has an `error`."""
    try:
        found = properties(data)
    except InvalidMetaProperties as error:
        return MetaProperties(path=path, error=str(error))
    known = MetaProperties(
        path=path, cluster_id=found.get("cluster.id"), old_ids="directory.ids" in found
    )
    try:
        return _parsed(known, found)
    except InvalidMetaProperties as error:
        return replace(known, error=str(error))


def _parsed(known: MetaProperties, found: Mapping[str, str]) -> MetaProperties:
    text = found.get("version", "0")
    version = _int32(text.strip())
    if version is None:
        raise InvalidMetaProperties(f"Invalid meta.properties version string '{text}'")
    if version not in (0, 1):
        raise InvalidMetaProperties(f"Unknown meta.properties version number {version}")
    key = "node.id" if version else "broker.id"
    node_id = None
    if key in found:
        node_id = _int32(found[key])
        if node_id is None:
            raise InvalidMetaProperties(f"Unable to read {key} as a base-10 number.")
    elif version:
        raise InvalidMetaProperties("Failed to find node.id")
    id_ = found.get("directory.id")
    if id_ is not None:
        try:
            id_ = to_text(from_text(id_.removesuffix("==")))
        except InvalidDirectoryId as error:
            raise InvalidMetaProperties(
                f"Unable to read directory.id as a Uuid: {error}"
            ) from error
    if version and known.cluster_id is None:
        raise InvalidMetaProperties("cluster.id was not found.")
    return replace(known, version=version, node_id=node_id, directory_id=id_)


def _int32(text: str) -> int | None:
    number = int(text) if _INT.fullmatch(text) else None
    return number if number is not None and -INT32_MAX - 1 <= number <= INT32_MAX else None


class FaultKind(enum.StrEnum):
    """What can be wrong with a directory's file; public in `meta-properties --json`."""

    MISSING = "missing"
    MALFORMED = "malformed"
    OLD_IDS = "superseded_directory_ids"
    CLUSTER = "cluster_mismatch"
    NODE = "node_mismatch"
    RESERVED_ID = "reserved_directory_id"
    DUPLICATE_ID = "duplicate_directory_id"
    NO_ID = "no_directory_id"
    METADATA_LOG = "metadata_log_elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault of one directory's file."""

    path: str
    kind: FaultKind
    text: str


def faults(
    files: Sequence[MetaProperties],
    *,
    cluster_id: str | None = None,
    node_id: int | None = None,
    metadata_log_dir: str | None = None,
) -> tuple[Fault, ...]:
    """Return the faults of one broker's files.

    Args:
        files: of all its directories.
        cluster_id: the first readable file's if None.
        node_id: the first readable file's if None.
        metadata_log_dir: not compared if None.
    """
    read = ids_of(files)
    found = [
        *file_faults(
            files, cluster_id=cluster_id, node_id=node_id, metadata_log_dir=metadata_log_dir
        ),
        *id_faults({0: read}, {0} if any(read.values()) else ()).get(0, ()),
    ]
    order = [each.path for each in files]
    return tuple(sorted(found, key=lambda each: order.index(each.path)))


def file_faults(
    files: Sequence[MetaProperties],
    *,
    cluster_id: str | None = None,
    node_id: int | None = None,
    metadata_log_dir: str | None = None,
) -> tuple[Fault, ...]:
    """Return the faults of one broker's files, except those of the directory ids."""
    cluster = _expected_cluster(files, cluster_id)
    node = _expected_node(files, node_id)

    def of(one: MetaProperties) -> Iterator[tuple[FaultKind, str]]:
        yield from _unreadable(one)
        if not one.readable:
            return
        if one.cluster_id is not None and one.cluster_id != cluster:
            yield FaultKind.CLUSTER, f"belongs to cluster {one.cluster_id}, not {cluster}"
        if one.node_id is not None and one.node_id != node:
            yield FaultKind.NODE, f"belongs to broker {one.node_id}, not {node}"
        if one.metadata_log and metadata_log_dir not in (None, one.path):
            yield (
                FaultKind.METADATA_LOG,
                f"has {METADATA_LOG}, but the metadata log directory is {metadata_log_dir}",
            )

    return tuple(
        Fault(path=one.path, kind=kind, text=text) for one in files for kind, text in of(one)
    )


def _unreadable(one: MetaProperties) -> Iterator[tuple[FaultKind, str]]:
    if one.old_ids:
        text = (
            "has directory.ids, which no released Kafka writes or reads: it is of an early draft"
            " of KIP-858; Kafka reads directory.id"
        )
        yield FaultKind.OLD_IDS, text
    if one.error is not None:
        yield FaultKind.MALFORMED, f"Kafka cannot read {META}: {one.error}"
    elif one.missing:
        inside = f"{one.partitions} folders of partitions" if one.partitions else "no partition"
        yield FaultKind.MISSING, f"has no {META}, and {inside}"


Ids: TypeAlias = Mapping[str, str | None]
"""The directory.id of each directory of a broker whose file was read; None: it has none."""


def ids_of(files: Sequence[MetaProperties]) -> Ids:
    """Return the ids in the files that Kafka can read."""
    return {each.path: each.directory_id for each in files if each.readable}


def id_faults(ids: Mapping[int, Ids], need_ids: Collection[int]) -> Mapping[int, tuple[Fault, ...]]:
    """Return the faults of the directory ids of each broker that has any.

    A broker with a reserved id, or with one id in two directories, does not start
    (MetaPropertiesEnsemble.verify); if the id is another broker's, the controller rejects its
    registration (INVALID_REGISTRATION). If an id is missing, the broker generates a new one, and
    each replica in that directory stays assigned to an id that no longer exists.

    Args:
        ids: by broker.
        need_ids: brokers whose directories must have ids.
    """
    places: dict[str, list[tuple[int, str]]] = {}
    for broker, own in ids.items():
        for path, id_ in own.items():
            if id_ is not None:
                places.setdefault(id_, []).append((broker, path))

    def of(broker: int, path: str, id_: str | None) -> tuple[FaultKind, str] | None:
        if id_ is None:
            missing = FaultKind.NO_ID, f"no directory.id in {META}"
            return missing if broker in need_ids else None
        if _reserved(id_):
            return FaultKind.RESERVED_ID, f"directory.id {id_} is reserved"
        others = [each for each in places[id_] if each != (broker, path)]
        named = ", ".join(p if b == broker else f"{p} of broker {b}" for b, p in others)
        return (FaultKind.DUPLICATE_ID, f"directory.id {id_}, as in {named}") if others else None

    found = {
        broker: tuple(
            Fault(path=path, kind=fault[0], text=fault[1])
            for path, id_ in own.items()
            if (fault := of(broker, path, id_)) is not None
        )
        for broker, own in ids.items()
    }
    return {broker: each for broker, each in found.items() if each}


def _expected_cluster(files: Sequence[MetaProperties], given: str | None) -> str | None:
    if given is not None:
        return given
    first = (one.cluster_id for one in _in_order(files) if one.cluster_id is not None)
    return next(first, None)


def _expected_node(files: Sequence[MetaProperties], given: int | None) -> int | None:
    if given is not None:
        return given
    return next((one.node_id for one in _in_order(files) if one.node_id is not None), None)


def _in_order(files: Sequence[MetaProperties]) -> list[MetaProperties]:
    """Return the readable files as Kafka reads them: by path."""
    return sorted((each for each in files if each.readable), key=lambda each: each.path)


def _reserved(id_: str) -> bool:
    try:
        return is_reserved(from_text(id_))
    except InvalidDirectoryId:
        return False


class Effect(enum.StrEnum):
    """What a start does to one directory; public in `meta-properties --json`."""

    KEEPS = "keeps"
    WRITES = "writes"
    HARMS = "harms"


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryEffect:
    """What the start does to one directory."""

    path: str
    effect: Effect
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStart:
    """The broker's next start in one mode.

    Attributes:
        refusal: Kafka's reason not to start; None: it starts.
        directories: what the start does to each; empty if it refuses.
    """

    mode: Mode
    refusal: str | None
    directories: tuple[DirectoryEffect, ...] = ()

    @property
    def is_safe(self) -> bool:
        harms = any(each.effect is Effect.HARMS for each in self.directories)
        return self.refusal is None and not harms


def next_start(
    files: Sequence[MetaProperties],
    mode: Mode,
    *,
    metadata_log_dir: str,
    cluster_id: str | None = None,
    node_id: int | None = None,
) -> NextStart:
    """Return what the broker does at its next start in the mode.

    Args:
        files: of all its directories.
        mode: of the next start.
        metadata_log_dir: one of the directories; a broker in ZooKeeper mode does not use it.
        cluster_id: of ZooKeeper (/cluster/id) or the controllers; the first file's if None.
        node_id: the configured one; the first file's if None.
    """
    reason = _refusal(files, mode, metadata_log_dir, cluster_id, node_id)
    if reason is not None:
        return NextStart(mode=mode, refusal=reason)
    have_ids = any(each.directory_id for each in files)
    effects = tuple(_effect(each, mode, have_ids=have_ids) for each in files)
    return NextStart(mode=mode, refusal=None, directories=effects)


def modes_that_count(files: Sequence[MetaProperties]) -> tuple[Mode, ...]:
    """Return the modes in which the broker may start next.

    Only a node that was formatted for KRaft has files of version 1 alone.
    """
    versions = {each.version for each in files if each.readable}
    return (Mode.KRAFT,) if versions == {1} else (Mode.ZOOKEEPER, Mode.MIGRATING, Mode.KRAFT)


def _refusal(
    files: Sequence[MetaProperties],
    mode: Mode,
    metadata_log_dir: str,
    cluster_id: str | None,
    node_id: int | None,
) -> str | None:
    read = _in_order(files)
    if mode is Mode.KRAFT and not read:
        return "No readable meta.properties files found."
    # A broker in KRaft mode compares its files with each other; the controllers compare the id.
    given = None if mode is Mode.KRAFT else cluster_id
    reason = _verify(read, mode, _expected_cluster(files, given), _expected_node(files, node_id))
    if reason is not None:
        return reason
    if mode is not Mode.ZOOKEEPER and any(
        each.path == metadata_log_dir and each.error is not None for each in files
    ):
        return (
            f"Encountered I/O error in metadata log directory {metadata_log_dir}. Cannot continue."
        )
    if all(each.error is not None for each in files):
        paths = ", ".join(each.path for each in files)
        return (
            f"Shutdown broker because none of the specified log dirs from {paths} can be created or"
            " validated"
        )
    return _kraft_refusal(files, metadata_log_dir, cluster_id) if mode is Mode.KRAFT else None


def _verify(
    read: Sequence[MetaProperties], mode: Mode, cluster: str | None, node: int | None
) -> str | None:
    seen: dict[str, str] = {}
    for one in read:
        file = f"{one.path}/{META}"
        if mode is Mode.ZOOKEEPER and one.version != 0:
            return (
                f"Found unexpected version in {file}. ZK-based brokers that are not migrating only"
                " support version 0 (which is implicit when the `version` field is missing)."
            )
        if one.cluster_id is not None and one.cluster_id != cluster:
            return f"Invalid cluster.id in: {file}. Expected {cluster}, but read {one.cluster_id}"
        if one.node_id is not None and one.node_id != node:
            return (
                f"Stored node id {one.node_id} doesn't match previous node id {node} in {file}."
                " If you moved your data, make sure your configured node id matches."
            )
        if one.directory_id is None:
            continue
        if _reserved(one.directory_id):
            # Kafka's own spelling
            return f"Invalid resrved directory ID {one.directory_id} found in {one.path}"
        before = seen.setdefault(one.directory_id, one.path)
        if before != one.path:
            return (
                f"Duplicate directory ID Optional[{one.directory_id}] found. It was the ID of"
                f" {before}, but also of {one.path}"
            )
    return None


def _kraft_refusal(
    files: Sequence[MetaProperties], metadata_log_dir: str, cluster_id: str | None
) -> str | None:
    read = _in_order(files)
    for one in read:
        if one.metadata_log and one.path != metadata_log_dir:
            return (
                "Found unexpected metadata location in data directory"
                f" `{one.path}/{METADATA_LOG}` (the configured metadata directory is"
                f" {metadata_log_dir})."
            )
    for path in sorted(each.path for each in files if each.missing):
        return (
            f"No `meta.properties` found in {path} (have you run `kafka-storage.sh` to format the"
            " directory?)"
        )
    for one in read:
        if one.node_id is None:
            return f"Error: node ID not found in {one.path}"
        if one.cluster_id is None:
            return f"Error: cluster ID not found in {one.path}"
    if cluster_id is not None and read[0].cluster_id != cluster_id:
        return (
            f"the controllers reject its registration (INCONSISTENT_CLUSTER_ID): they belong to"
            f" cluster {cluster_id}, its files to {read[0].cluster_id}"
        )
    return None


def _effect(one: MetaProperties, mode: Mode, *, have_ids: bool) -> DirectoryEffect:
    effect, text = _effect_of(one, mode, have_ids=have_ids)
    return DirectoryEffect(path=one.path, effect=effect, text=text)


def _effect_of(one: MetaProperties, mode: Mode, *, have_ids: bool) -> tuple[Effect, str]:
    if one.error is not None:
        danger = {
            Mode.ZOOKEEPER: "its replicas are offline, and are recreated, empty, in the other"
            " directories once the broker starts in migration mode (H1)",
            Mode.MIGRATING: "its replicas are recreated, empty, in the other directories (H1)",
            Mode.KRAFT: "its replicas are offline; those that are unassigned are recreated, empty,"
            " elsewhere (H2), those that are migrating are not created (H3)",
        }
        return Effect.HARMS, f"the directory is offline: {danger[mode]}"
    writes_id = mode is not Mode.ZOOKEEPER
    if one.missing:
        new = f"writes a new {META}" + (" with a new directory.id" if writes_id else "")
        if one.partitions:
            return Effect.WRITES, f"{new}; the {one.partitions} partitions in it stay"
        return Effect.HARMS, f"{new}; replicas that were in it are recreated, empty"
    if one.directory_id is None and writes_id:
        if have_ids:
            return (
                Effect.HARMS,
                (
                    "generates a directory.id; replicas that are assigned to its former id are"
                    " offline until the broker assigns them again"
                ),
            )
        return Effect.WRITES, "generates a directory.id"
    return Effect.KEEPS, "uses the directory as it is"
