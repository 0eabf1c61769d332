"""The reassignment JSON: every problem, with its line (KIP-113, "Scripts")."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.moves.plan_file import (
    ANY,
    FOLDER_BYTES_MAX,
    Problem,
    problems_with,
    read,
    to_file,
    too_long,
)
from migration.observed.probed import Broker, TopicPartition, Unknown
from tests.migration.moves.brokers import D0, D1, at, broker, log_dir, topics

GOOD: dict[str, Any] = {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": [D0, ANY]}


def file(*entries: object, version: object = 1) -> bytes:
    """One entry a line, from line 3 on."""
    lines = ",\n".join(map(json.dumps, entries))
    return f'{{"version": {json.dumps(version)},\n"partitions": [\n{lines}\n]}}'.encode()


def test_a_good_file_is_read() -> None:
    """KIP-113, "Scripts": one log directory for each replica, a path or "any"."""
    wanted, problems = read(file(GOOD, GOOD | {"partition": 1, "log_dirs": [ANY, D1]}))
    assert not problems
    assert [(each.line, str(each.at), each.targets) for each in wanted] == [
        (3, "t-0", {1: D0}),
        (4, "t-1", {2: D1}),
    ]


def test_log_dirs_may_be_absent() -> None:
    """KIP-113, "Compatibility, Deprecation, and Migration Plan": files without log_dirs stay."""
    bare = {key: value for key, value in GOOD.items() if key != "log_dirs"}
    wanted, problems = read(file(bare | {"partition": 7}, GOOD))
    assert not problems
    assert wanted[0].log_dirs == (ANY, ANY)


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"", 1, "not JSON"),
        (b'{"version": 1,\n"partitions": [\n{]}', 3, "not JSON: Expecting property name"),
        (b"\xff{}", 1, "not JSON"),
        (b"[1]", 1, "not a JSON object"),
        (b"[" * 10_000, 1, "nested deeper"),
        (b'{"version": 1e999}', 1, "out of range"),
        (b'{"version": ' + b"1" * 5000 + b"}", 1, "more than 64 bits"),
        (file(GOOD, version=2), 1, "its version is 2"),
        (file(GOOD, version=True), 1, "its version is true"),
        (b'\n{"partitions": []}', 2, "its version is null"),
        (file(), 1, "`partitions` is empty: there is nothing to move"),
        (b'{"version": 1, "partitions": {}}', 1, "`partitions` is not a list"),
        (file(GOOD, 5), 1, "entry 2 of `partitions` is not an object"),
        (file(GOOD, GOOD), 4, "t-0 is listed twice, first in line 3"),
        (file(GOOD | {"topic": ""}), 3, "its `topic` is not a name"),
        (file(GOOD | {"topic": 5}), 3, "its `topic` is not a name"),
        (file(GOOD | {"partition": -1}), 3, "its `partition` is not a number"),
        (file(GOOD | {"partition": True}), 3, "its `partition` is not a number"),
        (file(GOOD | {"partition": 2**31}), 3, "its `partition` is not a number"),
        (file(GOOD | {"replicas": []}), 3, "its `replicas` is not a list of broker ids"),
        (file(GOOD | {"replicas": [1, "2"]}), 3, "its `replicas` is not a list of broker ids"),
        (file(GOOD | {"replicas": [1, 1]}), 3, "t-0: a broker is in its `replicas` twice: [1, 1]"),
        (file(GOOD | {"log_dirs": None}), 3, "its `log_dirs` is not a list of paths"),
        (file(GOOD | {"log_dirs": [D0, 5]}), 3, "its `log_dirs` is not a list of paths"),
        (file(GOOD | {"log_dirs": [D0]}), 3, "another length than its `replicas`: 1 for 2"),
        (file(GOOD | {"log_dirs": ["d0", ANY]}), 3, '"d0" is neither an absolute path nor "any"'),
        (file(GOOD | {"log_dir": [D0]}), 3, "unknown key `log_dir`"),
        (file(GOOD | {"topic": "x" * 249}), 3, "future replica would have a name of 291 bytes"),
        (file(GOOD | {"log_dirs": [ANY, ANY]}), 1, "there is nothing to move within a broker"),
        (b'{"version": 1, "partitions": [{"topic": "t", "topic": "u"}]}', 1, "occurs twice"),
    ],
)
def test_a_problem_has_its_line(data: bytes, line: int, words: str) -> None:
    """KIP-113, "Scripts" and "How to reassign replica between log directories across brokers"."""
    _, problems = read(data)
    assert [each.line for each in problems if words in each.text] == [line], problems


def test_every_problem_is_named() -> None:
    """KIP-113, "Scripts": the file is refused as a whole, so all of it is said at once."""
    bad = {"topic": "t", "partition": 1, "replicas": [3, 3], "log_dirs": ["d"], "x": 1}
    _, problems = read(file(bad, GOOD, GOOD | {"topic": None}, version=3))
    assert [each.line for each in problems] == [1, 3, 3, 3, 3, 5]


def test_a_plan_of_kraftgate_may_be_without_moves() -> None:
    assert read(b'{"version": 1, "partitions": [], "kraftgate": {}}') == ((), ())


@given(st.binary(max_size=200))
def test_any_bytes_are_a_file_or_a_problem(data: bytes) -> None:
    wanted, problems = read(data)
    assert wanted or problems


@given(st.integers(1, 249), st.integers(0, 2**31 - 1))
def test_the_longest_name_fits(length: int, number: int) -> None:
    """KIP-113, "Solution": the future replica has a folder with a postfix; shipped as `-future`."""
    one = TopicPartition("x" * length, number)
    size, why = len(f"{one}") + len(".") + 32 + len("-future"), too_long(one)
    assert (why is None) is (size <= FOLDER_BYTES_MAX)
    assert why is None or f"a name of {size} bytes" in why


PLACED = topics({"t-0": (1, 2), "t-1": (2, 1)}, frozenset({1, 2}))
BROKERS = {1: broker(1, log_dir(D0), log_dir(D1)), 2: broker(2, log_dir(D0))}


def against(*entries: object, brokers: dict[int, Broker] | None = None) -> tuple[Problem, ...]:
    wanted, problems = read(file(*entries))
    assert not problems
    return problems_with(wanted, PLACED, BROKERS if brokers is None else brokers)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (GOOD | {"topic": "u"}, ["u-0: the cluster has no such topic"]),
        (GOOD | {"partition": 5}, ["t-5: the cluster has no such partition"]),
        (GOOD | {"log_dirs": ["/x", ANY]}, ["t-0: broker 1 has no log directory /x"]),
        (GOOD | {"log_dirs": ["/d0/", ANY]}, ["Its directories: /d0, /d1"]),
        (
            GOOD | {"replicas": [1, 3]},
            ["does not move replicas between brokers", "there is no broker 3. Brokers: 1, 2"],
        ),
        (GOOD | {"replicas": [2, 1], "log_dirs": [ANY, D0]}, ["the preferred leader"]),
        (GOOD | {"replicas": [1], "log_dirs": [D0]}, ["does not move replicas between brokers"]),
    ],
)
def test_a_file_for_another_cluster_is_refused(entry: object, words: list[str]) -> None:
    """KIP-113, "How to reassign replica ...": not here."""
    found = against(GOOD | {"partition": 1, "replicas": [2, 1], "log_dirs": [ANY, D1]}, entry)
    assert {each.line for each in found} == {4}
    assert len(found) == len(words)
    for word in words:
        assert any(word in each.text for each in found), found


@pytest.mark.parametrize("replicas", [[1, 3], [2, 1]])
def test_a_partition_that_was_reassigned_needs_another_plan(replicas: list[int]) -> None:
    """Kafka's tool would undo the reassignment of another client with the same file."""
    (text, *_) = (each.text for each in against(GOOD | {"replicas": replicas}))
    assert text.startswith(
        f"t-0: it is assigned to the brokers [1, 2] now, and the file wants {replicas}. If it was"
        " reassigned, plan again (kraftgate move plan)."
    )
    assert "kafka-reassign-partitions.sh" not in text


def test_what_a_silent_broker_has_contradicts_nothing() -> None:
    silent = {1: Broker(id=1, log_dirs=Unknown("refused"))}
    assert not against(GOOD | {"log_dirs": ["/x", ANY]}, brokers=silent)


def test_a_written_file_is_read_again() -> None:
    written = to_file({at("t-0"): [(1, D0), (2, ANY)]})
    wanted, problems = read(json.dumps(written).encode())
    assert not problems
    assert written == {"version": 1, "partitions": [GOOD]}
    assert wanted[0].targets == {1: D0}
