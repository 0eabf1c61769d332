"""What an error of a node makes unknown, and how it is reported."""

import pytest

from migration.assessment.conditions import PreflightSeen
from migration.assessment.conditions.view import CheckSeen
from migration.observed.probed import Unknown
from streams.kafka.errors import ConnectionFailed, NotAuthorized
from streams.net.errors import LiveError
from streams.probe import conditions
from streams.probe.asking import maybe
from streams.probe.gather import Target
from tests.migration.assessment.checks.clusters import no_brokers


@pytest.mark.parametrize(
    ("error", "denied"), [(NotAuthorized("b1"), True), (ConnectionFailed("b1"), False)]
)
def test_only_a_missing_right_is_denied(error: LiveError, denied: bool) -> None:
    def fails() -> None:
        raise error

    assert maybe(fails) == Unknown("b1", denied=denied)


def test_an_unknown_check_is_reported_with_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "gather", lambda _: no_brokers())
    seen = conditions.ask_checks(Target(cluster="prod"), lambda: 1)
    assert isinstance(seen, PreflightSeen)
    assert seen.blocking[0] == CheckSeen(
        id="brokers-reachable", text="data is missing: b1:9092 refused", is_unknown=True
    )
