"""Every source must speak of the cluster that is meant; else `run` ends and names the ids."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from migration.assessment.data_source import DataSource
from migration.observed.probed import Unknown
from migration.observed.source_status import NO_STATUS, SourceStatus
from migration.observed.znode_codec import cluster_id_of
from orchestrator.cli.program import main
from orchestrator.cli.run import follow_and_show
from orchestrator.config.load import load_config, parse_config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import ConfigError, ExitCode
from orchestrator.run.assessed import Tick
from orchestrator.run.identity import FollowedIds, OneCluster, followed_ids, followed_target
from orchestrator.run.probes.probes import polls_of
from orchestrator.run.reader import ClusterRead, Reader
from orchestrator.views.terminal.live import Stop
from streams.state import source_status
from tests.orchestrator.run.test_run import gate
from tests.scenes.night import FRESH, HYBRID, NOW_MS
from tests.support.assessing import assessed
from tests.support.fake_store import FakeFollowing, FakeStore, write_status

BARE = "cluster: {name: prod}\n"
WITH_ID = "cluster: {name: prod, id: ours}\n"


def says(cluster_id: str | None) -> SourceStatus:
    return replace(FRESH, observed_ms=NOW_MS, cluster_id=cluster_id)


def reported(
    controllers: str | None = None, zookeeper: str | None = None, brokers: str | None = None
) -> ClusterRead:
    return replace(
        HYBRID, status=says(controllers), zookeeper=says(zookeeper), log_dirs=says(brokers)
    )


def check(text: str, one: ClusterRead) -> None:
    config = parse_config(text, Path("kraftgate.yaml"))
    found = assessed(one, NOW_MS, of=config.clusters[0])
    OneCluster(config).require(Tick(at_ms=NOW_MS, clusters=(found,)))


@pytest.mark.parametrize(
    ("text", "one", "known"),
    [
        (BARE, None, ()),
        (BARE, reported(), ()),
        (WITH_ID, None, ("ours",)),
        (BARE, reported(zookeeper="theirs"), ("theirs",)),
        (WITH_ID, reported("ours", brokers="theirs"), ("ours", "theirs")),
    ],
)
def test_a_followed_cluster_is_known_by_its_configuration_or_by_a_source(
    text: str, one: ClusterRead | None, known: tuple[str, ...]
) -> None:
    config = parse_config(text, Path("kraftgate.yaml"))
    tick = None
    if one is not None:
        found = assessed(one, NOW_MS, of=config.clusters[0])
        tick = Tick(at_ms=NOW_MS, clusters=(found,))
    unknown = () if known else ("prod",)
    assert followed_ids(config, tick) == FollowedIds(frozenset(known), unknown)


def expected(text: str, folder: Path, **reports: SourceStatus) -> str | None:
    """What must be the id of the cluster if its sources left these statuses, by file."""
    config = parse_config(f"{text}state_dir: {folder}\n", Path("kraftgate.yaml"))
    for file, status in reports.items():
        source_status.write_status(folder / "clusters" / "prod" / f"{file}.json", status)
    return followed_target(config, config.clusters[0]).cluster_id


REFUSED = replace(says("theirs"), last_reply_ms=None, error="the brokers belong to theirs")
"""Of a source that has rejected the only cluster that it reached."""


def test_an_answer_must_be_of_the_cluster_that_is_configured_or_followed(tmp_path: Path) -> None:
    assert expected(BARE, tmp_path) is None
    assert expected(BARE, tmp_path, zookeeper=says("ours"), source=says(None)) == "ours"
    assert expected(BARE, tmp_path, log_dirs=replace(says("ours"), error="denied")) == "ours"
    assert expected(BARE, tmp_path, log_dirs=REFUSED) == "ours"
    assert expected("cluster: {name: prod, id: mine}\n", tmp_path) == "mine"


@pytest.mark.parametrize(
    ("log_dirs", "said"),
    [
        (says("theirs"), "several cluster ids: the controllers: ours, the brokers: theirs"),
        (REFUSED, "the cluster id is unknown: the brokers: the brokers belong to theirs"),
    ],
)
def test_without_one_id_of_the_sources_no_answer_is_used(
    tmp_path: Path, log_dirs: SourceStatus, said: str
) -> None:
    controllers = says("ours" if log_dirs.error is None else None)
    with pytest.raises(ConfigError, match=re.escape(f"kraftgate.yaml: cluster prod: {said}")):
        expected(BARE, tmp_path, source=controllers, log_dirs=log_dirs)
    config = parse_config(f"{BARE}state_dir: {tmp_path}\n", Path("kraftgate.yaml"))
    poll = polls_of(config, config.clusters[0], {DataSource.TOPICS})[DataSource.TOPICS]
    answer = poll()
    assert isinstance(answer, Unknown)
    assert said in answer.why


@pytest.mark.parametrize(
    ("text", "one", "said"),
    [
        (WITH_ID, reported(controllers="theirs"), "`id`: ours, the controllers: theirs"),
        (
            WITH_ID,
            reported("ours", "theirs"),
            "the controllers: ours, ZooKeeper (/cluster/id): theirs",
        ),
        (WITH_ID, reported("ours", brokers="theirs"), "the brokers: theirs"),
        (BARE, reported("one", "two"), "the controllers: one, ZooKeeper (/cluster/id): two"),
    ],
)
def test_ids_that_differ_are_named(text: str, one: ClusterRead, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(text, one)
    assert caught.value.code is ExitCode.USAGE
    assert str(caught.value).startswith("kraftgate.yaml: cluster prod: several cluster ids: ")
    assert said in str(caught.value)
    assert "correct `id` or the addresses" in str(caught.value)


@pytest.mark.parametrize("one", [reported(), reported("ours"), reported("ours", "ours", "ours")])
def test_ids_that_agree_or_are_not_known_yet_pass(one: ClusterRead) -> None:
    check(WITH_ID, one)
    check(BARE, one)


def test_what_an_earlier_process_was_told_does_not_count() -> None:
    before = dict.fromkeys(DataSource, NOW_MS)
    check(WITH_ID, replace(reported("theirs"), reported_before=before))
    check(WITH_ID, replace(HYBRID, status=NO_STATUS))


def test_one_cluster_under_two_names_is_refused() -> None:
    config = parse_config(
        "clusters: [{name: one}, {name: two}, {name: three, id: theirs}]", Path("kraftgate.yaml")
    )

    def require(*reads: ClusterRead) -> None:
        found = (
            assessed(each, NOW_MS, of=of) for each, of in zip(reads, config.clusters, strict=True)
        )
        OneCluster(config).require(Tick(at_ms=NOW_MS, clusters=tuple(found)))

    before = dict.fromkeys(DataSource, NOW_MS)
    one, other = reported(brokers="ours"), reported("ours", zookeeper="ours")
    require(one, reported("others"), reported("theirs"))
    require(one, replace(other, reported_before=before), reported())
    require(one, reported(), reported())
    same = "kraftgate.yaml: clusters one and two are the same cluster (ours): keep one entry"
    with pytest.raises(ConfigError, match=f"^{re.escape(same)}$"):
        require(one, replace(other, reported_before={DataSource.ZOOKEEPER: NOW_MS}), reported())


class Controllers:
    """Controllers of the cluster `theirs`, which do not report it; at first they do not answer."""

    def __init__(self, *answers: bool | None) -> None:
        self.asked: list[tuple[str, str]] = []
        self._answers = list(answers)

    def ask(self, _: ClusterEntry, address: str, cluster_id: str) -> bool | None:
        self.asked.append((address, cluster_id))
        return self._answers.pop(0)


def test_a_controller_that_reports_no_id_is_asked_for_the_other_sources_id() -> None:
    config = parse_config(BARE, Path("kraftgate.yaml"))
    now_s = 0.0
    controllers = Controllers(True, None, False, False)
    one_cluster = OneCluster(config, controllers.ask, lambda: now_s)

    def require(endpoint: str | None, brokers: str | None, log: int = 1) -> None:
        one = reported(brokers=brokers)
        one = replace(one, status=replace(one.status, endpoint=endpoint, log=log))
        found = assessed(one, NOW_MS, of=config.clusters[0])
        one_cluster.require(Tick(at_ms=NOW_MS, clusters=(found,)))

    require(None, "ours")
    require("c1:9093", None)
    assert not controllers.asked, "there is no controller to ask yet, or no id"
    for _ in range(2):
        require("c1:9093", "ours")
    assert controllers.asked == [("c1:9093", "ours")]
    for _ in range(2):
        require("c2:9093", "ours")
    assert controllers.asked[1:] == [("c2:9093", "ours")], "it does not answer: not asked at once"
    now_s = 10.0
    both = "the brokers: ours, the controllers (c2:9093): another one, which they do not report"
    for _ in range(2):
        with pytest.raises(ConfigError, match=re.escape(both)):
            require("c2:9093", "ours")
    with pytest.raises(ConfigError, match=re.escape("the controllers (c1:9093): another one")):
        require("c1:9093", "ours", log=2)


def test_run_ends_and_does_not_try_again(config_file: Path, store: FakeStore) -> None:
    del store
    config_file.write_text(config_file.read_text().replace("name: prod", "name: prod, id: ours"))

    def answered(_poll: int) -> None:
        write_status(config_file.parent / "state", "prod", says("theirs"))

    query = FakeFollowing(answered)
    with Stop() as stop, pytest.raises(ConfigError, match="`id`: ours, the controllers: theirs"):
        follow_and_show(load_config(config_file), gate(None), stop, query.follow)
    assert query.polls == 1
    assert query.stopped


@pytest.mark.parametrize(
    ("data", "id_"),
    [
        (b'{"version":"1","id":"abc"}', "abc"),
        (b'{"id":5}', None),
        (b"[1]", None),
        (b"\xff", None),
        (b"", None),
        (None, None),
        (b"[" * 100_000, None),
    ],
)
def test_the_znode_may_hold_anything(data: bytes | None, id_: str | None) -> None:
    assert cluster_id_of(data) == id_


@pytest.mark.parametrize(
    "command",
    [
        "hazards --before restart --broker 1",
        "status",
        "wait --condition isr_full --timeout 1s",
        "alerts list",
    ],
)
def test_commands_reject_the_stored_state_of_another_cluster(
    config_file: Path, store: FakeStore, command: str
) -> None:
    del store
    state_dir = config_file.parent / "state"
    write_status(state_dir, "prod", says("theirs"))
    config_file.write_text(config_file.read_text().replace("name: prod", "name: prod, id: ours"))
    found = CliRunner().invoke(main, [*command.split(), "--config", str(config_file)])
    assert (found.exit_code, found.stdout) == (ExitCode.USAGE, "")
    said = f"the state of prod in {state_dir} belongs to cluster theirs, not ours: correct `id`, or"
    assert said in found.stderr


def test_a_source_that_rejected_another_cluster_does_not_count(
    config_file: Path, store: FakeStore
) -> None:
    """The addresses may have been corrected since, and `kraftgate run` reports that soon."""
    del store
    config_file.write_text(config_file.read_text().replace("name: prod", "name: prod, id: ours"))
    rejected = replace(says("theirs"), error="c1:9093 belongs to cluster theirs, not to ours")
    write_status(config_file.parent / "state", "prod", rejected)
    (one,) = Reader(load_config(config_file), newest=1).read(NOW_MS)
    assert one.status == rejected
