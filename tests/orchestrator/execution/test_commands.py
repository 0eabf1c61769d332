"""An operator's decisions: accepted or rejected, and in the audit trail with name and reason."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from migration.assessment.conditions import Verdict
from migration.image.summary import ControllerSummary, Phase
from migration.observed.znode_codec import MigrationZnode, ZkController
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, RecordedFinding
from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.audit.execution.state import ExecutionState, Stage
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from orchestrator.execution.approvals import this_person
from orchestrator.execution.kept_runbook import kept_runbook
from orchestrator.execution.operator.request import RequestContext
from orchestrator.hooks import files
from orchestrator.hooks.runs import HookRuns, Unknown
from orchestrator.run import reader
from orchestrator.runbook.load import load, parse
from streams.state.claim import claimed
from streams.state.source_status import write_status
from tests.orchestrator.execution.test_executor import ANNA, RUNBOOK
from tests.scenes.night import FRESH, NOW_MS, cluster, kraft, migrating
from tests.support.fake_store import FakeStore

WHY = ("--reason", "CHG-1234")
YES = (*WHY, "--confirm", "prod")


def _shown() -> entries.StepShown:
    return entries.StepShown(
        checkpoint="finalize", text="Finalize now.", open_before=False, facts={}
    )


class Desk:
    """A cluster in dual write, an execution at `finalize`, and an operator's commands."""

    def __init__(self, folder: Path, store: FakeStore) -> None:
        self.folder, self.store = folder, store
        (folder / "small.yaml").write_text(RUNBOOK)
        self.config = folder / "kraftgate.yaml"
        self.config.write_text(
            "cluster: {name: prod}\ncontrollers: {bootstrap: 'c1:9093'}\n"
            "zookeeper: {connect: 'z1:2181'}\nstate_dir: state\nrunbook: {file: ./small.yaml}\n"
        )
        self.log = AuditLog.open(folder / "state" / AUDIT_FILE)
        self.trail = ExecutionTrail(self.log, "prod")
        self.fresh()
        self.sha256 = parse(RUNBOOK, folder / "small.yaml").sha256
        self.begin()

    def begin(self) -> None:
        self.tell(
            entries.ExecutionBegan(runbook="small", sha256=self.sha256, by=ANNA, reason="tonight"),
            entries.CheckpointPassed(checkpoint="brokers-kraft", how="opened", facts={}),
            entries.CheckpointEntered(checkpoint="finalize"),
        )

    def fresh(self, *, stale_ms: int = 0) -> None:
        controller = ZkController(id=3000, kraft_epoch=1, claimed_ms=NOW_MS)
        seen = ZooKeeperImage(seen_ms=NOW_MS, controller=controller)
        self.store.summaries["prod"] = replace(
            cluster(Phase.DUAL_WRITE, kraft(1), kraft(2)), zookeeper=seen
        )
        self.fresh_sources(stale_ms=stale_ms)

    def fresh_sources(self, *, stale_ms: int = 0) -> None:
        status = replace(FRESH, observed_ms=NOW_MS - stale_ms, last_reply_ms=NOW_MS - stale_ms)
        home = self.folder / "state" / "clusters" / "prod"
        for name in ("source.json", "zookeeper.json"):
            write_status(home / name, status)

    def tell(self, *bodies: Body) -> None:
        for body in bodies:
            self.trail.append(body, NOW_MS)

    def begin_bundled(self, *bodies: Body) -> None:
        """Begin an execution of `zk-to-kraft-jbod` instead, which continues with these entries."""
        name = "zk-to-kraft-jbod"
        self.config.write_text(self.config.read_text().replace("./small.yaml", name))
        self.tell(
            entries.Aborted(by=ANNA, reason="x"),
            entries.ExecutionBegan(runbook=name, sha256=load(name).sha256, by=ANNA, reason="x"),
            *bodies,
        )

    def walk(self) -> ExecutionState:
        walk = self.trail.state()
        assert walk is not None
        return walk

    def types(self, *words: str) -> Result:
        return CliRunner().invoke(main, [*words, "--config", str(self.config)])

    def refused(self, *words: str) -> str:
        before = self.log.entries("prod")[-1].sequence
        result = self.types(*words)
        assert result.exit_code == ExitCode.USAGE, result.output
        assert self.log.entries("prod")[-1].sequence == before
        return result.stderr


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    store = FakeStore()
    monkeypatch.setattr(reader.Reader.__init__, "__kwdefaults__", {"opener": lambda _: store})
    monkeypatch.setattr("time.time_ns", lambda: NOW_MS * 1_000_000)
    desk = Desk(tmp_path, store)
    yield desk
    desk.log.close()


