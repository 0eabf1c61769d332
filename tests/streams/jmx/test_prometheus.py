"""The nodes' numbers from Prometheus: which node, how old, what is left out."""

import json
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

import pytest

from migration.observed.jmx_names import JmxName
from streams.jmx.config import Access, PrometheusServer
from streams.jmx.errors import NotMetrics, Unreachable
from streams.jmx.exposition import Reading
from streams.jmx.http import Http
from streams.jmx.prometheus import read_prometheus
from tests.streams.jmx.server import Answer, serving, text

NOW_S = 1_790_000_000.5
METRIC = "kafka_controller_KafkaController_Value"
ASSIGNMENTS = "org_apache_kafka_server_AssignmentsManager_Value"
QUEUE = str(JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS)


def series(
    name: str, value: str, *, age_s: float = 10, metric: str = METRIC, **labels: str
) -> dict[str, object]:
    at = NOW_S - age_s
    of = {"__name__": metric, "name": name, **labels}
    return {"metric": of, "values": [[at - 15, "99"], [at, value]]}


def server(*found: dict[str, object], asked: list[str] | None = None) -> Answer:
    """Answers as Prometheus does: the time, then each of the two queries, the second in full."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        (query,) = parse_qs(urlsplit(request.path).query)["query"]
        if asked is not None:
            asked.append(query)
        if query == "time()":
            data = {"resultType": "scalar", "result": [NOW_S, str(NOW_S)]}
        else:
            result = list(found) if "{name=~" in query else []
            data = {"resultType": "matrix", "result": result}
        text(json.dumps({"status": "success", "data": data}))(request)

    return answer


def read(answer: Answer, **more: object) -> list[Reading]:
    with serving(answer) as url:
        asker = Http(Access(), 10)
        shape: dict[str, object] = {"node_label": "node"} | more
        try:
            return read_prometheus(PrometheusServer(url=url, **shape), asker)  # type: ignore[arg-type]
        finally:
            asker.close()


def test_each_nodes_latest_numbers_with_their_age() -> None:
    found = read(
        server(
            series("ZkMigrationState", "4", node="1", instance="b1:7071"),
            series("ZkMigrationState", "1", node="3000", instance="c1:7071", age_s=4),
            series("ZkWriteBehindLag", "0", node="3000", instance="c1:7071", age_s=4),
        )
    )
    assert found == [
        Reading(1, "b1:7071", 10_000, {JmxName.ZK_MIGRATION_STATE: 4}),
        Reading(
            3000,
            "c1:7071",
            4000,
            {JmxName.ZK_MIGRATION_STATE: 1, JmxName.ZK_WRITE_BEHIND_LAG: 0},
        ),
    ]


def test_a_bean_that_is_gone_is_not_known_any_more() -> None:
    (found,) = read(
        server(
            series("ZkWriteBehindLag", "0", node="1", age_s=60),
            series("ZkMigrationState", "3", node="1", age_s=5),
        )
    )
    assert found.numbers == {JmxName.ZK_MIGRATION_STATE: 3}


def test_jobs_that_share_a_node_are_scraped_at_their_own_times() -> None:
    """One job has the controller's beans every few seconds, another one the rest: none is gone."""
    at = {"node": "1", "instance": "b1:7071"}
    (found,) = read(
        server(
            series("ZkMigrationState", "4", age_s=2, job="fast", **at),
            series("ZkWriteBehindLag", "0", age_s=25, job="fast", **at),
            series(QUEUE, "7", metric=ASSIGNMENTS, age_s=25, job="slow", **at),
            series("ZkMigrationState", "1", age_s=25, job="slow", **at),
        )
    )
    assert found.numbers == {
        JmxName.ZK_MIGRATION_STATE: 4,
        JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS: 7,
    }
    assert found.age_ms == 25_000


def test_the_instances_name_the_nodes() -> None:
    answer = server(
        series("ZkMigrationState", "1", instance="c1:7071"),
        series("ZkMigrationState", "3", instance="elsewhere:7071"),
    )
    found = read(answer, node_label=None, instances={"c1:7071": 3000})
    assert [(each.node, each.numbers) for each in found] == [
        (3000, {JmxName.ZK_MIGRATION_STATE: 1})
    ]


def test_the_labels_select_and_cannot_break_out() -> None:
    asked: list[str] = []
    with pytest.raises(NotMetrics, match="no bean"):
        read(server(asked=asked), labels={"job": 'kaf"ka\\'})
    assert asked[0] == "time()"
    assert asked[1].endswith(', job="kaf\\"ka\\\\"}[120s]')
    assert asked[1].startswith('{__name__=~"(?i).*(Zk_?Migration_?State|')


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (text("<html>"), NotMetrics, "is not a Prometheus server"),
        (text("[]"), NotMetrics, "is not a Prometheus server"),
        (text('{"status": "error", "error": "too many samples"}'), Unreachable, "too many"),
        (text('{"status": "success", "data": {"result": []}}'), NotMetrics, "its time"),
        (server({"metric": {}, "values": [["x", 1]]}), NotMetrics, "is not a matrix"),
        (text('{"status": "success", "data": ' + "[" * 100_000), NotMetrics, "deeper than 64"),
        (text('{"status": "success", "data": ' + "9" * 5000 + "}"), NotMetrics, "64 bits"),
        (server(series("ZkMigrationState", "1", node="b1")), NotMetrics, "that it can identify"),
    ],
)
def test_what_is_no_answer_is_named(answer: Answer, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        read(answer)


@pytest.mark.parametrize("number", ["one", "1e300", "-1e300", "NaN", "+Inf", "2147483648", "1.5"])
def test_a_number_that_cannot_be_read_leaves_the_others_as_they_are(number: str) -> None:
    answer = server(
        series("MigratingZkBrokerCount", number, node="3000"),
        series("ZkMigrationState", "1", node="3000"),
        series("ZkMigrationState", "4", node="1"),
    )
    assert [(each.node, each.numbers) for each in read(answer)] == [
        (1, {JmxName.ZK_MIGRATION_STATE: 4}),
        (3000, {JmxName.ZK_MIGRATION_STATE: 1}),
    ]


@pytest.mark.parametrize("node", ["2147483648", "9" * 30, "\u0663", "-1", "07"])
def test_what_is_no_node_id_names_no_node(node: str) -> None:
    answer = server(
        series("ZkMigrationState", "1", node=node), series("ZkMigrationState", "4", node="1")
    )
    assert [each.node for each in read(answer)] == [1]


def test_a_sample_of_an_impossible_time_is_left_out() -> None:
    answer = server(
        series("ZkMigrationState", "1", node="1", age_s=-1e300),
        series("ZkMigrationState", "4", node="2"),
    )
    assert [each.node for each in read(answer)] == [2]
