"""Foreign JSON is read within bounds, or refused with a reason that quotes nothing of it."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.values.foreign import DEPTH_MAX, INT64_MAX, Unreadable, load, load_object, whole

_TEXT = st.text(st.characters())
_WITHIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-INT64_MAX - 1, INT64_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(_WITHIN, st.booleans())
def test_what_is_within_the_bounds_is_read_as_it_was_written(value: object, ascii_: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_)
    assert load(text.encode()) == value
    assert load(text) == value


@given(st.binary() | st.text(st.characters(codec="utf-8")).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(Unreadable):
        json.dumps(load(data), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xff", "its content is not JSON"),
        (b"\xff\xfe1\x00", "its content is not JSON"),
        (b"NaN", "its content is not JSON"),
        (b"-Infinity", "its content is not JSON"),
        (b"1e400", "a number of it is out of range"),
        (b"9223372036854775808", "a number of it has more than 64 bits"),
        (b"-9223372036854775809", "a number of it has more than 64 bits"),
        (b"9" * 5000, "a number of it has more than 64 bits"),
        (b'{"a": "\\ud800"}', "a text of it is not Unicode"),
        (b'{"\\udfff": 1}', "a text of it is not Unicode"),
        (b"[" * 500 + b"]" * 500, "its content is nested deeper than 64"),
        (b"[" * 500_000, "its content is nested deeper than 64"),
        (b'{"a":' * 100_000, "its content is nested deeper than 64"),
        (b" " * (4 * 2**20 + 1), "its content is larger than 4194304 bytes"),
    ],
)
def test_what_is_out_of_bounds_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=f"^{why}$"):
        load(data)


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert load(b'"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize("depth", [DEPTH_MAX, DEPTH_MAX + 1])
def test_the_depth_is_bounded_exactly(depth: int) -> None:
    data = "[" * depth + "]" * depth
    if depth <= DEPTH_MAX:
        assert load(data) is not None
    else:
        with pytest.raises(Unreadable):
            load(data)


@given(st.integers(), st.integers(-100, 0), st.integers(0, 100))
def test_whole_numbers_are_within_their_range(value: int, lowest: int, highest: int) -> None:
    for written in (value, str(value)):
        if lowest <= value <= highest:
            assert whole(written, "n", lowest, highest) == value
        else:
            with pytest.raises(Unreadable):
                whole(written, "n", lowest, highest)


@pytest.mark.parametrize(
    "value", ["+1", "01", "1_0", " 1", "", "-", "-0", "\u0661", 1.0, True, [], None]
)
def test_what_kafka_does_not_print_is_no_whole_number(value: object) -> None:
    with pytest.raises(Unreadable, match="its n is not a whole number"):
        whole(value, "n", 0, 9)


def test_an_empty_content_is_no_object() -> None:
    for data, why in ((b"", "it is empty"), (b"[]", "its content is not a JSON object")):
        with pytest.raises(Unreadable, match=why):
            load_object(data)