def test_an_approval_carries_who_why_and_the_state(desk: Desk) -> None:
    result = desk.types("approve", "finalize", "--who", "boris", *YES)
    assert result.exit_code == ExitCode.DONE, result.output
    assert (
        "2 people must approve, 1 did. The next approval must come from another login"
        in result.stdout
    )
    (given,) = desk.walk().checkpoint("finalize").approvals
    assert (given.by.who, given.by.uid, given.reason) == ("boris", this_person().uid, "CHG-1234")
    assert given.confirmed == "prod"
    assert given.basis["phase"] == "dual-write"
    assert "epoch" in given.basis["broker 2"]


def record_before(desk: Desk, monkeypatch: pytest.MonkeyPatch, earlier: Body) -> None:
    """Let another process record `earlier` right before each request is recorded."""
    record = RequestContext.record

    def late(at: RequestContext, body: Body, said: str) -> None:
        desk.tell(earlier)
        record(at, body, said)

    monkeypatch.setattr(RequestContext, "record", late)


@pytest.mark.parametrize("words", [("rollback",), ("approve", "finalize", "--confirm", "prod")])
def test_a_decision_about_a_step_that_begins_meanwhile_is_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    record_before(desk, monkeypatch, _shown())
    result = desk.types(*words, *WHY)
    assert "has just moved" in result.stderr
    assert desk.log.entries("prod")[-1].kind == "step_shown"
    assert desk.types("pause", *WHY).exit_code == ExitCode.DONE


def test_of_two_that_resume_at_the_same_moment_one_is_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.tell(entries.Paused(by=ANNA, reason="x"))
    record_before(desk, monkeypatch, entries.Resumed(by=ANNA, reason="x"))
    result = desk.types("resume", *WHY)
    assert (result.exit_code, result.stdout) == (ExitCode.USAGE, "")
    assert "has just moved" in result.stderr


def test_one_login_approves_once_under_whatever_name(desk: Desk) -> None:
    for who in ("anna", "boris"):
        result = desk.types("approve", "finalize", "--who", who, *YES)
        assert result.exit_code == ExitCode.DONE, result.output
    assert "had approved it already: it counts once" in result.stdout
    assert "2 people must approve, 1 did" in result.stdout
    (kept,) = desk.walk().checkpoint("finalize").approvals
    assert kept.by.who == "anna"


def test_what_cannot_be_undone_is_approved_with_the_clusters_name(desk: Desk) -> None:
    said = desk.refused("approve", "finalize", *WHY)
    assert "confirm its approval with the cluster's name: --confirm prod" in said
    said = desk.refused("approve", "finalize", *WHY, "--confirm", "stage")
    assert "'stage' does not confirm the approval of finalize: the cluster is prod" in said


@pytest.mark.parametrize(("typed", "code"), [("prod", ExitCode.DONE), ("", ExitCode.USAGE)])
def test_on_a_terminal_the_clusters_name_is_asked_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, typed: str, code: ExitCode
) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    words = ["approve", "finalize", *WHY, "--config", str(desk.config)]
    result = CliRunner().invoke(main, words, input=f"{typed}\n")
    assert result.exit_code == code
    assert "Type the cluster's name, prod, to confirm" in result.stderr


