"""What `make demo` calls as it should be, and in which order it goes."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock, call

import pytest

from migration.image.summary import BrokerSummary, ClusterSummary, Mode, Phase
from orchestrator import demo
from orchestrator.demo import PeakMemory, family_bytes
from orchestrator.lab import Lab
from orchestrator.lab.errors import WaitTimedOutError
from tests.scenes.night import kraft, replicas
from tests.support.polling import until


def _finished() -> ClusterSummary:
    return ClusterSummary(
        cluster="lab",
        metadata_offset=3356,
        observed_ms=1,
        leader_epoch=2,
        active_controller=3000,
        phase=Phase.FINALIZED,
        metadata_version=21,
        topics=5,
        partitions=342,
        unknown_records=0,
        brokers=tuple(kraft(id_, replicas=replicas(assigned=270)) for id_ in (1, 2, 3)),
    )


def _with_broker_2(**changes: object) -> ClusterSummary:
    one, two, three = _finished().brokers
    return replace(_finished(), brokers=(one, replace(two, **changes), three))  # type: ignore[arg-type]


def test_nothing_is_wrong_with_a_finished_migration() -> None:
    assert demo.problems(_finished()) == []


@pytest.mark.parametrize(
    ("summary", "problem"),
    [
        (replace(_finished(), phase=Phase.DUAL_WRITE), "the phase is dual-write"),
        (replace(_finished(), partitions=341), "341 partitions are known, created were 342"),
        (_with_broker_2(mode=Mode.MIGRATING), "broker 2 is in mode migrating"),
        (_with_broker_2(fenced=True), "broker 2 is fenced"),
        (_with_broker_2(held=True), "broker 2 is held: 0 replicas are pending"),
        (
            _with_broker_2(replicas=replicas(assigned=269, offline=1)),
            "809 replicas are assigned, created were 810",
        ),
        (replace(_finished(), brokers=_finished().brokers[:2]), "the brokers are (1, 2)"),
    ],
)
def test_each_thing_that_is_not_as_it_should_be_is_named(
    summary: ClusterSummary, problem: str
) -> None:
    assert any(found.startswith(problem) for found in demo.problems(summary))


@pytest.mark.parametrize(
    ("broker", "complete"),
    [
        (kraft(1), True),
        (kraft(1, held=True), False),
        (kraft(1, fenced=True), False),
        (kraft(1, mode=Mode.MIGRATING), False),
        (kraft(1, replicas=replicas(assigned=31, unassigned=1)), False),
        (kraft(2), False),
    ],
)
def test_a_broker_is_complete_in_kraft_mode_with_nothing_pending(
    broker: BrokerSummary, complete: bool
) -> None:
    assert demo.is_complete(replace(_finished(), brokers=(broker,)), broker=1) is complete


def test_no_broker_is_restarted_before_the_last_one_is_seen_complete() -> None:
    did: list[str] = []
    follower = MagicMock(wait_until=lambda what, _holds, _timeout: did.append(what))
    for _, step in demo._migration(_noting_lab(did), follower):
        step()
    told = ("enter_migration", "move_to_kraft", "every replica of broker")
    assert [entry for entry in did if entry.startswith(told)] == [
        "enter_migration(1)",
        "enter_migration(2)",
        "enter_migration(3)",
        "move_to_kraft(1)",
        "every replica of broker 1 has a directory",
        "move_to_kraft(2)",
        "every replica of broker 2 has a directory",
        "move_to_kraft(3)",
        "every replica of broker 3 has a directory",
    ]
    assert did.index("create_topic('refunds', 24, 3)") < did.index("move_to_kraft(2)")
    assert did[-1] == "finalize()"


def test_a_leader_that_lets_nobody_into_its_isrs_is_restarted_once() -> None:
    """A mock: Kafka loses such a request too rarely to wait for it."""
    late = WaitTimedOutError("waited in vain", where="lab", fix="look")
    lab = MagicMock(**{"wait_in_sync.side_effect": [late, None]})
    lab.out_of_sync.return_value = {("orders", 0): 2, ("orders", 1): 2, ("audit", 3): -1}
    demo.wait_in_sync(lab)
    assert lab.restart.call_args_list == [call(2)]
    lab = MagicMock(**{"wait_in_sync.side_effect": [late, late], "out_of_sync.return_value": {}})
    with pytest.raises(WaitTimedOutError):
        demo.wait_in_sync(lab)


def test_a_picture_that_cannot_be_written_fails_before_the_cluster_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "run", lambda *_: pytest.fail("the cluster starts"))
    (tmp_path / "file").touch()
    for picture in (tmp_path, tmp_path / "file" / "x.svg"):
        assert demo.main(["--picture", str(picture)]) == 1
        assert f"demo: failed: --picture {picture}: " in capsys.readouterr().out


def test_the_home_of_an_earlier_demo_is_refused_with_advice_that_the_demo_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "run", lambda *_: pytest.fail("the cluster starts"))
    (tmp_path / "cluster").mkdir()
    assert demo.main(["--home", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert f"demo: failed: --home {tmp_path}: " in said
    assert "name another directory" in said


def _noting_lab(did: list[str]) -> Lab:
    class Noting:
        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *given, **_: did.append(f"{name}({', '.join(map(repr, given))})")

    return Noting()  # type: ignore[return-value]


@pytest.mark.slow
def test_memory_counts_this_process_and_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.demo._MEASURE_S", 0.05)
    large = "x = bytearray(200 << 20); print(flush=True); input()"
    before = family_bytes()
    with PeakMemory() as memory:
        child = subprocess.Popen(
            [sys.executable, "-c", large], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        with child:
            assert child.stdout is not None
            child.stdout.readline()
            until(lambda: memory.peak_bytes > before + (190 << 20))
            child.kill()
