"""The timeline, a broker's replicas and a gate's evidence: pages that together are everything."""

from typing import Any

import pytest

from orchestrator.views.console.answers.timeline import LANES
from tests.orchestrator.views.console import sample
from tests.orchestrator.views.console.conftest import Start
from tests.orchestrator.views.console.reading import client, get
from tests.orchestrator.views.console.serve import Served

EVENTS = 700
PROD = "/api/clusters/prod"


@pytest.fixture(scope="module")
def served(begin_shared: Start) -> Served:
    return begin_shared(events=EVENTS)


def everything(served: Served, path: str, shape: str, key: str, **query: Any) -> list[Any]:
    """All pages, one after the other."""
    found: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = get(served, path, shape, **query, **cursor)
        found += page[key]
        if page["next"] is None:
            return found
        cursor = {"cursor": page["next"]}


def events(served: Served, **query: Any) -> list[Any]:
    return everything(served, f"{PROD}/events", "EventPage", "events", **query)


def known(served: Served) -> int:
    decisions = len(served.world.log.entries("prod"))
    return len(served.world.store.events("prod")) + decisions


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1000, 64])
def test_the_pages_together_are_everything_in_order(served: Served, limit: int) -> None:
    newest = events(served, limit=limit)
    assert len(newest) == len({each["id"] for each in newest}) == known(served)
    assert [each["at_ms"] for each in newest] == sorted(
        (each["at_ms"] for each in newest), reverse=True
    )
    oldest = events(served, limit=limit, order="oldest")
    assert [each["id"] for each in oldest] == [each["id"] for each in reversed(newest)]
    assert {each["lane"] for each in newest} == set(LANES.values())


def test_what_comes_meanwhile_does_not_shift_the_pages(start: Start) -> None:
    served = start(events=EVENTS)
    first = get(served, f"{PROD}/events", "EventPage", limit=10)
    served.advance(share=1.0)
    second = get(served, f"{PROD}/events", "EventPage", limit=10, cursor=first["next"])
    both = [each["id"] for each in (*first["events"], *second["events"])]
    assert len(set(both)) == 20
    whole = [each["id"] for each in events(served)]
    at = whole.index(both[0])
    assert whole[at : at + 20] == both


@pytest.mark.slow
@pytest.mark.parametrize("buckets", [1, 7, 200, 1000])
def test_the_axis_counts_what_the_pages_have(served: Served, buckets: int) -> None:
    axis = get(served, f"{PROD}/timeline", "Timeline", buckets=buckets)
    every = events(served)
    assert axis["total"] == len(every) == sum(each["count"] for each in axis["buckets"])
    assert axis["from_ms"] == every[-1]["at_ms"]
    assert axis["to_ms"] == every[0]["at_ms"] + 1
    assert len({each["at_ms"] for each in axis["buckets"]}) <= buckets
    for bucket in axis["buckets"]:
        until_ms = bucket["at_ms"] + axis["width_ms"]
        inside = [
            each["kind"]
            for each in every
            if each["lane"] == bucket["lane"] and bucket["at_ms"] <= each["at_ms"] < until_ms
        ]
        assert {kind: inside.count(kind) for kind in inside} == bucket["kinds"]


def test_a_part_of_it(served: Served) -> None:
    every = events(served)
    from_ms, to_ms = every[-100]["at_ms"], every[100]["at_ms"]
    query = {"from_ms": from_ms, "to_ms": to_ms, "lane": ["zookeeper", "decisions"], "broker": 2}
    part = events(served, **query)
    assert part
    for each in part:
        assert from_ms <= each["at_ms"] < to_ms
        assert each["lane"] in ("zookeeper", "decisions")
        assert each["broker"] == 2 or "[2]" in each["checkpoint"]
    axis = get(served, f"{PROD}/timeline", "Timeline", **query)
    assert axis["total"] == len(part)
    (kind,) = {each["kind"] for each in events(served, kind="zk_broker_gone")}
    assert kind == "zk_broker_gone"


def test_nothing_is_there_before_anything_was(start: Start) -> None:
    served = start()
    for file in ("audit.db", "audit.head", "store.db"):
        (served.world.config.state_dir / file).unlink()
    assert get(served, f"{PROD}/timeline", "Timeline")["total"] == 0
    assert get(served, f"{PROD}/events", "EventPage") == {"events": [], "next": None}
    with client(served) as http:
        for path in ("brokers/2/pending", "checkpoints/copied"):
            assert http.get(f"{PROD}/{path}").status_code == 503


def test_the_pending_replicas_of_a_broker(served: Served) -> None:
    path = f"{PROD}/brokers/2/pending"
    every = everything(served, path, "PendingPage", "replicas", limit=9)
    assert len(every) == 56
    assert {each["state"] for each in every} == {"migrating"}
    assert {each["directory"] for each in every} == {None}
    assert {each["path"] for each in every} == {"/data/d01", "/data/d02"}
    names = [(each["topic"], each["partition"]) for each in every]
    assert names == sorted(set(names))
    assigned = get(served, path, "PendingPage", state="assigned")
    assert assigned["total"] == 8
    assert assigned["replicas"][0]["directory"] is not None
    assert assigned["note"] is None


def test_where_nobody_looked_at_the_disks_that_is_said(start: Start) -> None:
    served = start()
    (served.world.config.state_dir / "clusters" / "prod" / "disks" / "disks.db").unlink()
    page = get(served, f"{PROD}/brokers/2/pending", "PendingPage")
    assert {each["path"] for each in page["replicas"]} == {None}
    assert "polled yet" in page["note"]


def test_the_evidence_of_a_gate(served: Served) -> None:
    found = get(served, f"{PROD}/checkpoints/brokers-kraft%5B1%5D", "GateEvidence")
    assert found["title"] == "Brokers into KRaft mode, one at a time"
    (judged,) = found["judgements"]
    assert (judged["part"], judged["verdict"]) == ("opens_when", "satisfied")
    assert judged["findings"][0]["evidence"]
    assert judged["facts"] == {"metadata_offset": 1439}
    kinds = [each["kind"] for each in found["decisions"]]
    assert kinds == ["checkpoint_passed", "checkpoint_entered"]
    (entry,) = [e for e in served.world.log.entries("prod") if f"a{e.sequence}" == judged["id"]]
    assert entry.hash == judged["hash"]


def test_of_a_checkpoint_for_each_all_its_instances(served: Served) -> None:
    found = get(served, f"{PROD}/checkpoints/brokers-migration", "GateEvidence")
    about = {each["checkpoint"] for each in found["judgements"]}
    every = {f"brokers-migration[{each}]" for each in range(1, sample.SMALL.brokers + 1)}
    assert about == every | {"brokers-migration"}


def test_of_a_checkpoint_that_is_none_nothing(served: Served) -> None:
    found = get(served, f"{PROD}/checkpoints/%25", "GateEvidence")
    assert (found["judgements"], found["decisions"], found["title"]) == ([], [], None)