def test_what_changes_while_the_name_is_typed_is_not_approved(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(cluster: str) -> str:
        now = desk.store.summaries["prod"]
        desk.store.summaries["prod"] = replace(now, brokers=now.brokers[1:])
        return cluster

    monkeypatch.setattr("orchestrator.cli.execution._typed", asked)
    said = desk.refused("approve", "finalize", *WHY)
    assert "the state has changed since you saw it: broker 1: was" in said
    assert desk.walk().checkpoint("finalize").approvals == ()


def test_a_configured_secret_in_a_reason_is_not_written(desk: Desk) -> None:
    (desk.folder / "token").write_text("orange-bicycle-beneath-seven-lamps\n")
    with desk.config.open("a") as config:
        config.write("console: {token_file: ./token}\n")
    given = "by hand, with orange-bicycle-beneath-seven-lamps"
    assert desk.types("pause", "--reason", given).exit_code == ExitCode.DONE
    paused = desk.walk().paused
    assert paused is not None
    assert paused.reason.startswith("by hand, with ")
    assert "bicycle" not in str(desk.log.entries("prod")[-1].body)


def test_nobody_approves_what_cannot_be_seen(desk: Desk) -> None:
    desk.fresh(stale_ms=60_000)
    result = desk.types("approve", "finalize", *YES)
    assert result.exit_code == ExitCode.NO_DATA
    assert desk.walk().checkpoint("finalize").approvals == ()


def test_only_where_the_walk_stands(desk: Desk) -> None:
    said = desk.refused("approve", "brokers-kraft[1]", *WHY)
    assert "is finalize, not brokers-kraft[1]" in said


def test_a_step_that_was_begun_needs_no_approval(desk: Desk) -> None:
    desk.tell(_started("finalize"))
    assert "needs no approval any more" in desk.refused("approve", "finalize", *WHY)
    assert "the hook of finalize runs" in desk.refused("rollback", *WHY)
    aborted = desk.types("abort", *WHY)
    assert "the hook of finalize goes on, and may still change the cluster" in aborted.output


def test_a_step_that_an_earlier_approval_covers_needs_none(desk: Desk) -> None:
    """The page does not ask for it."""
    by = entries.Approved(
        checkpoint="back-controllers", by=ANNA, reason="x", basis={}, confirmed="prod"
    )
    desk.begin_bundled(
        entries.RollbackBegan(path="to-zookeeper", at="copied", by=ANNA, reason="x"),
        entries.CheckpointEntered(checkpoint="back-controllers"),
        by,
        entries.CheckpointSkipped(checkpoint="back-controllers", by=ANNA, reason="x"),
        entries.CheckpointEntered(checkpoint="back-znodes"),
    )
    said = desk.refused("approve", "back-znodes", *YES)
    assert "back-znodes needs no approval: the one of back-controllers covers it" in said


def test_a_step_that_enough_people_approved_needs_no_more(desk: Desk) -> None:
    desk.types("approve", "finalize", *YES)
    (mine,) = desk.walk().checkpoint("finalize").approvals
    boris = ANNA.model_copy(update={"who": "boris", "login": "boris"})
    for basis in ({}, mine.basis):
        desk.tell(entries.Approved(checkpoint="finalize", by=boris, reason="x", basis=basis))
        if not basis:  # of another state: it does not count
            assert desk.types("approve", "finalize", *YES).exit_code == ExitCode.DONE
    said = desk.refused("approve", "finalize", *YES)
    assert "finalize needs no approval any more: boris" in said
    assert "approved it" in said


def test_what_cannot_be_taken_back_is_never_skipped(desk: Desk) -> None:
    assert "is irreversible: it is never skipped" in desk.refused("skip", "finalize", *WHY)


def test_a_reason_is_needed(desk: Desk) -> None:
    assert "a reason is required" in desk.refused("pause", "--reason", " ")
    assert "Missing option '--reason'" in desk.refused("pause")


def test_pause_and_resume(desk: Desk) -> None:
    assert "it is not paused" in desk.refused("resume", *WHY)
    assert desk.types("pause", *WHY).exit_code == ExitCode.DONE
    paused = desk.walk().paused
    assert paused is not None
    assert paused.reason == "CHG-1234"
    assert "it is paused already" in desk.refused("pause", *WHY)
    assert desk.types("resume", *WHY).exit_code == ExitCode.DONE
    assert desk.walk().paused is None


@pytest.mark.parametrize("exists", [True, False], ids=["other users can read it", "missing"])
def test_a_secret_file_that_cannot_be_used_stops_no_pause(desk: Desk, *, exists: bool) -> None:
    if exists:
        (desk.folder / "token").write_text("correct-horse-battery\n")
        (desk.folder / "token").chmod(0o644)
    with desk.config.open("a") as config:
        config.write("console: {token_file: token}\n")
    for command in ("pause", "resume", "abort"):
        assert desk.types(command, *WHY).exit_code == ExitCode.DONE


def test_a_decision_is_made_only_where_one_is_asked(desk: Desk) -> None:
    assert "asks for no decision" in desk.refused("decide", "finalize", "--done", *WHY)
    desk.tell(entries.StepUnknown(checkpoint="finalize", run="r", why="its outcome is not known"))
    for given in ((), ("--repeat", "--done"), ("--done", "--repeat"), ("--execute", "--ended")):
        said = desk.refused("decide", "finalize", *given, *WHY)
        assert "pass one of --done, --repeat, --execute and --ended" in said
    assert desk.types("decide", "finalize", "--repeat", *WHY).exit_code == ExitCode.DONE
    assert desk.walk().checkpoint("finalize").stage is Stage.ENTERED


def test_a_step_that_is_done_takes_repeat_unless_its_hook_left_processes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, of = _left_by_a_hook(desk, monkeypatch), ("decide", "brokers-kraft[1]")
    assert desk.types(*of, "--done", *WHY).exit_code == ExitCode.DONE
    assert "brokers-kraft[1] still has running processes" in desk.refused(*of, "--repeat", *WHY)
    monkeypatch.setattr(HookRuns, "state", lambda *_: replace(left, still_running=()))
    assert desk.types(*of, "--repeat", *WHY).exit_code == ExitCode.DONE
    assert desk.walk().checkpoint("brokers-kraft[1]").stage is Stage.ENTERED


def test_a_step_whose_gate_shows_its_end_takes_no_done(desk: Desk) -> None:
    """It would take away the instructions, and mean the next broker if this one has just passed."""
    closed = RecordedFinding(condition="finalized", verdict=Verdict.WAITING, reason="dual-write")
    gate = entries.Evaluated(
        checkpoint="finalize",
        part="opens_when",
        verdict=closed.verdict,
        findings=(closed,),
        facts={},
    )
    desk.tell(gate, _shown())
    for words in (("done",), ("decide", "finalize", "--done", *WHY)):
        assert "its gate shows when its step is done; now: dual-write" in desk.refused(*words)
    desk.tell(gate.model_copy(update={"findings": ()}))
    assert desk.types("done").exit_code == ExitCode.DONE
    assert desk.walk().checkpoint("finalize").stage is Stage.STEP_DONE


HOOKS = "hooks: 1\nexplain: None.\nsteps:\n  finalize: {argv: [do, it]}\n"


def orchestrated(*, execute: bool) -> entries.OrchestratorStarted:
    return entries.OrchestratorStarted(
        owner="process 1", version="1", execute=execute, hooks_sha256=None, fence=1
    )


def test_a_shown_step_is_handed_to_its_hook_on_request(desk: Desk) -> None:
    (desk.folder / "hooks.yaml").write_text(HOOKS)
    text = desk.config.read_text().replace("small.yaml}", "small.yaml, hooks: ./hooks.yaml}")
    desk.config.write_text(text)
    hand_over = ("decide", "finalize", "--execute", *WHY)
    assert "asks for no decision of this kind: it is entered" in desk.refused(*hand_over)
    desk.tell(_shown())
    said = desk.refused("decide", "finalize", "--repeat", *WHY)
    assert "it is shown; it takes --done or --execute" in said
    desk.tell(orchestrated(execute=False))
    assert "was started without --execute" in desk.refused(*hand_over)
    desk.tell(orchestrated(execute=True))
    done = desk.types(*hand_over)
    assert done.exit_code == ExitCode.DONE, done.output
    assert "its guards and its approval are checked again" in done.stdout
    assert desk.walk().checkpoint("finalize").stage is Stage.ENTERED
    decided = desk.log.entries("prod")[-1]
    assert (decided.kind, decided.body["decision"]) == ("step_decided", "execute")
    again = desk.types("approve", "finalize", *YES)
    assert again.exit_code == ExitCode.DONE, again.output


@pytest.mark.parametrize(("decision", "failed"), [("--repeat", True), ("--execute", False)])
def test_hooks_that_were_changed_are_not_run_before_a_restart(
    desk: Desk, decision: str, *, failed: bool
) -> None:
    """`kraftgate run` still has the commands from its start."""
    file = desk.folder / "hooks.yaml"
    file.write_text(HOOKS)
    text = desk.config.read_text().replace("small.yaml}", "small.yaml, hooks: ./hooks.yaml}")
    desk.config.write_text(text)
    started = orchestrated(execute=True)
    sha256 = hashlib.sha256(HOOKS.encode()).hexdigest()
    desk.tell(started.model_copy(update={"hooks_sha256": sha256}))
    unknown = entries.StepUnknown(checkpoint="finalize", run="r", why="its outcome is not known")
    desk.tell(unknown if failed else _shown())
    changed = HOOKS.replace("[do, it]", "[do, it, right]")
    file.write_text(changed)
    said = desk.refused("decide", "finalize", decision, *WHY)
    assert "hooks.yaml was changed since kraftgate run started: end it and start it again" in said
    sha256 = hashlib.sha256(changed.encode()).hexdigest()
    desk.tell(started.model_copy(update={"hooks_sha256": sha256}))
    assert desk.types("decide", "finalize", decision, *WHY).exit_code == ExitCode.DONE


def test_a_shown_step_without_a_hook_is_not_handed_over(desk: Desk) -> None:
    desk.tell(orchestrated(execute=True), _shown())
    said = desk.refused("decide", "finalize", "--execute", *WHY)
    assert "the configuration has no hook for finalize: do it by hand" in said
    (desk.folder / "hooks.yaml").write_text(HOOKS.replace("finalize:", "enter-kraft:"))
    text = desk.config.read_text().replace("small.yaml}", "small.yaml, hooks: ./hooks.yaml}")
    desk.config.write_text(text)
    said = desk.refused("decide", "finalize", "--execute", *WHY)
    assert "hooks.yaml has no hook for finalize: do it by hand" in said


def test_of_a_step_that_another_orchestrator_began_only_its_end_is_decided(desk: Desk) -> None:
    assert "no step of another orchestrator" in desk.refused("decide", "a[1]", "--ended", *WHY)
    step = RunningStep(
        checkpoint="a[1]", run="1-a-1", host="ops\x1b[2J", home="x", since_ms=1, ends_ms=2
    )
    desk.tell(entries.StepElsewhere(step=step))
    refused = desk.refused("decide", "finalize", "--ended", *WHY)
    assert "the step of a[1], begun on ops\\x1b[2J" in refused
    assert "\x1b" not in refused
    assert desk.types("decide", "a[1]", "--ended", *WHY).exit_code == ExitCode.DONE
    assert (desk.walk().elsewhere, desk.walk().decided_elsewhere) == (None, step)


def test_the_way_back_is_open_until_the_first_step_that_cannot_be_taken_back(desk: Desk) -> None:
    desk.tell(_shown())
    refused = desk.refused("rollback", *WHY)
    assert "cannot be undone" in refused
    assert "If the step that was shown has not been begun, " in refused
    desk.tell(entries.Aborted(by=ANNA, reason="again"))
    desk.begin()
    desk.tell(entries.Paused(by=ANNA, reason="until the disk is checked"))
    done = desk.types("rollback", *WHY)
    assert done.exit_code == ExitCode.DONE
    assert "anna paused it: no step begins before kraftgate resume" in done.stdout
    assert desk.walk().path == "back"
    assert (
        "a rollback is already being executed" in desk.refused("rollback", *WHY)
        or desk.walk().current is None
    )


def test_there_is_no_way_back_once_a_controller_left_the_migration_by_itself(desk: Desk) -> None:
    desk.tell(entries.CheckpointPassed(checkpoint="finalize[3000]", how="already", facts={}))
    assert "cannot be undone" in desk.refused("rollback", *WHY)


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (Phase.DUAL_WRITE, "controller 3002 was restarted without the migration enabled"),
        (Phase.FINALIZED, "the phase is finalized, which cannot be undone"),
    ],
)
def test_there_is_no_way_back_once_any_controller_left_the_migration(
    desk: Desk, phase: Phase, said: str
) -> None:
    desk.begin_bundled(
        entries.CheckpointPassed(checkpoint="soak", how="opened", facts={}),
        entries.CheckpointEntered(checkpoint="finalize[3001]"),
    )
    controllers = tuple(
        ControllerSummary(
            id=each, zk_migration_ready=each != 3002, registered_offset=7, registered_ms=None
        )
        for each in (3000, 3001, 3002)
    )
    summary = desk.store.summaries["prod"]
    desk.store.summaries["prod"] = replace(summary, phase=phase, controllers=controllers)
    assert said in desk.refused("rollback", *WHY)
    if phase is Phase.DUAL_WRITE:
        desk.store.summaries["prod"] = replace(summary, controllers=controllers[:2])
        desk.fresh_sources(stale_ms=60_000)
        assert desk.types("rollback", *WHY).exit_code == ExitCode.NO_DATA
        desk.fresh_sources()
        assert desk.types("rollback", *WHY).exit_code == ExitCode.DONE


