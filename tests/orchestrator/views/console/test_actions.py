"""What a person says on the page: the same entries as by the command, with who, why and where."""

import time
from contextlib import closing

import pytest
from click.testing import CliRunner

from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, Person
from orchestrator.audit.execution.state import Stage
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from tests.orchestrator.views.console.conftest import Start
from tests.orchestrator.views.console.reading import client, refused, valid, watching
from tests.orchestrator.views.console.serve import Served

BORIS = Person(who="boris", login="console", host="127.0.0.1")
SAY = {"who": "boris", "reason": "CHG-1234"}


def say(served: Served, action: str, **more: str) -> tuple[str, ...]:
    """Say it; gives the command's words."""
    _is_current(served)
    with client(served, token=served.token) as http:
        answer = http.post(f"/api/clusters/prod/{action}", json=SAY | more)
    assert answer.status_code == 200, answer.text
    return tuple(valid("ActionResult", answer.json())["said"])


def _is_current(served: Served) -> None:
    """An approval needs data of the last 15 s, which a busy machine may take for the rest."""
    served.advance(time.time_ns() // 1_000_000, share=0.0)


def refuses(served: Served, action: str, **more: str) -> str:
    """What is said is refused, with the command's words, and nothing stands in the trail."""
    _is_current(served)
    before = len(served.world.log.entries("prod"))
    with client(served, token=served.token) as http:
        answer = http.post(f"/api/clusters/prod/{action}", json=SAY | more)
    assert refused(answer) == (409, "refused")
    assert len(served.world.log.entries("prod")) == before
    message: str = answer.json()["error"]["message"]
    return message


def newest(served: Served) -> Body:
    ((_, body),) = Body.read(served.world.log.last("prod"))
    return body


APPROVE = {"checkpoint": "finalize[3001]", "confirm": "prod"}


def test_an_approval_carries_who_why_where_and_the_state(start: Start) -> None:
    served = start(scene="approve")
    said = say(served, "approve", **APPROVE)
    assert said == (
        "prod: finalize[3001] approved by boris (login console)",
        "2 people must approve, 1 did. The next approval must come from `kraftgate approve`",
    )
    given = newest(served)
    assert isinstance(given, entries.Approved)
    assert (given.checkpoint, given.by, given.reason) == ("finalize[3001]", BORIS, "CHG-1234")
    assert given.basis["phase"] == "dual-write"
    assert given.confirmed == "prod"


def test_the_token_is_one_person_under_whatever_name(start: Start) -> None:
    served = start(scene="approve")
    say(served, "approve", **APPROVE)
    said = "\n".join(say(served, "approve", **APPROVE, who="anna"))
    assert "login console had approved it already: it counts once" in said
    assert "2 people must approve, 1 did" in said


def test_what_cannot_be_undone_is_approved_with_the_clusters_name(start: Start) -> None:
    served = start(scene="approve")
    said = refuses(served, "approve", checkpoint="finalize[3001]")
    assert "confirm its approval with the cluster's name" in said
    said = refuses(served, "approve", checkpoint="finalize[3001]", confirm="stage")
    assert "does not confirm" in said


def test_it_is_the_entry_that_the_command_writes(start: Start) -> None:
    served = start(scene="approve")
    say(served, "approve", **APPROVE)
    by_page = newest(served)
    _is_current(served)
    words = ["approve", "finalize[3001]", "--who", "boris", "--reason", "CHG-1234"]
    words += ["--confirm", "prod"]
    result = CliRunner().invoke(main, [*words, "--config", str(served.world.config.path)])
    assert result.exit_code == ExitCode.DONE, result.output
    by_command = newest(served)
    assert isinstance(by_page, entries.Approved)
    assert isinstance(by_command, entries.Approved)
    assert by_command.model_copy(update={"by": BORIS}) == by_page


def test_the_page_sees_what_it_said(start: Start) -> None:
    served = start(scene="approve")
    with watching(served) as page:
        page.next()
        assert page.state["clusters"][0]["walk"]["can"] == ["approve", "rollback", "pause", "abort"]
        assert page.state["clusters"][0]["walk"]["people"] == 2
        say(served, "approve", **APPROVE)
        served.advance()
        while not page.state["clusters"][0]["walk"]["approved_by"]:
            page.next("change")
        (cluster,) = page.state["clusters"]
        assert cluster["walk"]["approved_by"] == ["boris (login console)"]
        (told,) = [each for each in cluster["events"] if each["kind"] == "approved"]
        by = "boris (login console)@127.0.0.1"
        assert (told["lane"], told["by"]) == ("decisions", by)


def test_nobody_approves_elsewhere_than_where_the_walk_stands(start: Start) -> None:
    served = start(scene="approve")
    assert "is finalize[3001], not copied" in refuses(served, "approve", checkpoint="copied")
    with client(served, token=served.token) as http:
        answer = http.post("/api/clusters/prod/approve", json=SAY)
    assert refused(answer) == (400, "bad_request")


def test_nobody_approves_what_cannot_be_seen(start: Start) -> None:
    served = start(scene="approve")
    served.world.tell(stale_ms=60_000)
    before = len(served.world.log.entries("prod"))
    with client(served, token=served.token) as http:
        said = SAY | APPROVE
        answer = http.post("/api/clusters/prod/approve", json=said)
    assert refused(answer) == (503, "not_known")
    assert len(served.world.log.entries("prod")) == before


def test_pause_and_resume(start: Start) -> None:
    served = start()
    assert "it is not paused" in refuses(served, "resume")
    assert say(served, "pause") == ("prod: paused: no further step is begun",)
    assert newest(served) == entries.Paused(by=BORIS, reason="CHG-1234")
    assert "it is paused already, by boris" in refuses(served, "pause")
    assert say(served, "resume") == ("prod: resumed",)
    assert newest(served) == entries.Resumed(by=BORIS, reason="CHG-1234")


def test_abort_ends_the_walk(start: Start) -> None:
    served = start()
    assert say(served, "abort", confirm="prod") == ("prod: aborted; nothing was undone",)
    assert newest(served) == entries.Aborted(by=BORIS, reason="CHG-1234")
    assert "has ended (aborted)" in refuses(served, "pause")
    walk = served.world.trail.state()
    assert walk is not None
    assert walk.checkpoint("brokers-kraft[2]").stage is Stage.SHOWN
    served.advance()
    served.until_shown()
    with client(served) as http:
        (cluster,) = http.get("/api/state").json()["clusters"]
    assert (cluster["walk"]["outcome"], cluster["walk"]["can"]) == ("aborted", ["begin"])


def test_a_step_by_hand_is_done_on_the_page(start: Start) -> None:
    served = start()
    assert say(served, "done", checkpoint="brokers-kraft[2]")[0].startswith("prod: the step of")
    newest_entry = newest(served)
    assert isinstance(newest_entry, entries.StepDecided)
    assert (newest_entry.decision, newest_entry.by) == ("done", BORIS)


@pytest.mark.parametrize(
    ("action", "more"),
    [
        ("skip", {"checkpoint": "brokers-kraft[2]"}),
        ("rollback", {"checkpoint": "brokers-kraft[2]"}),
        ("rollback", {}),
        ("abort", {}),
    ],
)
def test_what_leaves_the_way_forward_or_ends_it_is_confirmed_with_the_cluster_s_name(
    start: Start, action: str, more: dict[str, str]
) -> None:
    served = start()
    with client(served, token=served.token) as http:
        for confirm in (None, "test"):
            answer = http.post(
                f"/api/clusters/prod/{action}", json={**SAY, **more, "confirm": confirm}
            )
            assert refused(answer) == (400, "bad_request")
        answer = http.post(f"/api/clusters/prod/{action}", json={**SAY, **more, "confirm": "prod"})
    assert answer.status_code == 200
    left = {
        "skip": entries.CheckpointSkipped,
        "rollback": entries.RollbackBegan,
        "abort": entries.Aborted,
    }
    assert isinstance(newest(served), left[action])


def test_a_rollback_of_another_checkpoint_is_refused(start: Start) -> None:
    served = start()
    more = {"checkpoint": "copied", "confirm": "prod"}
    assert "is brokers-kraft[2], not copied" in refuses(served, "rollback", **more)


def test_the_trail_is_intact_after_it(start: Start) -> None:
    served = start()
    for each in ("pause", "resume"):
        say(served, each)
    say(served, "abort", confirm="prod")
    assert served.world.log.verify().ok


def shown(served: Served, action: str) -> str:
    """What the action concerns, as a page sees it."""
    with client(served) as http:
        (cluster,) = http.get("/api/state").json()["clusters"]
    at: str = cluster["walk"]["at"][action]
    return at


def test_a_decision_is_about_the_failure_that_was_shown(start: Start) -> None:
    served = start(scene="failed-step")
    at = shown(served, "done")
    served.world.fail_again()
    said = refuses(served, "done", checkpoint="brokers-kraft[2]", at=at)
    assert "the execution has moved on since this was shown" in said
    served.advance()
    served.until_shown()
    assert say(served, "done", checkpoint="brokers-kraft[2]", at=shown(served, "done"))


@pytest.mark.parametrize("action", ["abort", "pause"])
def test_an_abort_and_a_pause_concern_the_execution_that_was_shown(
    start: Start, action: str
) -> None:
    served = start()
    at = shown(served, action)
    served.world.begin_another()
    assert "has moved on" in refuses(served, action, at=at, confirm="prod")


def test_an_abort_counts_at_each_checkpoint_of_its_execution(start: Start) -> None:
    served = start()
    at = shown(served, "abort")
    while served.world.at.moving == 2:
        served.advance(share=1.0)
    assert say(served, "abort", at=at, confirm="prod")


def test_the_end_of_a_pause_concerns_the_pause_that_was_shown(start: Start) -> None:
    served = start()
    say(served, "pause")
    served.advance()
    served.until_shown()
    at = shown(served, "resume")
    say(served, "resume")
    say(served, "pause")
    assert "has moved on" in refuses(served, "resume", at=at), "by the same operator, as before"
    served.advance()
    served.until_shown()
    assert say(served, "resume", at=shown(served, "resume"))


def test_an_approval_covers_the_state_that_was_shown(start: Start) -> None:
    served = start(scene="approve")
    seen = basis_shown(served)
    served.world.fail_disk()
    served.advance()
    said = refuses(served, "approve", **APPROVE, basis=seen)
    assert "the state has changed since you saw it: bad log directories of broker 1: was" in said
    served.until_shown()
    assert say(served, "approve", **APPROVE, basis=basis_shown(served))


def test_a_state_that_was_shown_by_an_earlier_kraftgate_is_refused_without_its_changes(
    start: Start,
) -> None:
    served = start(scene="approve")
    said = refuses(served, "approve", **APPROVE, basis="0" * 16)
    assert "the state has changed since you saw it: check it" in said


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("state_dir: state", "state_dir: other"),
        ("zk1:2181", "zk9:2181"),
        ("name: prod", "name: stage"),
    ],
)
def test_an_edited_configuration_sends_no_action_elsewhere(
    start: Start, was: str, now: str
) -> None:
    served = start()
    file = served.world.config.path
    with closing(AuditLog.open(file.parent / "other" / AUDIT_FILE)) as other:
        for entry, body in Body.read(served.world.log.entries("prod")):
            ExecutionTrail(other, "prod").append(body, entry.at_ms)
        before = len(other.entries("prod"))
        file.write_text(file.read_text().replace(was, now))
        assert "was changed since kraftgate run started" in refuses(served, "abort", confirm="prod")
        assert len(other.entries("prod")) == before


def basis_shown(served: Served) -> str:
    with client(served) as http:
        (cluster,) = http.get("/api/state").json()["clusters"]
    seen: str = cluster["walk"]["basis"]
    return seen
