"""The live view on a real terminal: in every size, resized while it runs, without colours."""

import re
from collections.abc import Iterator

import pytest
from rich.cells import cell_len

from tests.orchestrator.views.terminal.scenes import APPROVE, DANGER
from tests.orchestrator.views.terminal.terminal import Terminal, styles

SIZES = ((80, 24), (60, 20), (120, 40), (200, 60))


def scene(name: str, columns: int, rows: int, **environment: str) -> Terminal:
    command = ("-m", "tests.orchestrator.views.terminal.scenes", name)
    return Terminal(columns, rows, *command, **environment)


def in_every_size(name: str) -> Iterator[tuple[Terminal, list[str]]]:
    """Yield the terminal, with a frame of the scene, in each size that its window gets."""
    with scene(name, *SIZES[0]) as terminal:
        for columns, rows in SIZES:
            terminal.resize(columns, rows)
            terminal.forget()
            frame = terminal.wait(lambda frame: shown(frame) and rows - 1 <= len(frame) <= rows)  # noqa: B023
            fits(terminal, frame)
            yield terminal, frame


def fits(terminal: Terminal, frame: list[str]) -> None:
    assert len(frame) <= terminal.rows
    assert [each for each in frame if cell_len(each) > terminal.columns] == []


def shown(frame: list[str]) -> bool:
    return any(line.startswith("now: ") for line in frame)


def text_of(frame: list[str]) -> str:
    return re.sub(r"\s+", " ", " ".join(frame))


@pytest.mark.slow
def test_an_execution_is_shown_in_every_size() -> None:
    for terminal, frame in in_every_size("walk"):
        text = text_of(frame)
        assert frame[0].startswith("prod  phase hybrid  data ")
        assert "> brokers-kraft[3] Brokers into KRaft mode" in text
        assert "now: WRONG Broker 3 must not be restarted" in text
        assert "1 hazard (unfenced_early)" in text
        assert re.search(r"ZooKeeper \w+ old disks \w+ old", text)
        assert " HELD " in text
        # Violated: a person is needed, who must read why.
        assert DANGER.partition("broker 3 ")[2] in text
        if terminal.rows >= 24:
            assert "> [hybrid] >" in text
        if terminal.rows >= 40:
            assert max(map(cell_len, frame)) > 100
            assert f"also: approval by 2 people (anna did): {APPROVE}" in text
            assert "latest events" in text
            assert "broker 1 is complete: every replica has a directory" in text


@pytest.mark.slow
def test_every_word_of_what_a_person_is_to_do_is_there() -> None:
    for _, frame in in_every_size("by-hand"):
        text = text_of(frame)
        assert "(do this by hand)" in text
        assert (
            "2. In /etc/kafka/server.properties set process.roles=broker and node.id=3, remove"
            " zookeeper.connect and zookeeper.metadata.migration.enable, keep log.dirs as it is"
            " 3. systemctl start kafka"
        ) in text
        assert "now: YOUR TURN Restart broker 3 in KRaft mode (checkpoint 5 of 9)" in text


@pytest.mark.slow
def test_of_three_hundred_brokers_those_in_trouble_are_shown() -> None:
    for _, frame in in_every_size("many"):
        first = next(line for line in frame if " HELD " in line)
        assert first.split()[0] == "290"
        assert re.search(r"and 2\d\d more brokers, none more urgent", text_of(frame))
        assert "disks STALE: 4" in text_of(frame)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("two", 2), ("five", 5), ("twenty", 20)])
def test_each_cluster_has_its_place(name: str, count: int) -> None:
    for terminal, frame in in_every_size(name):
        titles = [line for line in frame if "  phase hybrid  data " in line]
        waits = [line for line in frame if line.startswith("now: ")]
        assert len(titles) == len(waits)
        left = re.search(r"and (\d+) more clusters: kraftgate status", text_of(frame))
        assert len(titles) + (int(left[1]) if left else 0) == count
        assert (left is None) is (count * 2 <= terminal.rows)


@pytest.mark.slow
def test_the_cluster_that_needs_an_operator_is_never_left_out() -> None:
    with scene("last", 80, 24) as terminal:
        frame = terminal.wait(shown)
    fits(terminal, frame)
    assert "now: YOUR TURN Restart broker 3 in KRaft mode" in text_of(frame)
    assert "more clusters: kraftgate status" in text_of(frame)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["walk", "many"])
def test_without_colours_nothing_is_lost(name: str) -> None:
    with scene(name, 80, 24, NO_COLOR="1") as terminal:
        frame = terminal.wait(shown)
        plain = styles(terminal.written)
    numbers = {number for each in plain for number in each}
    assert not numbers & {*range(30, 50), *range(90, 108)}
    assert " HELD " in text_of(frame)
    assert "[hybrid]" in text_of(frame)
    assert re.search(r"A+M+U+", text_of(frame))


@pytest.mark.slow
def test_on_a_light_terminal_nothing_is_written_in_white_or_on_nothing() -> None:
    """Whatever is light, or black, has a ground of its own."""
    with scene("many", 120, 40) as terminal:
        terminal.wait(shown)
        found = styles(terminal.written)
    assert found
    for each in found:
        fixed = set(each) & {30, 37, *range(90, 98)}
        assert not fixed or set(each) & {*range(40, 48), *range(100, 108)}, each


@pytest.mark.slow
def test_a_dumb_terminal_gets_lines() -> None:
    with scene("walk", 80, 24, TERM="dumb") as terminal:
        terminal.wait_written("change=checkpoint")
        written = terminal.interrupt()
    assert "\x1b" not in written
    assert "cluster=prod change=phase phase=hybrid" in written
    assert "change=checkpoint checkpoint=brokers-kraft[3]" in written


@pytest.fixture
def ended() -> Iterator[str]:
    with scene("walk", 80, 24) as terminal:
        terminal.wait(shown)
        yield terminal.interrupt()


@pytest.mark.slow
def test_the_end_gives_the_terminal_back_with_the_last_state(ended: str) -> None:
    assert ended.index("\x1b[?1049h") < ended.rindex("\x1b[?1049l")
    assert ended.rindex("\x1b[?25h") > ended.rindex("\x1b[?25l")
    left = ended[ended.rindex("\x1b[?1049l") :]
    assert "brokers-kraft[3]" in left
    assert "now: " in left
    assert "latest events" in left


@pytest.mark.slow
def test_a_lost_terminal_leaves_no_process_behind() -> None:
    with scene("walk", 80, 24) as terminal:
        terminal.wait(shown)
        assert terminal.hang_up() == 0  # as after SIGTERM: the end was in good order