@pytest.mark.parametrize(
    ("ready", "registered_ms", "code"),
    [
        (True, NOW_MS, ExitCode.DONE),
        (False, NOW_MS, ExitCode.USAGE),
        (False, NOW_MS - 1, ExitCode.DONE),  # Kafka keeps the registration of one that has left
        (False, None, ExitCode.USAGE),
    ],
)
@pytest.mark.parametrize("stale_ms", [0, 600_000], ids=["", "dead quorum"])
def test_no_rollback_beside_a_controller_that_would_end_the_migration(
    desk: Desk, registered_ms: int | None, code: ExitCode, stale_ms: int, *, ready: bool
) -> None:
    """A dead quorum is a main reason for a rollback."""
    desk.begin_bundled(entries.CheckpointEntered(checkpoint="soak"))
    one = ControllerSummary(
        id=3002, zk_migration_ready=ready, registered_offset=7, registered_ms=registered_ms
    )
    summary = desk.store.summaries["prod"]
    desk.store.summaries["prod"] = replace(
        summary, controllers=(one,), migration_state_ms=NOW_MS - 1
    )
    desk.fresh_sources(stale_ms=stale_ms)
    result = desk.types("rollback", *WHY)
    assert result.exit_code == code, result.output
    assert ("restart it in migration mode" in result.stderr) is (code is ExitCode.USAGE)


