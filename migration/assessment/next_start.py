"""What the next start of a node makes of its `meta.properties`, in each mode and role.

KafkaServer.startup (ZooKeeper and migration mode) writes the files that are missing;
KafkaRaftServer.initializeLogDirs (KRaft mode; brokers, controllers and combined nodes) refuses to
start without them. LogManager treats a directory whose file cannot be read as offline; a dedicated
controller has no LogManager, and uses the directory of the metadata log only.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

from migration.assessment.meta_properties import (
    META,
    METADATA_LOG,
    duplicate_logs,
    expected_cluster,
    expected_node,
    has_reserved,
    in_path_order,
    version_refusal,
)
from migration.image.summary import Mode
from migration.observed.probed import MetaProperties
from migration.values.paths import collapsed, is_same


class Role(enum.StrEnum):
    """What a node is (`process.roles`); public in `meta-properties --json`."""

    BROKER = "broker"
    CONTROLLER = "controller"
    COMBINED = "combined"


def role_of(files: Sequence[MetaProperties]) -> Role:
    """Return the role that the directories show.

    A voter of the quorum is a controller; with folders of partitions it is a broker, too. A
    controller without a metadata log, or in a dynamic quorum, looks like a broker.
    """
    if not any(one.node_id is not None and one.node_id in (one.voters or ()) for one in files):
        return Role.BROKER
    return Role.COMBINED if any(one.partitions for one in files) else Role.CONTROLLER


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
    """The node's next start in one mode.

    Attributes:
        refusal: Kafka's reason not to start, or not to stay; None: it starts.
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
    role: Role = Role.BROKER,
) -> NextStart:
    """Return what the node does at its next start in the mode.

    Args:
        files: of all its directories.
        mode: of the next start; only a broker has others than KRaft mode.
        metadata_log_dir: one of the directories, as the configuration spells it; a broker in
            ZooKeeper mode does not use it.
        cluster_id: of ZooKeeper (/cluster/id) or the controllers; the first file's if None.
        node_id: the configured one; the first file's if None.
        role: of the node.
    """
    read = files if mode is Mode.ZOOKEEPER else _with_metadata(files, metadata_log_dir)
    reason = _refusal(read, mode, metadata_log_dir, cluster_id, node_id)
    if reason is None and role is Role.BROKER and mode is Mode.KRAFT:
        reason = _rejected(in_path_order(files)[0].cluster_id, cluster_id)
    if reason is None and role is not Role.CONTROLLER:
        reason = _duplicate_directory(files) or _duplicate_log(files)
    if reason is not None:
        return NextStart(mode=mode, refusal=reason)
    have_ids = any(each.directory_id for each in files)

    def of(one: MetaProperties) -> DirectoryEffect:
        found = None
        is_metadata = is_same(one.path, metadata_log_dir)
        if is_metadata and one.directory_id is None and len(read) > len(files):
            found = Effect.HARMS, _two_ids(one.path, metadata_log_dir)
        elif is_metadata and role is not Role.BROKER:
            found = _of_controller(one, cluster_id)
        if found is None and role is Role.CONTROLLER:
            found = _of_unused(one)
        effect, text = found or _effect_of(one, mode, have_ids=have_ids)
        return DirectoryEffect(path=one.path, effect=effect, text=text)

    return NextStart(mode=mode, refusal=None, directories=tuple(map(of, files)))


def modes_that_count(files: Sequence[MetaProperties], role: Role) -> tuple[Mode, ...]:
    """Return the modes in which the node may start next.

    Only a node that was formatted for KRaft has files of version 1 alone.
    """
    if role is not Role.BROKER:
        return (Mode.KRAFT,)
    versions = {each.version for each in files if each.readable}
    return (Mode.KRAFT,) if versions == {1} else (Mode.ZOOKEEPER, Mode.MIGRATING, Mode.KRAFT)


def _with_metadata(files: Sequence[MetaProperties], path: str) -> Sequence[MetaProperties]:
    """Return the files; that of the metadata log twice, if log.dirs spells its path differently."""
    if any(each.path == path for each in files):
        return files
    return [*files, *(replace(each, path=path) for each in files if is_same(each.path, path))]


