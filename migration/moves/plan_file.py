"""The file of a reassignment, as `kafka-reassign-partitions.sh` reads and writes it.

`{"version": 1, "partitions": [{"topic", "partition", "replicas", "log_dirs"}]}`, with one directory
for each replica: an absolute path, or "any" (KIP-113, "Scripts";
ReassignPartitionsCommand.parsePartitionReassignmentData). The tool ignores other keys at the top.
"""

import json
import json.scanner
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard

from migration.observed.probed import Broker, Partition, TopicPartition, Topics, Unknown
from migration.values import foreign
from migration.values.foreign import INT32_MAX, INT64_MAX, Unreadable, whole

ANY: Final = "any"
"""The broker may keep the replica where it is."""
BYTES_MAX: Final = 64 * 2**20
FOLDER_BYTES_MAX: Final = 255
"""NAME_MAX of the usual file systems. A broker that cannot create a folder fails the directory."""
_VERSION: Final = 1
_KEYS: Final = ("topic", "partition", "replicas", "log_dirs")
_UNIQUE_ID: Final = "0" * 32
_SHOWN_MAX: Final = 300


class Wanted(NamedTuple):
    """One partition of the file.

    Attributes:
        line: where its object begins, counted from 1.
        log_dirs: of each replica, in their order.
    """

    line: int
    at: TopicPartition
    replicas: tuple[int, ...]
    log_dirs: tuple[str, ...]

    @property
    def targets(self) -> Mapping[int, str]:
        """Broker -> its directory in the file."""
        found = zip(self.replicas, self.log_dirs, strict=True)
        return {broker: path for broker, path in found if path != ANY}


class Origin(NamedTuple):
    """What `move plan` wrote into the file besides the reassignment.

    Attributes:
        cluster_id: of the cluster that was planned for; None: the file does not say.
        throttles: bytes per second by broker.
    """

    cluster_id: str | None
    throttles: Mapping[int, int]


class Problem(NamedTuple):
    """Why the file cannot be used."""

    line: int
    text: str


def too_long(at: TopicPartition) -> str | None:
    """Return why a partition with such a name cannot move; None: it can.

    The folder of a future replica has the partition's name and a postfix (UnifiedLog).
    """
    size = len(f"{at}.{_UNIQUE_ID}-future".encode())
    if size <= FOLDER_BYTES_MAX:
        return None
    return (
        f"the folder of its future replica would have a name of {size} bytes, and file systems"
        f" permit {FOLDER_BYTES_MAX}: the broker would fail the directory"
    )


def read(data: bytes) -> tuple[tuple[Wanted, ...], tuple[Problem, ...]]:
    """Return the partitions of the file, and every problem that it has without any cluster."""
    try:
        foreign.load(data, bytes_max=BYTES_MAX)
    except Unreadable as error:
        return (), (_not_json(data, str(error)),)
    problems: list[Problem] = []
    wanted = tuple(_partitions(_Located().decode(data.decode("utf-8")), problems))
    return wanted, tuple(sorted(problems))


def origin(data: bytes) -> Origin:
    """Return what `move plan` wrote into a valid file besides the reassignment.

    Raises:
        Unreadable: it is not what `move plan` writes.
    """
    mine = json.loads(data).get("kraftgate", {})
    if not isinstance(mine, dict) or not isinstance(rows := mine.get("brokers", []), list):
        raise Unreadable("its `kraftgate` is not what `move plan` writes")
    cluster_id = mine.get("cluster_id")
    if not isinstance(cluster_id, str | None):
        raise Unreadable("`kraftgate.cluster_id` is not what `move plan` writes")
    throttles = {}
    for row in rows:
        if not isinstance(row, dict) or not _is_id(row.get("id")):
            raise Unreadable("`kraftgate.brokers` is not what `move plan` writes")
        if row.get("throttle") is not None:
            throttles[row["id"]] = whole(row["throttle"], "`throttle`", 1, INT64_MAX - 1)
    return Origin(cluster_id, throttles)