@pytest.mark.parametrize(
    ("phase", "path"),
    [
        (Phase.PRE_MIGRATION, "to-zookeeper"),
        (Phase.COPYING, "to-zookeeper"),
        (Phase.HYBRID, "from-hybrid"),
    ],
)
def test_the_way_back_from_a_copy_that_never_comes_waits_for_no_dual_write(
    desk: Desk, phase: Phase, path: str
) -> None:
    desk.begin_bundled(entries.CheckpointEntered(checkpoint="copied"))
    desk.store.summaries["prod"] = replace(desk.store.summaries["prod"], phase=phase)
    assert desk.types("rollback", *WHY).exit_code == ExitCode.DONE
    assert desk.walk().path == path


def test_a_walk_that_ended_is_begun_anew_and_only_then(desk: Desk) -> None:
    assert "an execution of prod has not ended" in desk.refused("begin", *WHY)
    assert desk.types("abort", *WHY).exit_code == ExitCode.DONE
    assert "has ended (aborted)" in desk.refused("pause", *WHY)
    assert desk.types("begin", *WHY).exit_code == ExitCode.DONE
    assert (desk.walk().outcome, desk.walk().checkpoints) == (None, {})
    with claimed(desk.folder / "state"):
        assert "has no checkpoint now: retry" in desk.refused("approve", "finalize", *WHY)
    lock = desk.folder / "state" / "lock"
    lock.write_text(lock.read_text().replace('"after_boot_s": ', '"after_boot_s": -'))
    refused = desk.refused("approve", "finalize", *WHY)
    assert "has no checkpoint now: no `kraftgate run` is running" in refused


