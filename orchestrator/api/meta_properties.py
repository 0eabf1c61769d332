"""The JSON of `kraftgate meta-properties`."""

from orchestrator.api.shape import Shape


class FaultRow(Shape):
    """A fault of a directory's file."""

    kind: str
    text: str


class DirectoryRow(Shape):
    """A directory's file, as far as Kafka can read it."""

    path: str
    version: int | None
    node_id: int | None
    cluster_id: str | None
    directory_id: str | None
    partitions: int
    faults: tuple[FaultRow, ...]


class EffectRow(Shape):
    """What a start does to a directory."""

    path: str
    effect: str
    text: str


class StartRow(Shape):
    """The next start in one mode; `refusal` is Kafka's reason, null if it starts."""

    mode: str
    counts: bool
    safe: bool
    refusal: str | None
    directories: tuple[EffectRow, ...]


class MetaPropertiesReport(Shape):
    """One node's files; `role`: broker, controller or combined."""

    role: str
    metadata_log_dir: str
    directories: tuple[DirectoryRow, ...]
    starts: tuple[StartRow, ...]