def problems_with(
    wanted: Iterable[Wanted], topics: Topics, brokers: Mapping[int, Broker]
) -> tuple[Problem, ...]:
    """Return how the file contradicts the cluster; what is unknown contradicts nothing."""
    partitions = {each.at: each for each in topics.partitions}
    names = {each.topic for each in partitions}
    known = topics.broker_ids.union(*(each.replicas for each in topics.partitions))
    ids = ", ".join(map(str, sorted(known)))
    found: list[Problem] = []
    for one in wanted:
        texts = list(_contradictions(one, partitions, names))
        texts += [
            f"there is no broker {id_}. Brokers: {ids}" for id_ in sorted({*one.replicas} - known)
        ]
        for id_, path in one.targets.items():
            broker = brokers.get(id_)
            if broker is None or isinstance(broker.log_dirs, Unknown):
                continue
            paths = [each.path for each in broker.log_dirs]
            if path not in paths:
                texts.append(
                    f"broker {id_} has no log directory {path}. Its directories: {', '.join(paths)}"
                )
        found += [Problem(one.line, f"{one.at}: {text}") for text in texts]
    return tuple(sorted(found))


def to_file(partitions: Mapping[TopicPartition, Sequence[tuple[int, str]]]) -> dict[str, Any]:
    """Return the content of a file: of each partition its replicas, each with its directory."""
    return {
        "version": _VERSION,
        "partitions": [
            {
                "topic": at.topic,
                "partition": at.number,
                "replicas": [broker for broker, _ in replicas],
                "log_dirs": [path for _, path in replicas],
            }
            for at, replicas in sorted(partitions.items())
        ],
    }


class _Object(dict[str, Any]):
    """A JSON object with the line of its first character, and the keys that it has twice."""

    line: int = 1
    repeated: tuple[str, ...] = ()


class _Located(json.JSONDecoder):
    """Decodes valid JSON into objects that know their lines."""

    def __init__(self) -> None:
        super().__init__(object_pairs_hook=_pairs)
        mine: Any = self
        decode_object = mine.parse_object
        line, position = 1, 0

        def located(text_and_start: tuple[str, int], *rest: Any) -> Any:  # noqa: ANN401
            nonlocal line, position
            text, start = text_and_start
            line += text.count("\n", position, start)
            position, begins = start, line
            value, end = decode_object(text_and_start, *rest)
            value.line = begins
            return value, end

        # The C scanner calls no method of this class.
        mine.parse_object = located
        scanner: Any = json.scanner
        mine.scan_once = scanner.py_make_scanner(mine)


def _pairs(pairs: list[tuple[str, Any]]) -> _Object:
    found = _Object(pairs)
    names = [name for name, _ in pairs]
    found.repeated = tuple(sorted({each for each in names if names.count(each) > 1}))
    return found


def _not_json(data: bytes, why: str) -> Problem:
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        return Problem(error.lineno, f"it is not JSON: {error.msg}")
    except (ValueError, RecursionError):  # such as a number of thousands of digits
        pass
    return Problem(1, why)


def _partitions(document: object, problems: list[Problem]) -> Iterator[Wanted]:
    if not isinstance(document, _Object):
        problems.append(Problem(1, "its content is not a JSON object"))
        return
    problems += _version_problems(document)
    entries = document.get("partitions")
    if entries == [] and isinstance(document.get("kraftgate"), _Object):
        return  # `move plan` writes the file even if there is nothing to move
    if not isinstance(entries, list) or not entries:
        what = "empty: there is nothing to move" if entries == [] else "not a list"
        problems.append(Problem(document.line, f"its `partitions` is {what}"))
        return
    first: dict[TopicPartition, int] = {}
    wanted = False
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, _Object):
            text = f"entry {number} of `partitions` is not an object"
            problems.append(Problem(document.line, text))
            continue
        before = len(problems)
        one = _wanted(entry, problems)
        if one is None:
            continue
        if one.at in first:
            text = f"{one.at} is listed twice, first in line {first[one.at]}"
            problems.append(Problem(entry.line, text))
        first.setdefault(one.at, entry.line)
        wanted |= any(path != ANY for path in one.log_dirs)
        if len(problems) == before:
            yield one
    if not wanted and not problems:
        text = "no partition has `log_dirs` with a path: there is nothing to move within a broker"
        problems.append(Problem(document.line, text))