def test_an_execution_that_begins_within_a_migration_says_what_to_skip(desk: Desk) -> None:
    desk.config.write_text(desk.config.read_text().replace("./small.yaml", "zk-to-kraft-jbod"))
    desk.tell(entries.Aborted(by=ANNA, reason="the window is over"))
    skip = "the phase is dual-write: skip each checkpoint that the migration has passed"
    assert skip in desk.types("begin", *WHY).stdout
    desk.tell(entries.CheckpointEntered(checkpoint="preflight"))
    refused = desk.refused("rollback", *WHY)
    assert (
        f"cannot roll back from preflight: This execution has changed nothing yet; {skip}"
        in refused
    )
    desk.store.summaries["prod"] = cluster(Phase.ZOOKEEPER, migrating(1))
    assert "skip" not in desk.refused("rollback", *WHY)


def test_an_execution_of_another_runbook_is_not_steered_by_the_configured_one(desk: Desk) -> None:
    desk.config.write_text(desk.config.read_text().replace("./small.yaml", "disk-replacement"))
    refused = desk.refused("approve", "finalize", *WHY)
    assert (
        "is the runbook disk-replacement, and the execution is of small: set `runbook.file` to"
        " the file of the runbook small, and start `kraftgate run` again"
    ) in refused
    assert "estore" not in refused


