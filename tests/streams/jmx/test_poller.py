"""The poller against real HTTP servers: its facts, their times and its errors."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from itertools import count

import pytest

from migration.observed.facts import JmxFact, JmxNodes, JmxSeen, JmxUnreachable
from migration.observed.jmx_names import JmxName
from migration.observed.source_status import is_current
from streams.jmx.config import JmxConfig, PrometheusServer
from streams.jmx.exposition import Reading
from streams.jmx.http import Http
from streams.jmx.poller import JmxPoller
from tests.streams.jmx.server import serving, text
from tests.streams.log_dirs.journal import Facts, now_ms
from tests.support.polling import until

STATE = 'kafka_controller_KafkaController_Value{{name="ZkMigrationState"}} {}\n'
FAST = {"interval_s": 0.02, "deadline_s": 30.0}


class Node:
    """A node that serves a number set by the test; None: it hangs until the test ends."""

    def __init__(self) -> None:
        self.state: int | None = 1
        self.asked = 0
        self.ended = threading.Event()

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        self.asked += 1
        if self.state is None:
            self.ended.wait(60)
        text(STATE.format(self.state))(request)


@contextmanager
def node() -> Iterator[tuple[Node, str]]:
    one = Node()
    with serving(one) as url:
        try:
            yield one, f"{url}/metrics"
        finally:
            one.ended.set()


def poller(facts: Facts, urls: dict[int, str], **more: float) -> JmxPoller:
    config = JmxConfig(exporters=urls, **(FAST | more))  # type: ignore[arg-type]
    return JmxPoller(config, facts.append, now_ms)


def reads(state: int) -> tuple[tuple[str, int], ...]:
    return ((str(JmxName.ZK_MIGRATION_STATE), state),)


def test_what_changes_is_told_and_nothing_else() -> None:
    facts = Facts()
    with node() as (one, url), poller(facts, {3000: url}):
        facts.wait(JmxSeen, lambda fact: fact.numbers == reads(1))
        asked = one.asked
        until(lambda: one.asked > asked + 5)
        assert [type(each) for each in facts.all()] == [JmxNodes, JmxSeen]
        one.state = 3
        seen = facts.wait(JmxSeen, lambda fact: fact.numbers == reads(3))
    assert facts.of(JmxNodes) == [JmxNodes(facts.of(JmxNodes)[0].seen_ms, (3000,))]
    assert (seen.node, seen.endpoint) == (3000, url)
    assert seen.read_ms <= seen.seen_ms


def test_a_node_that_is_down_or_hangs_does_not_hold_the_others_up() -> None:
    facts = Facts()
    with serving(text("")) as gone:
        pass
    with node() as (hanging, slow), node() as (well, url):
        hanging.state = None
        with poller(facts, {1: gone, 2: slow, 3: url}, deadline_s=0.2) as running:
            assert "refused" in facts.wait(JmxUnreachable, lambda fact: fact.node == 1).why
            facts.wait(JmxUnreachable, lambda fact: fact.node == 2)
            facts.wait(JmxSeen, lambda fact: fact.node == 3)
            well.state = 3
            facts.wait(JmxSeen, lambda fact: fact.numbers == reads(3))
            until(lambda: running.status().last_reply_ms is not None)
            said = running.status()
            assert is_current(said, now_ms())
            assert "refused" in (said.waiting or "")
            hanging.state = 1
            hanging.ended.set()
            facts.wait(JmxSeen, lambda fact: fact.node == 2)


def test_the_round_of_a_node_that_hangs_does_not_make_the_others_old() -> None:
    """The clock advances at each call, so a reading is older than the end of its round."""
    facts, ticks = Facts(), count(1)
    with node() as (hanging, slow), node() as (_, url):
        hanging.state = None
        config = JmxConfig(exporters={2: slow, 3: url}, interval_s=0.02, deadline_s=0.2)
        with JmxPoller(config, facts.append, lambda: next(ticks)) as running:
            seen = facts.wait(JmxSeen, lambda fact: fact.node == 3)
            until(lambda: running.status().last_reply_ms is not None)
            assert (running.status().last_reply_ms or 0) >= seen.seen_ms > seen.read_ms
            hanging.ended.set()


def test_credentials_that_are_refused_are_an_error() -> None:
    facts = Facts()
    with serving(text("", 401)) as url, poller(facts, {1: url}) as running:
        facts.wait(JmxUnreachable, lambda fact: "answers 401" in fact.why)
        until(lambda: running.status().error is not None)
        assert not is_current(running.status(), now_ms())


def test_the_text_of_an_unexpected_error_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError("Bearer s3cr3t")

    monkeypatch.setattr(Http, "lines", fail)
    facts = Facts()
    with poller(facts, {1: "http://b1:7071/metrics"}) as running:
        facts.wait(JmxUnreachable, lambda fact: fact.why == "an unexpected LookupError")
        until(lambda: "LookupError" in (running.status().waiting or ""))
        assert "s3cr3t" not in str(running.status())


def test_what_cannot_be_kept_is_told_again() -> None:
    facts, refused = Facts(), threading.Event()

    def append(told: Sequence[JmxFact]) -> object:
        if not refused.is_set():
            raise OSError("the disk is full")
        return facts.append(told)

    with node() as (_, url):
        config = JmxConfig(exporters={1: url}, **FAST)  # type: ignore[arg-type]
        with JmxPoller(config, append, now_ms) as running:
            until(lambda: "the disk is full" in (running.status().error or ""))
            refused.set()
            facts.wait(JmxSeen, lambda fact: fact.node == 1)
            assert len(facts.of(JmxNodes)) == 1
            until(lambda: running.status().error is None)


def test_prometheus_that_is_away_leaves_its_named_nodes_unknown() -> None:
    facts = Facts()
    with serving(text("", 503)) as url:
        server = PrometheusServer(url=url, instances={"b1:7071": 1, "c1:7071": 3000})
        config = JmxConfig(prometheus=server, **FAST)  # type: ignore[arg-type]
        with JmxPoller(config, facts.append, now_ms):
            for each in (1, 3000):
                facts.wait(JmxUnreachable, lambda fact, id_=each: fact.node == id_)  # type: ignore[misc]
    assert facts.of(JmxNodes)[0].nodes == (1, 3000)


def test_prometheus_has_the_time_of_each_of_its_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """All three together may take longer than one of them may."""

    def slow(server: PrometheusServer, http: Http) -> list[Reading]:
        del server, http
        threading.Event().wait(1.0)
        return [Reading(1, "b1:7071", 0, {})]

    monkeypatch.setattr("streams.jmx.poller.read_prometheus", slow)
    monkeypatch.setattr("streams.jmx.poller._GRACE_S", 0.0)
    facts = Facts()
    config = JmxConfig(prometheus=PrometheusServer(url="http://p"), interval_s=0.02, deadline_s=0.9)
    with JmxPoller(config, facts.append, now_ms):
        facts.wait(JmxSeen, lambda fact: fact.node == 1)
    assert facts.of(JmxUnreachable) == []
