"""One case for each rule of meta.properties: unit tests and a real broker check the same ones.

A case changes the entries of a broker's two files; each file is a whole text, or None if missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from migration.assessment.meta_properties import FaultKind
from migration.image.summary import Mode

Entries: TypeAlias = dict[str, str]
Texts: TypeAlias = list[str | None]
EVERY: Final = frozenset(Mode)
KRAFT: Final = frozenset({Mode.KRAFT})
ZOOKEEPER: Final = frozenset({Mode.ZOOKEEPER})
NONE: Final[frozenset[Mode]] = frozenset()
ID_0: Final = "uSLaubyUxZGsRKrz8FtoCw"
ID_1: Final = "N9PGDEP7SvaCszcrHQKBVg"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaCase:
    """One case.

    Attributes:
        change: from the entries of both files to their texts.
        faults: of both directories, from migration mode's first start on.
        refused: the modes that refuse to start.
        harmed: the modes that start and put replicas at risk.
        metadata_log_in: the directory in which a folder of the metadata log is made.
        is_everywhere: whether further directories are as the second.
    """

    name: str
    change: Callable[[list[Entries]], Texts]
    faults: tuple[FaultKind, ...] = ()
    refused: frozenset[Mode] = NONE
    harmed: frozenset[Mode] = NONE
    metadata_log_in: int | None = None
    is_everywhere: bool = False


def text(entries: Entries) -> str:
    return "".join(f"{key}={value}\n" for key, value in entries.items())


def _second(**changed: str | None) -> Callable[[list[Entries]], Texts]:
    return _put(1, **changed)


def _put(index: int, **changed: str | None) -> Callable[[list[Entries]], Texts]:
    """Set entries of one file, and remove those that are None; `node_id` is `node.id`."""

    def change(files: list[Entries]) -> Texts:
        for key, value in changed.items():
            files[index].pop(key.replace("_", "."), None)
            if value is not None:
                files[index][key.replace("_", ".")] = value
        return [text(each) for each in files]

    return change


def _ids(first: str, second: str) -> Callable[[list[Entries]], Texts]:
    def change(files: list[Entries]) -> Texts:
        return [
            text(each | {"directory.id": id_})
            for each, id_ in zip(files, (first, second), strict=True)
        ]

    return change


def _version_1(files: list[Entries]) -> Texts:
    return [text(_as_version_1(each)) for each in files]


def _as_version_1(entries: Entries) -> Entries:
    left = {key: value for key, value in entries.items() if key != "broker.id"}
    return left | {"version": "1", "node.id": entries["broker.id"]}


MALFORMED: Final = (FaultKind.MALFORMED,)
CASES: Final = (
    MetaCase(name="consistent", change=_ids(ID_0, ID_1)),
    MetaCase(name="missing, nothing else in it", change=lambda files: [text(files[0]), None],
             faults=(FaultKind.MISSING,), refused=KRAFT, harmed=EVERY - KRAFT),
    MetaCase(name="all are missing", change=lambda _: [None, None], is_everywhere=True,
             faults=(FaultKind.MISSING,) * 2, refused=KRAFT, harmed=EVERY - KRAFT),
    MetaCase(name="all are malformed", change=lambda _: ["version=x\n"] * 2, is_everywhere=True,
             faults=MALFORMED * 2, refused=EVERY),
    MetaCase(name="no entry", change=lambda files: [text(files[0]), "x\n"],
             faults=(FaultKind.NO_ID,), refused=KRAFT, harmed=frozenset({Mode.MIGRATING})),
    MetaCase(name="version is no number", change=_second(version="x"), faults=MALFORMED,
             harmed=EVERY),
    MetaCase(name="superseded directory.ids",
             change=_second(version="2", directory_ids=f"{ID_0},{ID_1}"),
             faults=(FaultKind.OLD_IDS, FaultKind.MALFORMED), harmed=EVERY),
    MetaCase(name="broker.id is no number", change=_second(version="0", broker_id="one"),
             faults=MALFORMED, harmed=EVERY),
    MetaCase(name="version 1 without node.id",
             change=_second(version="1", node_id=None, broker_id=None), faults=MALFORMED,
             harmed=EVERY),
    MetaCase(name="version 1 without cluster.id",
             change=_second(version="1", node_id="1", cluster_id=None), faults=MALFORMED,
             harmed=EVERY),
    MetaCase(name="directory.id is no base64", change=_second(directory_id="!" * 22),
             faults=MALFORMED, harmed=EVERY),
    MetaCase(name="directory.id is too short", change=_second(directory_id="AAAA"),
             faults=MALFORMED, harmed=EVERY),
    MetaCase(name="the last reserved directory.id",
             change=_second(directory_id="AAAAAAAAAAAAAAAAAAAAYw"),
             faults=(FaultKind.RESERVED_ID,), refused=EVERY),
    MetaCase(name="the first directory.id that is not reserved",
             change=_second(directory_id="AAAAAAAAAAAAAAAAAAAAZA")),
    MetaCase(name="duplicate directory.id", change=_ids(ID_0, ID_0),
             faults=(FaultKind.DUPLICATE_ID,) * 2, refused=EVERY),
    MetaCase(name="another cluster", change=_second(cluster_id=ID_1),
             faults=(FaultKind.CLUSTER,), refused=EVERY),
    MetaCase(name="another broker", change=_second(broker_id="2", node_id="2"),
             faults=(FaultKind.NODE,), refused=EVERY),
    MetaCase(name="version 1", change=_version_1, refused=ZOOKEEPER),
    MetaCase(name="version 0 without broker.id", change=_second(broker_id=None), refused=KRAFT),
    MetaCase(name="version 0 without cluster.id", change=_second(cluster_id=None), refused=KRAFT),
    MetaCase(name="the file of metadata.log.dir is malformed", change=_put(0, version="x"),
             faults=MALFORMED, refused=EVERY - ZOOKEEPER, harmed=ZOOKEEPER),
    MetaCase(name="the metadata log is elsewhere", change=_ids(ID_0, ID_1), metadata_log_in=1,
             faults=(FaultKind.METADATA_LOG,), refused=KRAFT),
)  # fmt: skip