def test_a_changed_runbook_is_not_steered_by(desk: Desk) -> None:
    (desk.folder / "small.yaml").write_text(RUNBOOK + "# changed\n")
    assert "was changed since this execution began" in desk.refused("approve", "finalize", *WHY)
    kept = kept_runbook(desk.folder / "state", desk.sha256)
    kept.parent.mkdir()
    kept.write_text(RUNBOOK)
    assert f"set `runbook.file` to {kept}" in desk.refused("approve", "finalize", *WHY)
    desk.tell(_shown())
    assert f"set `runbook.file` to {kept}" in desk.refused("decide", "finalize", "--done", *WHY)


def test_waiting_for_a_checkpoint(desk: Desk) -> None:
    passed = desk.types("wait", "--checkpoint", "brokers-kraft", "--timeout", "1s")
    assert passed.exit_code == ExitCode.DONE, passed.output
    unknown = desk.types("wait", "--checkpoint", "finalise", "--timeout", "1s")
    assert unknown.exit_code == ExitCode.USAGE
    assert "has no checkpoint finalise" in unknown.stderr


def test_a_checkpoint_that_an_aborted_execution_passed_is_not_passed(desk: Desk) -> None:
    """The next attempt has not begun: a script must not perform its steps."""
    desk.tell(entries.Aborted(by=ANNA, reason="x"))
    waited = desk.types("wait", "--fail-fast", "--checkpoint", "brokers-kraft", "--timeout", "1m")
    assert waited.exit_code == ExitCode.HAZARD, waited.output
    assert "the execution was aborted: kraftgate begin begins a new one" in waited.stderr


@pytest.mark.parametrize(
    "id_", ["brokers-kraft[1", "brokers-kraft[01]", "brokers-kraft[²]", "x[1]"]
)
def test_an_instance_that_cannot_exist_is_not_waited_for(desk: Desk, id_: str) -> None:
    refused = desk.types("wait", "--checkpoint", id_, "--timeout", "1s")
    assert refused.exit_code == ExitCode.USAGE, refused.output


def test_an_execution_of_another_runbook_shows_nothing(desk: Desk) -> None:
    """After an abort the runbook may be changed; its checkpoints keep their names."""
    desk.tell(entries.Aborted(by=ANNA, reason="x"))
    file = desk.folder / "small.yaml"
    file.write_text(file.read_text() + "# changed\n")
    waited = desk.types("wait", "--checkpoint", "brokers-kraft", "--timeout", "1s")
    assert waited.exit_code == ExitCode.NO_DATA, waited.output
    assert "is not of the current text of the configured runbook" in waited.stderr


def test_a_checkpoint_of_the_way_forward_is_not_passed_in_a_rollback(desk: Desk) -> None:
    desk.tell(entries.RollbackBegan(path="back", at="finalize", by=ANNA, reason="lag"))
    again = ("wait", "--fail-fast", "--checkpoint", "brokers-kraft", "--timeout", "1m")
    rolls_back = desk.types(*again)
    assert rolls_back.exit_code == ExitCode.HAZARD
    assert "the execution began the rollback back" in rolls_back.stderr
    desk.tell(
        entries.CheckpointPassed(checkpoint="brokers-back", how="opened", facts={}),
        entries.ExecutionEnded.model_validate({"outcome": "rolled-back"}),
    )
    rolled_back = desk.types(*again)
    assert rolled_back.exit_code == ExitCode.HAZARD
    assert "the execution began the rollback back, and was rolled back" in rolled_back.stderr
    of_the_rollback = desk.types("wait", "--checkpoint", "brokers-back", "--timeout", "1s")
    assert of_the_rollback.exit_code == ExitCode.DONE, of_the_rollback.output


