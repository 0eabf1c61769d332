"""On a real cluster with jmx_exporter's agent: the numbers, and the two hazards that need them.

One cluster goes from ZooKeeper to dual write. There somebody touches the znodes that the
controller's writes depend on; then the controller is frozen while a broker moves replicas to
another of its log directories, so that its assignments are not confirmed.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from migration.assessment.currency import Currency
from migration.assessment.hazards import HazardKind, hazards
from migration.assessment.waits import WaitKind
from migration.image.summary import ClusterSummary, Mode, Phase
from migration.metadata.events import Event, Source
from migration.observed.jmx import JmxNode
from migration.observed.jmx_names import JmxName
from migration.observed.source_status import SourceStatus
from orchestrator.lab import Lab, LabSpec
from streams.jmx.config import Access, PrometheusServer
from streams.jmx.exposition import numbers_in
from streams.jmx.http import Http
from tests.streams.jmx.scraping import scraped
from tests.streams.log_dirs.journal import now_ms
from tests.support.cli import kraftgate
from tests.support.lab_steps import child_znodes, put_znode, wait_directory_noticed
from tests.support.polling import until
from tests.support.prometheus import running
from tests.system.killing import Killed

pytestmark = [
    pytest.mark.lab,
    pytest.mark.spark,
    pytest.mark.prometheus,
    pytest.mark.long(minutes=4),
]

CONTROLLER = 3000
QUEUE = str(JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS)
STATE = str(JmxName.ZK_MIGRATION_STATE)
MIGRATING = str(JmxName.MIGRATING_ZK_BROKER_COUNT)
LAG = str(JmxName.ZK_WRITE_BEHIND_LAG)
OFFLINE = str(JmxName.OFFLINE_LOG_DIRECTORY_COUNT)

RULES = {
    "its own": "",
    "its own, in lower case": "lowercaseOutputName: true\nlowercaseOutputLabelNames: true\n",
    "Strimzi's": """\
lowercaseOutputName: true
rules:
  - pattern: kafka.(\\w+)<type=(.+), name=(.+)><>Value
    name: kafka_$1_$2_$3
""",
    "type and name as labels": """\
rules:
  - pattern: ^(.+)<type=(.+), name=(.+)><>Value
    name: $1_value
    labels: {type: "$2", name: "$3"}
