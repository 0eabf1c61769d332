"""`meta.properties`: what is wrong with a node's files. `next_start` says how the node starts.

Kafka 3.9 reads the files in MetaPropertiesEnsemble.Loader and MetaProperties.Builder, and compares
them in MetaPropertiesEnsemble.verify. LogManager.loadLog compares the partitions next to them.
"""

import enum
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from migration.metadata.directory_ids import (
    InvalidDirectoryId,
    from_text,
    is_reserved,
    to_text,
)
from migration.observed.probed import MetaProperties
from migration.values.evidence import named
from migration.values.foreign import INT32_MAX
from migration.values.paths import collapsed, is_same

META: Final = "meta.properties"
METADATA_LOG: Final = "__cluster_metadata-0"
_NAMED_MAX: Final = 5
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
    DUPLICATE_LOG = "duplicate_log"
    SPELLINGS = "several_spellings"


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
    """Return the faults of one node's files.

    Args:
        files: of all its directories.
        cluster_id: the first readable file's if None.
        node_id: the first readable file's if None.
        metadata_log_dir: as the configuration spells it; not compared if None.
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
    """Return the faults of one node's files, except those of the directory ids."""
    cluster = expected_cluster(files, cluster_id)
    node = expected_node(files, node_id)
    duplicates = duplicate_logs(files)
    spellings = dict.fromkeys(filter(None, (*(each.path for each in files), metadata_log_dir)))

    def of(one: MetaProperties) -> Iterator[tuple[FaultKind, str]]:
        yield from _unreadable(one)
        others = [each for each in spellings if is_same(each, one.path) and each != one.path]
        if others:
            text = (
                f"is also {', '.join(others)}: name it once in log.dirs, and in metadata.log.dir"
                " by the same text, which Kafka compares"
            )
            yield FaultKind.SPELLINGS, text
        logs = [name for name, paths in duplicates.items() if one.path in paths]
        if logs:
            shown = named(logs, _NAMED_MAX)
            text = f"has logs of partitions that another directory has, too: {shown}"
            yield FaultKind.DUPLICATE_LOG, text
        if not one.readable:
            return
        if one.cluster_id is not None and one.cluster_id != cluster:
            yield FaultKind.CLUSTER, f"belongs to cluster {one.cluster_id}, not {cluster}"
        if one.node_id is not None and one.node_id != node:
            yield FaultKind.NODE, f"belongs to node {one.node_id}, not {node}"
        if one.metadata_log and not is_same(metadata_log_dir or one.path, one.path):
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
        folders = len(one.partitions)
        inside = f"{folders} folders of partitions" if folders else "no partition"
        yield FaultKind.MISSING, f"has no {META}, and {inside}"


def version_refusal(path: str, version: int | None) -> str | None:
    """Return why a broker in ZooKeeper mode does not start with a file of this version.

    In migration and KRaft mode it accepts both versions. An unknown version (None) is no reason.
    """
    if not version:
        return None
    return (
        f"Found unexpected version in {collapsed(path)}/{META}. ZK-based brokers that are not"
        " migrating only support version 0 (which is implicit when the `version` field is missing)."
    )


def duplicate_logs(files: Sequence[MetaProperties]) -> Mapping[str, Sequence[str]]:
    """Return the partitions with a log in several directories, by name, and these directories.

    Kafka loads no log of a directory whose file it cannot read.
    """
    paths: dict[str, list[str]] = {}
    for one in files:
        for name in one.partitions if one.error is None else ():
            paths.setdefault(name, []).append(one.path)
    return {name: found for name, found in sorted(paths.items()) if len(found) > 1}


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
        if has_reserved(id_):
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


def expected_cluster(files: Sequence[MetaProperties], given: str | None) -> str | None:
    if given is not None:
        return given
    first = (one.cluster_id for one in in_path_order(files) if one.cluster_id is not None)
    return next(first, None)


def expected_node(files: Sequence[MetaProperties], given: int | None) -> int | None:
    if given is not None:
        return given
    return next((one.node_id for one in in_path_order(files) if one.node_id is not None), None)


def in_path_order(files: Sequence[MetaProperties]) -> list[MetaProperties]:
    """Return the readable files as Kafka reads them: by path."""
    return sorted((each for each in files if each.readable), key=lambda each: each.path)


def has_reserved(id_: str) -> bool:
    try:
        return is_reserved(from_text(id_))
    except InvalidDirectoryId:
        return False