@pytest.mark.parametrize(
    ("phase", "controller", "place"),
    [(Phase.PRE_MIGRATION, 1, "back-controllers"), (Phase.HYBRID, 3000, "back-znodes")],
)
def test_a_rollback_is_approved_although_the_controllers_are_gone(
    desk: Desk, phase: Phase, controller: int, place: str
) -> None:
    """That the metadata log has ended is what the approval rests on."""
    desk.begin_bundled(
        entries.CheckpointEntered(checkpoint="brokers-migration[1]"),
        entries.RollbackBegan(path="to-zookeeper", at="brokers-migration[1]", by=ANNA, reason="x"),
    )
    if place == "back-znodes":
        passed = entries.CheckpointPassed(checkpoint="back-controllers", how="already", facts={})
        desk.tell(entries.CheckpointEntered(checkpoint="back-controllers"), passed)
    desk.tell(entries.CheckpointEntered(checkpoint=place))
    epoch = 1 if controller == 3000 else -1
    znode = ZooKeeperImage(
        seen_ms=NOW_MS,
        controller=ZkController(id=controller, kraft_epoch=epoch, claimed_ms=NOW_MS),
        migration=MigrationZnode(
            offset=283 if epoch > 0 else -1,
            controller_id=3000,
            controller_epoch=1,
            metadata_epoch=1,
            written_ms=NOW_MS - 90_000,
        ),
    )
    summary = cluster(phase, migrating(1), migrating(2))
    desk.store.summaries["prod"] = replace(summary, zookeeper=znode)
    gone = replace(FRESH, observed_ms=NOW_MS, last_reply_ms=NOW_MS - 60_000, waiting="gone")
    write_status(desk.folder / "state/clusters/prod/source.json", gone)
    assert desk.types("approve", place, *YES).exit_code == ExitCode.DONE


@pytest.mark.parametrize(
    "words",
    [("rollback",), ("decide", "brokers-kraft[1]", "--repeat"), ("skip", "brokers-kraft[1]")],
)
def test_nothing_begins_beside_processes_of_a_hook(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    left = _left_by_a_hook(desk, monkeypatch)
    assert "the hook of brokers-kraft[1] still has running processes" in desk.refused(*words, *WHY)
    monkeypatch.setattr(HookRuns, "state", lambda *_: replace(left, still_running=()))
    assert desk.types(*words, *WHY).exit_code == ExitCode.DONE


@pytest.mark.parametrize("still_running", [(4711,), ()])
def test_an_abort_names_a_hook_whose_processes_run(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, still_running: tuple[int, ...]
) -> None:
    left = _left_by_a_hook(desk, monkeypatch)
    monkeypatch.setattr(HookRuns, "state", lambda *_: replace(left, still_running=still_running))
    goes_on = "the hook of brokers-kraft[1] goes on, and may still change the cluster"
    assert (goes_on in desk.types("abort", *WHY).stdout) is bool(still_running)


def test_an_abort_is_recorded_although_its_hook_s_files_are_damaged(desk: Desk) -> None:
    desk.tell(
        _started("finalize"),
        entries.StepUnknown(checkpoint="finalize", run="1", why="x"),
    )
    run = desk.folder / "state" / "hooks" / "1"
    run.mkdir(parents=True)
    (run / files.STARTED).write_text("{}")
    (run / files.PROCESS).write_text("{}")
    done = desk.types("abort", *WHY)
    assert done.exit_code == ExitCode.DONE, done.stderr
    assert "whether its hook still runs is unknown: " in done.stdout


def _started(checkpoint: str) -> entries.StepStarted:
    return entries.StepStarted(
        checkpoint=checkpoint, run="1", attempt=1, argv=("x",), token=1, open_before=False, facts={}
    )


def _left_by_a_hook(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Unknown:
    """Make the outcome of a hook unknown while a process of it runs."""
    desk.tell(
        entries.Aborted(by=ANNA, reason="x"),
        entries.ExecutionBegan(runbook="small", sha256=desk.sha256, by=ANNA, reason="x"),
        entries.CheckpointEntered(checkpoint="brokers-kraft[1]"),
        _started("brokers-kraft[1]"),
        entries.StepUnknown(checkpoint="brokers-kraft[1]", run="1", why="its outcome is not known"),
    )
    left = Unknown(why="its supervisor is gone", still_running=(4711,))
    monkeypatch.setattr(HookRuns, "state", lambda *_: left)
    return left
