"""Lines where there is not room for all: who gives way, to how few, and nobody for nothing."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from orchestrator.views.terminal.blocks import Block, fit, lines_of, share, text

block = partial(Block, draw=lambda _: ())
blocks = st.lists(
    st.builds(
        lambda lines, least, floor, rank: block(
            lines=lines, least=least, floor=min(floor, least), rank=rank
        ),
        st.integers(0, 40), st.integers(0, 10), st.integers(0, 2), st.integers(0, 20),
    ),
    max_size=12,
)  # fmt: skip


@given(blocks, st.integers(0, 200))
def test_all_fit_but_where_the_floors_do_not(found: list[Block], height: int) -> None:
    given_ = fit(found, height)
    floors = sum(min(each.floor, each.lines) for each in found)
    assert sum(given_) <= max(height, floors)
    for each, lines in zip(found, given_, strict=True):
        assert min(each.floor, each.lines) <= lines <= each.lines
    if sum(each.lines for each in found) <= height:
        assert given_ == [each.lines for each in found]
    elif floors <= height:
        assert sum(given_) == height


def test_the_highest_rank_gives_way_first_and_to_its_least() -> None:
    found = [block(lines=5, least=2, rank=1), block(lines=5, least=1, rank=9)]
    found.append(block(lines=5, rank=5))
    assert fit(found, 12) == [5, 2, 5]
    assert fit(found, 8) == [5, 1, 2]
    assert fit(found, 4) == [3, 1, 0]
    assert fit(found, 2) == [2, 0, 0]


@given(st.lists(st.integers(0, 60), max_size=12), st.integers(0, 200))
def test_lines_are_shared_and_none_is_left_while_one_is_wanted(
    heights: list[int], height: int
) -> None:
    given_ = share(heights, height)
    assert all(0 <= lines <= want for lines, want in zip(given_, heights, strict=True))
    assert sum(given_) == min(height, sum(heights)) if heights else given_ == []


def test_what_one_leaves_goes_to_the_others() -> None:
    assert share([30, 4, 30], 24) == [10, 4, 10]


def test_a_block_that_ends_early_says_so() -> None:
    block = lines_of([Text("one two three four five")], 9, rank=1)
    assert [str(each) for each in block.draw(9)] == ["one two", "three", "four five"]
    assert [str(each) for each in block.draw(2)] == ["one two", "three …"]


def test_words_of_strangers_cannot_turn_the_terminal_over() -> None:
    assert text("a\x1b[2J\u202eb").plain == "a\\x1b[2J\\u202eb"
