"""What an error of a node makes unknown."""

import pytest

from migration.observed.probed import Unknown
from streams.kafka.errors import ConnectionFailed, NotAuthorized
from streams.net.errors import LiveError
from streams.probe.asking import maybe


@pytest.mark.parametrize(
    ("error", "denied"), [(NotAuthorized("b1"), True), (ConnectionFailed("b1"), False)]
)
def test_only_a_missing_right_is_denied(error: LiveError, denied: bool) -> None:
    def fails() -> None:
        raise error

    assert maybe(fails) == Unknown("b1", denied=denied)
