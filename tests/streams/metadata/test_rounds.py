"""A round ends when everyone was asked in vain, and the next one waits longer."""

from streams.metadata.rounds import BACKOFF_MAX_S, ELECTION_BACKOFF_MAX_S, Refusal, Rounds
from streams.net.endpoint import Endpoint

A, B = Endpoint("a", 1), Endpoint("b", 2)


def lose(rounds: Rounds, epoch: int | None = None) -> float:
    assert rounds.failed(A, Refusal("a refused", epoch), 0.0) is None
    over = rounds.failed(B, Refusal("b timed out", epoch), 0.0)
    assert over is not None
    return over.pause.until


def test_the_wait_says_what_each_controller_answered() -> None:
    rounds = Rounds((A, B), lambda: 1.0)
    rounds.failed(A, Refusal("a:1 refused"), 0.0)
    over = rounds.failed(B, Refusal("b:2 timed out"), 0.0)
    assert over is not None
    assert over.pause.reason == "no controller reachable: a:1 refused, b:2 timed out"


def test_the_wait_doubles_up_to_its_longest() -> None:
    rounds = Rounds((A, B), lambda: 1.0)
    waits = [lose(rounds) for _ in range(9)]
    assert waits[:6] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
    assert waits[6:] == [BACKOFF_MAX_S] * 3


def test_jitter_takes_off_up_to_half() -> None:
    assert lose(Rounds((A, B), lambda: 0.0)) == 0.05


def test_controllers_that_answer_are_asked_again_sooner() -> None:
    rounds = Rounds((A, B), lambda: 1.0)
    waits = [lose(rounds, epoch=3) for _ in range(9)]
    assert max(waits) == ELECTION_BACKOFF_MAX_S


def test_success_forgets_the_lost_rounds() -> None:
    rounds = Rounds((A, B), lambda: 1.0)
    for _ in range(5):
        lose(rounds)
    rounds.succeeded(B)
    assert rounds.candidate(0.0) == B
    assert lose(rounds) == 0.1


def test_a_learned_controller_is_asked_too() -> None:
    rounds = Rounds((A,), lambda: 1.0)
    rounds.learn({2: B})
    assert rounds.failed(A, Refusal("no"), 0.0) is None
    assert rounds.candidate(0.0) == B


def test_a_controller_that_rejected_the_credentials_waits_longer_than_the_round() -> None:
    rounds = Rounds((A, B), lambda: 1.0)
    assert rounds.failed(A, Refusal("wrong password", until=10.0), 0.0) is None
    over = rounds.failed(B, Refusal("timed out"), 0.0)
    assert over is not None
    assert not over.rejected
    rounds.succeeded(A)
    assert [rounds.candidate(now) for now in (0.1, 9.9, 10.0)] == [B, B, A]


def test_leaders_that_send_each_other_around_end_in_a_wait() -> None:
    rounds = Rounds((A, B), lambda: 1.0)
    steps = 0
    while rounds.spend(0.0) is None:
        steps += 1
    assert steps == 4
