"""The lab changes the cluster also while brokers restart, and says why Kafka rejects a change.

A stub replaces the admin client: librdkafka fails a request in this way only if the metadata stops
listing the broker in the milliseconds between the request and its response.
"""

from concurrent.futures import Future
from typing import Any, Final

import pytest
from confluent_kafka import KafkaError, KafkaException

from orchestrator.lab.cluster.data import LabData
from orchestrator.lab.errors import RequestRefusedError

LOST: Final = KafkaError._DESTROY_BROKER
EXISTS: Final = KafkaError.TOPIC_ALREADY_EXISTS


class Changing(LabData):
    """Sends to a client whose answers are these errors, one after the other; None: it is done."""

    broker_bootstrap = "b1:9092"

    def __init__(self, *answers: int | None) -> None:
        self._left = list(answers)

    def _await_controller(self) -> None:
        pass

    def _client(self) -> Any:
        return None

    def create(self) -> int:
        """Create a topic; return how many answers remain."""
        self._change("create topic t", lambda _: {"t": self._answer()}, done=EXISTS)
        return len(self._left)

    def _answer(self) -> "Future[None]":
        answer: Future[None] = Future()
        code = self._left.pop(0)
        if code is None:
            answer.set_result(None)
        else:
            answer.set_exception(KafkaException(KafkaError(code)))
        return answer


@pytest.mark.parametrize("answers", [(None,), (LOST, None), (LOST, EXISTS), (LOST, LOST, None)])
def test_a_lost_request_is_sent_again(answers: tuple[int | None, ...]) -> None:
    assert Changing(*answers).create() == 0


@pytest.mark.parametrize(
    "answers",
    [
        (EXISTS,),
        (KafkaError.POLICY_VIOLATION,),
        (LOST, KafkaError.INVALID_REPLICATION_FACTOR),
        (LOST,) * 9,
    ],
)
def test_a_refusal_and_a_lasting_loss_are_errors(answers: tuple[int, ...]) -> None:
    with pytest.raises(RequestRefusedError, match="Kafka did not create topic t"):
        Changing(*answers).create()


@pytest.mark.parametrize(
    ("code", "why", "fix"),
    [
        (EXISTS, "Broker: Topic already exists", "kraftgate lab delete-topic"),
        (KafkaError.TOPIC_EXCEPTION, "Broker: Invalid topic", "name"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "Broker: Unknown topic or partition", "name"),
        (KafkaError.INVALID_CONFIG, "Broker: Configuration is invalid", "--config"),
        (
            KafkaError.INVALID_REPLICATION_FACTOR,
            "Broker: Invalid replication factor",
            "--replication-factor",
        ),
        (
            KafkaError.INVALID_REPLICA_ASSIGNMENT,
            "Broker: Invalid replica assignment",
            "the same number of different brokers",
        ),
        (KafkaError.REQUEST_TIMED_OUT, "Broker: Request timed out", "none is frozen"),
    ],
)
def test_the_fix_fits_the_reason_that_kafka_gives(code: int, why: str, fix: str) -> None:
    with pytest.raises(RequestRefusedError) as found:
        Changing(code).create()
    assert found.value.what == f"Kafka did not create topic t: {why}"
    assert fix in found.value.fix
    assert (code == KafkaError.REQUEST_TIMED_OUT) == ("frozen" in found.value.fix)
