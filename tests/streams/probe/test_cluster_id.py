"""Answers of another cluster, whose broker ids and topics may be the same, are never used."""

from collections.abc import Callable
from typing import Self

import pytest

from migration.assessment.checks.identity import cluster_id_agrees
from migration.assessment.conditions import TopicsSeen
from migration.assessment.finding import Verdict
from migration.observed.probed import Unknown
from streams.kafka.broker_values import ClusterView, LogDirAnswer
from streams.kafka.errors import ConnectionFailed
from streams.kafka.node import TopicSettings
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.probe.conditions import ask_settings, ask_topics
from streams.probe.gather import Target, gather

BOOTSTRAP, CONTROLLER = Endpoint("b1", 9092), Endpoint("b2", 9092)
TARGET = Target(cluster="prod", cluster_id="ours", brokers=(BOOTSTRAP,))
Answer = Callable[..., None]


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Give each of two brokers a cluster id; the first names the second as the controller."""
    ids: dict[Endpoint, str | None] = {}

    class Fake:
        def __init__(self, endpoint: Endpoint, _: Security) -> None:
            self.endpoint = endpoint

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def metadata(self, **_: bool) -> ClusterView:
            brokers = {1: BOOTSTRAP, 2: CONTROLLER}
            return ClusterView(ids[self.endpoint], brokers, {}, {}, controller=2)

    monkeypatch.setattr("streams.probe.brokers.Node", Fake)
    monkeypatch.setattr("streams.probe.conditions.query_node", lambda *_: ())
    monkeypatch.setattr("streams.probe.brokers.query_node", lambda *_: {})

    def put(bootstrap: str | None, controller: str | None) -> None:
        ids.update({BOOTSTRAP: bootstrap, CONTROLLER: controller})

    return put


def test_the_topics_are_those_of_the_cluster(answer: Answer) -> None:
    answer("ours", "ours")
    seen = ask_topics(TARGET, lambda: 1)
    assert isinstance(seen, TopicsSeen)
    assert seen.controller == 2


@pytest.mark.parametrize("ids", [("theirs", "ours"), ("ours", "theirs")])
def test_the_topics_of_another_cluster_are_unknown(answer: Answer, ids: tuple[str, str]) -> None:
    """The address of the controller may have been given to another cluster."""
    answer(*ids)
    seen = ask_topics(TARGET, lambda: 1)
    assert isinstance(seen, Unknown)
    assert seen.why.startswith("the brokers belong to cluster theirs, not ours")


@pytest.mark.parametrize(("found", "named"), [("theirs", "theirs"), (None, "(not reported)")])
def test_the_settings_of_another_cluster_are_unknown(
    answer: Answer, found: str | None, named: str
) -> None:
    answer(found, "ours")
    seen = ask_settings(TARGET, lambda: 1)
    assert isinstance(seen, Unknown)
    assert seen.why.startswith(f"the brokers belong to cluster {named}, not ours")


def test_each_bootstrap_address_is_asked_for_its_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one that answers gives the view of the cluster; the last one is silent."""
    ids = {"b1": "ours", "b2": "theirs"}

    class Fake:
        release = (3, 9)

        def __init__(self, endpoint: Endpoint, _: Security, *, broker: int | None = None) -> None:
            del broker
            if endpoint.host not in ids:
                raise ConnectionFailed(f"{endpoint} refused")
            self.id = ids[endpoint.host]

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def metadata(self, **_: bool) -> ClusterView:
            return ClusterView(self.id, {1: BOOTSTRAP}, {}, {}, controller=1)

        def settings(self, *_: object) -> dict[str, str]:
            return {}

        def topic_settings(self, _: object) -> TopicSettings:
            return TopicSettings({}, set())

        def reassignments(self) -> tuple[str, ...]:
            return ()

        def log_dirs(self) -> tuple[LogDirAnswer, ...]:
            return ()

    monkeypatch.setattr("streams.probe.brokers.Node", Fake)
    monkeypatch.setattr("streams.probe.asking.Node", Fake)
    last = Endpoint("b3", 9092)
    facts = gather(Target(cluster="prod", brokers=(BOOTSTRAP, CONTROLLER, last)))
    assert facts.bootstrap_ids == {"b1:9092": "ours", "b2:9092": "theirs"}
    found = cluster_id_agrees.judge(facts)
    assert found.verdict is Verdict.VIOLATED
    assert "broker at b2:9092: theirs" in found.evidence


def test_two_brokers_of_two_clusters_do_not_pass_as_one(answer: Answer) -> None:
    """Although no id is known that both must have."""
    answer("ours", "theirs")
    seen = ask_topics(Target(cluster="prod", brokers=(BOOTSTRAP,)), lambda: 1)
    assert isinstance(seen, Unknown)
    assert seen.why.startswith("the brokers belong to cluster theirs, not ours")
