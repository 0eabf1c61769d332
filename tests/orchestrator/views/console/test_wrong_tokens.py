"""Wrong tokens: counted by address, limited, and recorded in the audit trail."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.views.console.access.bearer_token import Token
from orchestrator.views.console.access.refusals import Refused
from orchestrator.views.console.access.wrong_tokens import WINDOW_S, WRONG_MAX, WrongTokens
from tests.orchestrator.views.console.conftest import Start
from tests.orchestrator.views.console.reading import client, refused
from tests.orchestrator.views.console.test_refusals import pause

RIGHT = "0123456789abcdef"
OTHER_HOST = "192.0.2.1"


@dataclass
class Clock:
    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def wrong(clock: Clock) -> WrongTokens:
    return WrongTokens(Token(Path("token"), RIGHT), clock)


def exhaust(wrong: WrongTokens, host: str) -> None:
    assert [wrong.check("x", host) for _ in range(WRONG_MAX)] == [*range(1, WRONG_MAX + 1)]


def test_after_too_many_no_token_of_that_address_is_looked_at(
    wrong: WrongTokens, clock: Clock
) -> None:
    exhaust(wrong, OTHER_HOST)
    clock.now_s = WINDOW_S - 1
    for given in ("x", RIGHT):
        with pytest.raises(Refused) as caught:
            wrong.check(given, OTHER_HOST)
        assert (caught.value.status, caught.value.headers) == (429, {"Retry-After": "2"})
    assert wrong.check(RIGHT, "192.0.2.2") is None
    clock.now_s = WINDOW_S
    assert wrong.check(RIGHT, OTHER_HOST) is None


def test_the_addresses_of_loopback_are_one(wrong: WrongTokens) -> None:
    """A local user can use all of them, and each first wrong token is recorded."""
    exhaust(wrong, "127.0.0.1")
    for host in ("127.7.0.1", "::1"):
        with pytest.raises(Refused):
            wrong.check("x", host)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_on_loopback_the_right_token_is_always_accepted(wrong: WrongTokens, host: str) -> None:
    """Another local user must not lock the operator out."""
    exhaust(wrong, host)
    with pytest.raises(Refused) as caught:
        wrong.check("x", host)
    assert caught.value.problem.mend == "read the token from its file again"
    assert wrong.check(RIGHT, host) is None


def test_a_wrong_token_is_recorded_and_refused_wherever_it_is_sent(start: Start) -> None:
    """Reading needs no token on loopback; a wrong one is an attempt all the same."""
    served = start()
    with client(served, token="x" * 20) as http:
        for _ in range(WRONG_MAX):
            assert refused(http.get("/api/state")) == (401, "token_wrong")
        answer = http.get("/api/state")
        assert refused(answer) == (429, "slow_down")
        assert int(answer.headers["retry-after"]) > 0
    entries = [e for e in served.world.log.entries("prod") if e.kind == "wrong_console_token"]
    assert [each.body for each in entries] == [
        {"host": "127.0.0.1", "count": 1},
        {"host": "127.0.0.1", "count": WRONG_MAX},
    ]
    assert pause(served).status_code == 200