def _version_problems(document: _Object) -> Iterator[Problem]:
    version = document.get("version")
    if version != _VERSION or isinstance(version, bool):
        text = f"its version is {_shown(version)}. Kraftgate and Kafka read version {_VERSION}"
        yield Problem(document.line, text)


def _wanted(entry: _Object, problems: list[Problem]) -> Wanted | None:
    """Return the partition, as far as it can be read; None: it has no name."""
    topic, partition = entry.get("topic"), entry.get("partition")
    texts = list(_key_problems(entry))
    if not isinstance(topic, str) or not topic:
        texts.append("its `topic` is not a name")
        problems += [Problem(entry.line, each) for each in texts]
        return None
    if not _is_id(partition):
        texts.append(f"topic {_cut(topic)}: its `partition` is not a number from 0")
        problems += [Problem(entry.line, each) for each in texts]
        return None
    at = TopicPartition(topic, partition)
    replicas = entry.get("replicas")
    log_dirs = entry.get("log_dirs")
    if "log_dirs" not in entry and isinstance(replicas, list):
        log_dirs = [ANY] * len(replicas)
    texts += _replica_problems(replicas)
    texts += _log_dir_problems(replicas, log_dirs)
    one = Wanted(
        entry.line,
        at,
        tuple(replicas) if isinstance(replicas, list) else (),
        tuple(log_dirs) if isinstance(log_dirs, list) else (),
    )
    if (why := too_long(at)) is not None and any(path != ANY for path in one.log_dirs):
        texts.append(why)
    name = f"{_cut(topic)}-{partition}"
    problems += [Problem(entry.line, f"{name}: {each}") for each in texts]
    return one


def _key_problems(entry: _Object) -> Iterator[str]:
    for name in entry.repeated:
        yield f"the key `{_cut(name)}` occurs twice"
    for name in sorted(entry.keys() - set(_KEYS)):
        yield f"unknown key `{_cut(name)}`. The keys are: {', '.join(_KEYS)}"


def _replica_problems(replicas: object) -> Iterator[str]:
    if not isinstance(replicas, list) or not replicas or not all(map(_is_id, replicas)):
        yield "its `replicas` is not a list of broker ids"
    elif len(set(replicas)) < len(replicas):
        yield f"a broker is in its `replicas` twice: {_shown(replicas)}"


def _log_dir_problems(replicas: object, log_dirs: object) -> Iterator[str]:
    if not isinstance(log_dirs, list) or not all(isinstance(each, str) for each in log_dirs):
        yield "its `log_dirs` is not a list of paths"
        return
    if isinstance(replicas, list) and len(log_dirs) != len(replicas):
        counts = f"{len(log_dirs)} for {len(replicas)} replicas"
        yield f"its `log_dirs` has another length than its `replicas`: {counts}"
    for path in log_dirs:
        if path != ANY and not path.startswith("/"):
            yield f'{_shown(path)} is neither an absolute path nor "{ANY}"'


def _contradictions(
    one: Wanted, partitions: Mapping[TopicPartition, Partition], topics: Collection[str]
) -> Iterator[str]:
    known = partitions.get(one.at)
    if known is None:
        what = "partition" if one.at.topic in topics else "topic"
        yield (
            f"the cluster has no such {what}, or Kraftgate's principal may not describe it: if it"
            " was deleted, remove the entry, or plan again (kraftgate move plan)"
        )
    elif known.replicas != one.replicas:
        is_order = {*known.replicas} == {*one.replicas}
        what = "change the preferred leader" if is_order else "move replicas between brokers"
        yield (
            f"it is assigned to the brokers {list(known.replicas)} now, and the file wants"
            f" {list(one.replicas)}. If it was reassigned, plan again (kraftgate move plan)."
            f" Kraftgate does not {what}"
        )


def _is_id(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= INT32_MAX


def _shown(value: object) -> str:
    return _cut(json.dumps(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."