""",
}
"""Of jmx_exporter, as operators write them; the agent reads its file again when it changes."""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=1, directories=2, controllers=1, jmx=True)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("old", assignments=[[1]] * 4)
        yield lab


@pytest.fixture
def run(lab: Lab, tmp_path: Path) -> Iterator[Killed]:
    exporters = {str(id_): url for id_, url in lab.jmx_exporters.items()}
    sources = (
        f'zookeeper: {{connect: "{lab.zookeeper_connect}"}}\n'
        f'brokers: {{bootstrap: "{lab.broker_bootstrap}"}}\n'
        f"jmx: {{exporters: {json.dumps(exporters)}}}\n"
    )
    with Killed(tmp_path, lab.controller_bootstrap, lab.cluster_id, sources) as run:
        run.start()
        yield run


def node(summary: ClusterSummary, id_: int) -> JmxNode:
    assert summary.jmx is not None
    return summary.jmx.nodes.get(id_, JmxNode(id=id_))


def found(summary: ClusterSummary, kind: HazardKind) -> list[Any]:
    log = SourceStatus(observed_ms=now_ms(), dual_write_due=summary.metadata_offset)
    return [each for each in hazards(summary, now_ms(), Currency(log=log)) if each.kind is kind]


def wait_read(
    run: Killed,
    id_: int,
    numbers: Mapping[str, int | None],
    also: Callable[[ClusterSummary], bool] = lambda _: True,
) -> ClusterSummary:
    """Wait until the node's numbers are these; None: not known.

    `also`: what another source must show, which may be ahead of JMX or behind it.
    """

    def holds(now: ClusterSummary) -> bool:
        if now.jmx is None or node(now, id_).unreachable is not None:
            return False
        known = node(now, id_).numbers
        return (
            id_ in now.jmx.nodes
            and all(known.get(k) == v for k, v in numbers.items())
            and also(now)
        )

    return run.wait_for(holds)


def status(run: Killed) -> dict[str, Any]:
    done = kraftgate(run.config, "status", "--json")
    assert done.stdout, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_the_numbers_and_the_hazards_that_need_them(lab: Lab, run: Killed, tmp_path: Path) -> None:
    """KIP-858, "Metrics": QueuedReplicaToDirAssignments of a real broker."""
    _under_zookeeper(run)
    _through_the_migration(lab, run)
    _under_every_naming(lab)
    _by_way_of_prometheus(lab, tmp_path)
    _the_znode_of_the_migration_is_deleted(lab, run)
    _somebody_raises_the_controllers_epoch(lab, run)
    _the_queue_stays_full_while_the_controller_is_frozen(lab, run)
    _all_is_well_again(lab, run)
    assert run.interrupt() == 0
    assert not run.leftovers()


def _under_zookeeper(run: Killed) -> None:
    """A broker in ZooKeeper mode reads 4, and has no queue; there is no controller to read."""
    numbers = {STATE: 4, OFFLINE: 0, QUEUE: None, MIGRATING: None}
    wait_read(run, 1, numbers, lambda now: now.phase is Phase.ZOOKEEPER)
    gone = run.wait_for(lambda now: node(now, CONTROLLER).unreachable is not None)
    assert "refused" in (node(gone, CONTROLLER).unreachable or "")
    event = run.wait_for_event(
        lambda event: event.kind == "jmx_unreachable" and event.fields["node"] == CONTROLLER
    )
    assert event.source is Source.JMX


def _through_the_migration(lab: Lab, run: Killed) -> None:
    lab.start_controllers()
    wait_read(run, CONTROLLER, {STATE: 2, MIGRATING: 0, LAG: 0})
    lab.enter_migration(1)
    lab.wait_copied()
    migrating = [Mode.MIGRATING]
    wait_read(
        run,
        CONTROLLER,
        {STATE: 1, MIGRATING: 1},
        lambda now: [each.mode for each in now.brokers] == migrating,
    )
    # A broker in migration mode reads 4 still, and that contradicts nothing.
    wait_read(run, 1, {STATE: 4, QUEUE: None})
    lab.move_to_kraft(1)
    lab.wait_in_sync()
    wait_read(run, 1, {STATE: None, QUEUE: 0, OFFLINE: 0})
    dual_write = Phase.DUAL_WRITE
    now = wait_read(run, CONTROLLER, {STATE: 1, MIGRATING: 0}, lambda now: now.phase is dual_write)
    assert not found(now, HazardKind.JMX_CONTRADICTS)
    states = [
        (each.fields["was"], each.fields["now"])
        for each in run.events()
        if each.kind == "jmx_changed" and each.fields["name"] == STATE
    ]
    # The first poll may read the state before the controller sets it: (-1, 2) is then the first.
    assert states in ([(2, 1)], [(-1, 2), (2, 1)])
    told = status(run)
    assert told["jmx"]["nodes"][str(CONTROLLER)]["numbers"][STATE] == 1
    assert told["jmx"]["error"] is None
    assert told["jmx"]["stale_seconds"] is not None
    until(lambda: WaitKind.JMX_UNKNOWN not in {each["name"] for each in status(run)["waits"]})


def _under_every_naming(lab: Lab) -> None:
    """The same numbers, whatever rules the agent was given."""
    file = lab.home / "config" / "jmx_exporter.all.yml"
    before, http = file.read_text("utf-8"), Http(Access(), 20)
    expected = _known(lab, http)
    assert expected[CONTROLLER].keys() >= {STATE, MIGRATING, LAG}
    assert expected[1].keys() >= {QUEUE, OFFLINE}
    texts = set()
    for rules in RULES.values():
        file.write_text(before + rules, "utf-8")
        assert _known(lab, http) == expected, rules
        metrics = b"\n".join(http.lines(lab.jmx_exporters[CONTROLLER])).decode()
        texts.add(next(each for each in metrics.splitlines() if STATE.lower() in each.lower()))
    assert len(texts) == len(RULES), texts
    file.write_text(before, "utf-8")
    http.close()


def _known(lab: Lab, http: Http) -> dict[int, dict[JmxName, int]]:
    numbers = {id_: numbers_in(http.lines(url), url) for id_, url in lab.jmx_exporters.items()}
    for each in numbers.values():
        each |= dict.fromkeys(each.keys() & {JmxName.ZK_WRITE_BEHIND_LAG}, 0)  # it moves
    return numbers


def _by_way_of_prometheus(lab: Lab, folder: Path) -> None:
    http = Http(Access(), 20)
    with running(folder, lab.jmx_exporters) as url:
        server = PrometheusServer(url=url, node_label="node_id")
        read = {
            each.node: dict(each.numbers)
            for each in scraped(server, http, nodes=len(lab.jmx_exporters))
        }
    assert {id_: each.keys() for id_, each in read.items()} == {
        id_: each.keys() for id_, each in _known(lab, http).items()
    }
    assert read[CONTROLLER][JmxName.ZK_MIGRATION_STATE] == 1
    http.close()


def _stuck(now: ClusterSummary, words: str) -> bool:
    return any(words in each.text for each in found(now, HazardKind.DUAL_WRITE_STUCK))


def _evidence_of_a_healthy_lag(now: ClusterSummary) -> bool:
    said = f"{LAG} of controller {CONTROLLER} (active) is 0, which looks healthy"
    return any(said in each.evidence for each in found(now, HazardKind.DUAL_WRITE_STUCK))


def _topic_stays_out_of_zookeeper(lab: Lab, name: str) -> None:
    lab.create_topic(name, assignments=[[1]])
    lab.wait_in_sync()
    assert name not in child_znodes(lab, "/brokers/topics")


def _the_znode_of_the_migration_is_deleted(lab: Lab, run: Killed) -> None:
    """The controller goes on and its lag reads 0; put back, the znode is another one to it."""
    held = lab.zookeeper.get("/migration")
    assert held is not None
    lab.zookeeper.delete("/migration")
    now = run.wait_for(lambda now: _stuck(now, "/migration is gone"))
    (hazard,) = found(now, HazardKind.DUAL_WRITE_STUCK)
    assert hazard.way_out.startswith("Do not restart the active controller first")
    assert f'"kraft_controller_id":{CONTROLLER}' in hazard.way_out
    _topic_stays_out_of_zookeeper(lab, "unseen")
    put_znode(lab, "/migration", held)
    run.wait_for(
        lambda now: _stuck(now, "has not been written for") and _evidence_of_a_healthy_lag(now)
    )
    assert lab.active_controller() == CONTROLLER
    _topic_stays_out_of_zookeeper(lab, "unseen-too")
    lab.restart(f"controller-{CONTROLLER}")
    run.wait_for(lambda now: not found(now, HazardKind.DUAL_WRITE_STUCK))
    until(lambda: {"unseen", "unseen-too"} <= set(child_znodes(lab, "/brokers/topics")))
    # The topics come in the middle of the copy; the second write of /migration is of dual write.
    for _ in range(2):
        offset = lab.zookeeper.copied_offset()
        until(partial(_written_after, lab, offset))


def _written_after(lab: Lab, offset: int) -> bool:
    return lab.zookeeper.copied_offset() > offset


def _somebody_raises_the_controllers_epoch(lab: Lab, run: Killed) -> None:
    """/migration beats on, and no change reaches ZooKeeper; it is a hazard after 30 s.

    The lag reads 0 but for moments, so it must be read before the controller is frozen.
    """
    epoch = lab.zookeeper.get("/controller_epoch")
    assert epoch is not None
    before = lab.zookeeper.copied_offset()
    put_znode(lab, "/controller_epoch", str(int(epoch) + 1).encode())
    _topic_stays_out_of_zookeeper(lab, "unseen-again")
    until(lambda: lab.zookeeper.copied_offset() > before)
    run.wait_for(
        lambda now: (
            _stuck(now, "although /migration is still written") and _evidence_of_a_healthy_lag(now)
        )
    )
    assert "unseen-again" not in child_znodes(lab, "/brokers/topics")


def _the_queue_stays_full_while_the_controller_is_frozen(lab: Lab, run: Killed) -> None:
    lab.freeze(f"controller-{CONTROLLER}")
    (index,) = (n for n in (0, 1) if (lab.directory(1, n) / "old-0").is_dir())
    lab.move_replicas(1, {("old", 0): 1 - index})
    run.wait_for_event(lambda event: _of(event, "assignments_queued"))
    now = run.wait_for(lambda now: bool(found(now, HazardKind.ASSIGNMENT_QUEUE_FLAT)))
    (hazard,) = found(now, HazardKind.ASSIGNMENT_QUEUE_FLAT)
    assert hazard.broker == 1
    assert hazard.evidence[0].startswith(f"{QUEUE} is 1, not below 1 for")
    assert node(now, CONTROLLER).unreachable is not None
    lab.thaw(f"controller-{CONTROLLER}")
    run.wait_for_event(lambda event: _of(event, "assignment_queue_empty"))
    run.wait_for(lambda now: not found(now, HazardKind.ASSIGNMENT_QUEUE_FLAT))


def _of(event: Event, kind: str) -> bool:
    return event.kind == kind and event.broker == 1


def _all_is_well_again(lab: Lab, run: Killed) -> None:
    lab.restart(f"controller-{CONTROLLER}")
    run.wait_for(lambda now: not found(now, HazardKind.DUAL_WRITE_STUCK))
    until(lambda: "unseen-again" in child_znodes(lab, "/brokers/topics"))
    now = wait_read(run, CONTROLLER, {STATE: 1, MIGRATING: 0})
    assert not found(now, HazardKind.JMX_CONTRADICTS)
    lab.fail_directory(1, 1)
    assert wait_directory_noticed(lab, 1, 1)
    wait_read(run, 1, {OFFLINE: 1})
    run.wait_for_event(lambda event: _of(event, "log_dir_offline"))
