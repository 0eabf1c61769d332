"""Against a real Prometheus that scrapes: which node, which number, read when."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from migration.observed.facts import JmxSeen
from migration.observed.jmx_names import JmxName
from streams.jmx.config import Access, JmxConfig, PrometheusServer
from streams.jmx.errors import NotMetrics
from streams.jmx.http import Http
from streams.jmx.poller import JmxPoller
from streams.jmx.prometheus import read_prometheus
from tests.streams.jmx.scraping import scraped
from tests.streams.jmx.server import serving, text
from tests.streams.log_dirs.journal import Facts, now_ms
from tests.support.polling import until
from tests.support.prometheus import running

pytestmark = pytest.mark.prometheus

BROKER = """\
kafka_log_LogManager_Value{name="OfflineLogDirectoryCount"} 0.0
org_apache_kafka_server_AssignmentsManager_Value{name="QueuedReplicaToDirAssignments"} 2.0
"""
CONTROLLER = """\
kafka_controller_kafkacontroller_zkmigrationstate 1.0
kafka_controller_kafkacontroller_zkwritebehindlag 0.0
"""
"""The two nodes' agents were given different rules."""


@pytest.fixture
def http() -> Iterator[Http]:
    asker = Http(Access(), 10)
    yield asker
    asker.close()


def test_the_nodes_numbers_are_found_under_either_naming(tmp_path: Path, http: Http) -> None:
    with (
        serving(text(BROKER)) as broker,
        serving(text(CONTROLLER)) as controller,
        running(tmp_path, {1: broker, 3000: controller}) as url,
    ):
        kafka = PrometheusServer(url=url, labels={"job": "kafka"}, node_label="node_id")
        by_label = scraped(kafka, http, nodes=2)
        assert {each.node: dict(each.numbers) for each in by_label} == {
            1: {
                JmxName.OFFLINE_LOG_DIRECTORY_COUNT: 0,
                JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS: 2,
            },
            3000: {JmxName.ZK_MIGRATION_STATE: 1, JmxName.ZK_WRITE_BEHIND_LAG: 0},
        }
        instance = controller.removeprefix("http://")
        (named,) = read_prometheus(PrometheusServer(url=url, instances={instance: 3000}), http)
        assert (named.node, named.endpoint) == (3000, instance)
        with pytest.raises(NotMetrics, match="no bean that Kraftgate knows"):
            read_prometheus(
                PrometheusServer(url=url, labels={"job": "other"}, node_label="node_id"), http
            )


def test_a_node_that_is_not_scraped_any_more_keeps_the_time_of_its_last_reading(
    tmp_path: Path, http: Http
) -> None:
    """An instant query would give the old number the time of the query."""
    down = False

    def answer(request: BaseHTTPRequestHandler) -> None:
        text("", 500)(request) if down else text(CONTROLLER)(request)

    with serving(answer) as node, running(tmp_path, {3000: node}) as url:
        server = PrometheusServer(url=url, node_label="node_id")
        scraped(server, http, nodes=1)
        down = True

        def read_at() -> int:
            (found,) = read_prometheus(server, http)
            return now_ms() - found.age_ms

        ages = [read_prometheus(server, http)[0].age_ms]
        until(lambda: read_prometheus(server, http)[0].age_ms > ages[0] + 2000)
        first = read_at()
        until(lambda: read_prometheus(server, http)[0].age_ms > ages[0] + 4000)
        assert abs(read_at() - first) < 1000


def test_the_poller_tells_when_the_numbers_were_read(tmp_path: Path) -> None:
    facts = Facts()
    with serving(text(CONTROLLER)) as node, running(tmp_path, {3000: node}) as url:
        server = PrometheusServer(url=url, node_label="node_id")
        config = JmxConfig(prometheus=server, interval_s=0.1)
        with JmxPoller(config, facts.append, now_ms):
            seen = facts.wait(JmxSeen, lambda fact: fact.node == 3000)
    assert seen.read_ms <= seen.seen_ms
    assert dict(seen.numbers)["ZkMigrationState"] == 1
