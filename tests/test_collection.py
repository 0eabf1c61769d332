"""What `make test-fast` does not import has no test that it would run."""

import pytest

from tests.conftest import marks_of_the_whole_file


@pytest.mark.slow
def test_the_marks_that_are_read_from_a_file_are_those_of_its_tests(
    request: pytest.FixtureRequest,
) -> None:
    """`make test` collects all files, and so compares all of them."""
    for item in request.session.items:
        read = marks_of_the_whole_file(item.path)
        assert read <= {mark.name for mark in item.iter_markers()}, item.nodeid