def _refusal(
    files: Sequence[MetaProperties],
    mode: Mode,
    metadata_log_dir: str,
    cluster_id: str | None,
    node_id: int | None,
) -> str | None:
    read = in_path_order(files)
    if mode is Mode.KRAFT and not read:
        return "No readable meta.properties files found."
    # A broker in KRaft mode compares its files with each other; the controllers compare the id.
    given = None if mode is Mode.KRAFT else cluster_id
    reason = _verify(read, mode, expected_cluster(files, given), expected_node(files, node_id))
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
    return _kraft_refusal(files, metadata_log_dir) if mode is Mode.KRAFT else None


def _verify(
    read: Sequence[MetaProperties], mode: Mode, cluster: str | None, node: int | None
) -> str | None:
    seen: dict[str, str] = {}
    for one in read:
        file = f"{collapsed(one.path)}/{META}"
        refusal = version_refusal(one.path, one.version) if mode is Mode.ZOOKEEPER else None
        if refusal is not None:
            return refusal
        if one.cluster_id is not None and one.cluster_id != cluster:
            return f"Invalid cluster.id in: {file}. Expected {cluster}, but read {one.cluster_id}"
        if one.node_id is not None and one.node_id != node:
            return (
                f"Stored node id {one.node_id} doesn't match previous node id {node} in {file}."
                " If you moved your data, make sure your configured node id matches."
            )
        if one.directory_id is None:
            continue
        if has_reserved(one.directory_id):
            # Kafka's own spelling
            return f"Invalid resrved directory ID {one.directory_id} found in {one.path}"
        before = seen.setdefault(one.directory_id, one.path)
        if before != one.path:
            return (
                f"Duplicate directory ID Optional[{one.directory_id}] found. It was the ID of"
                f" {before}, but also of {one.path}"
            )
    return None


def _kraft_refusal(files: Sequence[MetaProperties], metadata_log_dir: str) -> str | None:
    read = in_path_order(files)
    for one in read:
        if one.metadata_log and one.path != metadata_log_dir:
            return (
                "Found unexpected metadata location in data directory"
                f" `{collapsed(one.path)}/{METADATA_LOG}` (the configured metadata directory is"
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
    return None


def _rejected(own: str | None, quorums: str | None) -> str | None:
    """Why the broker shuts down: without FETCH it finds no active controller to register with."""
    if quorums in (None, own):
        return None
    return (
        f"Unexpected error INCONSISTENT_CLUSTER_ID in FETCH response: the controllers belong to"
        f" cluster {quorums}, its files to {own}; the broker cannot register, and shuts down after"
        " initial.broker.registration.timeout.ms (60 s)"
    )


def _duplicate_directory(files: Sequence[MetaProperties]) -> str | None:
    if not any(is_same(one.path, each.path) for one in files for each in files if each is not one):
        return None
    return f"Duplicate log directory found: {', '.join(collapsed(each.path) for each in files)}"


def _duplicate_log(files: Sequence[MetaProperties]) -> str | None:
    for name, (first, second, *_) in duplicate_logs(files).items():
        return (
            f"Duplicate log directories for {name} are found in both {collapsed(second)}/{name} and"
            f" {collapsed(first)}/{name}."
        )
    return None


def _of_controller(one: MetaProperties, cluster_id: str | None) -> tuple[Effect, str] | None:
    """Return what becomes of a controller's metadata log; None: it is used as it is."""
    if cluster_id is not None and one.cluster_id != cluster_id:
        text = (
            f"belongs to cluster {one.cluster_id}: the nodes of cluster {cluster_id} and this one"
            " reject each other's requests (INCONSISTENT_CLUSTER_ID)"
        )
        return Effect.HARMS, text
    if not one.metadata_log:
        text = (
            "begins with an empty metadata log: right for a new controller only. It copies the log"
            " of the other controllers; a quorum of one loses all metadata"
        )
        return Effect.HARMS, text
    if one.directory_id is None and one.voters is None:
        text = (
            "generates a directory.id: in a dynamic quorum (kraft.version 1) the node is then no"
            " voter"
        )
        return Effect.HARMS, text
    return None


def _two_ids(path: str, metadata_log_dir: str) -> str:
    return (
        f"generates a directory.id for {path} and one for {metadata_log_dir}, which is the same"
        " directory: no later start in migration or KRaft mode succeeds"
    )


def _of_unused(one: MetaProperties) -> tuple[Effect, str]:
    if one.error is not None:
        return Effect.KEEPS, f"cannot read the {META}, and a controller has no replicas here"
    if one.directory_id is None:
        return Effect.WRITES, "generates a directory.id"
    return Effect.KEEPS, "uses the directory as it is"


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
            return Effect.WRITES, f"{new}; the {len(one.partitions)} partitions in it stay"
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
