"""The quorum as conditions see it, where an address leads to another cluster."""

from collections.abc import Callable, Mapping

import pytest

from migration.assessment.conditions import QuorumSeen, Verdict, judge_all, parse
from migration.observed.probed import Maybe, Quorum, Unknown, Voter
from streams.kafka import messages
from streams.kafka.error_codes import ErrorCode
from streams.kafka.messages import FetchReply
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security
from streams.probe.conditions import ask_quorum
from streams.probe.gather import Target
from tests.migration.assessment.conditions.views import NOW, view

OURS, FOREIGN, DEAD = "c1", "c2", "c3"
Ask = Callable[[str | None], Maybe[QuorumSeen]]


def quorum_of(leader: int, epoch: int, *lags_ms: int) -> Quorum:
    progress = tuple(
        Voter(id=leader + at, log_end_offset=9, last_caught_up_ms=NOW - lag)
        for at, lag in enumerate((0, *lags_ms))
    )
    voters = tuple(each.id for each in progress)
    return Quorum(leader=leader, epoch=epoch, high_watermark=9, voters=voters, progress=progress)


@pytest.fixture
def errors() -> dict[str, int]:
    """The error with which a host answers a FETCH of our cluster's id."""
    return {FOREIGN: ErrorCode.inconsistent_cluster_id}


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, errors: Mapping[str, int]) -> Ask:
    """Ask a controller of ours, one of a cluster with a higher epoch, and one that is dead."""
    quorums = {OURS: quorum_of(3000, 5, 600_000, 100), FOREIGN: quorum_of(7000, 40, 100, 100)}

    class Fake:
        def __init__(self, endpoint: Endpoint, _: Security) -> None:
            self.host = endpoint.host
            if self.host == DEAD:
                raise LiveError(f"{endpoint}: timed out")

        def __enter__(self) -> "Fake":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def version(self, api_key: int) -> int:
            return messages.APIS[api_key].last

        def ask(self, request: object) -> FetchReply:
            del request
            return FetchReply(error=errors.get(self.host, 0))

        def quorum(self) -> Quorum:
            return quorums[self.host]

        def settings(self, *_: object) -> Mapping[str, str]:
            return {}

    monkeypatch.setattr("streams.probe.conditions.Node", Fake)
    monkeypatch.setattr("streams.probe.conditions._refuses", lambda _: False)
    monkeypatch.setattr(messages, "read_fetch", lambda reply: reply)
    controllers = tuple(Endpoint(each, 9093) for each in (OURS, FOREIGN, DEAD))
    return lambda cluster_id: ask_quorum(
        Target(cluster="prod", cluster_id=cluster_id, controllers=controllers), lambda: NOW
    )


def test_the_quorum_of_another_cluster_is_not_this_ones(ask: Ask) -> None:
    seen = ask("ours")
    assert isinstance(seen, QuorumSeen)
    assert (seen.leader, seen.answering) == (3000, 1)
    assert seen.silent[f"{FOREIGN}:9093"] == "it belongs to another cluster, not ours"
    (finding,) = judge_all([parse("quorum_healthy")], view(quorum=seen))
    assert finding.verdict is Verdict.VIOLATED, "ours is behind, whatever the other's state"


def test_of_two_quorums_without_a_known_cluster_id_none_counts(ask: Ask) -> None:
    seen = ask(None)
    assert isinstance(seen, Unknown)
    assert seen.why.startswith(f"{OURS}:9093: not part of the quorum that 7000 leads")


def test_a_quorum_whose_cluster_id_cannot_be_checked_does_not_count(
    ask: Ask, errors: dict[str, int]
) -> None:
    """The principal may describe another cluster's quorum, and may not fetch from it."""
    errors[OURS] = ErrorCode.cluster_authorization_failed
    seen = ask("ours")
    assert isinstance(seen, Unknown)
    assert "grant the principal CLUSTER_ACTION on CLUSTER" in seen.why
