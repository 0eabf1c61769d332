"""Conditions on the KRaft controllers: the quorum, and each controller's registration."""

from typing import Final

from migration.assessment.conditions.kind import CONTROLLER, COUNT, kind, one_of
from migration.assessment.conditions.view import QuorumSeen, View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding, satisfied, unknown, violated, waiting
from migration.assessment.waits import DOWN_AFTER_MS
from migration.image.summary import ControllerSummary
from migration.observed.probed import Voter
from migration.observed.source_status import STALE_AFTER_MS, is_silent
from migration.values.durations import duration_text
from migration.values.evidence import count

CAUGHT_UP_MS_MAX: Final = 10_000
"""A voter fetches at least every 500 ms; the leader resigns without a majority after 3 s."""
_LOG: Final = DataSource.METADATA_LOG
_QUORUM: Final = DataSource.QUORUM


@kind(
    "A controller leads, every voter has caught up with it within 10 s, and every"
    " configured controller answers and is a voter.",
    requires=(_QUORUM,),
    may_use=frozenset({_LOG}),
)
def quorum_healthy(view: View) -> Finding:
    quorum = view.quorum
    if quorum is None or not (quorum.answering or quorum.refused):
        return unknown("no controller answered")
    if quorum.leader is None:
        return waiting("no controller leads the quorum", *_unanswered(quorum))
    leads = f"controller {quorum.leader} leads in epoch {quorum.epoch}"
    end = "unknown" if quorum.high_watermark is None else quorum.high_watermark
    evidence = [leads, f"high watermark {end}", *map(_voter, quorum.voters)]
    now_ms = next((v.last_caught_up_ms for v in quorum.voters if v.id == quorum.leader), None)
    if now_ms is None:
        return unknown(f"{leads}, and does not report itself as a voter", *evidence)
    lagging = [each for each in quorum.voters if _lags(each, now_ms)]
    if lagging:
        return _behind(lagging, now_ms, _led_ms(view, quorum), leads, evidence)
    if quorum.refused or quorum.silent:
        return waiting(f"{leads}, and not every controller answers", *_unanswered(quorum))
    if quorum.answering > len(quorum.voters):
        answers = f"{quorum.answering} configured addresses answer"
        voters = f"the quorum has {count(len(quorum.voters), 'voter')}"
        fix = "add the other controllers to it, and name each of them once"
        return waiting(f"{leads}; {answers}, and {voters}: {fix}", *evidence)
    return satisfied(f"{leads}, and all {count(len(quorum.voters), 'voter')} follow", *evidence)


def _behind(
    lagging: list[Voter], now_ms: int, led_ms: int, leads: str, evidence: list[str]
) -> Finding:
    """Return the finding about voters that lag; one that does for long needs an operator."""
    down = [each for each in lagging if _lag_ms(each, now_ms, led_ms) > DOWN_AFTER_MS]
    named = ", ".join(str(each.id) for each in down or lagging)
    if not down:
        return waiting(f"{leads}; behind or not answering: {named}", *evidence)
    late = f"behind or not answering for more than {duration_text(DOWN_AFTER_MS)}"
    return violated(f"start or check controller {named}: {late}", *evidence)


def _led_ms(view: View, quorum: QuorumSeen) -> int:
    """Return for how long the leader is known to have led; 0: unknown."""
    log = view.status(_LOG)
    is_same = (log.active_controller, log.leader_epoch) == (quorum.leader, quorum.epoch)
    return quorum.at_ms - log.led_since_ms if is_same and log.led_since_ms is not None else 0


def _lag_ms(voter: Voter, now_ms: int, led_ms: int) -> int:
    """Return for how long a voter has not caught up; one that never has, since the election."""
    return led_ms if voter.last_caught_up_ms is None else now_ms - voter.last_caught_up_ms


def _lags(voter: Voter, now_ms: int) -> bool:
    # Only by the leader's clock: it reports its own time as its own time of catching up.
    caught_up = voter.last_caught_up_ms
    return caught_up is None or now_ms - caught_up > CAUGHT_UP_MS_MAX


def _voter(voter: Voter) -> str:
    return f"voter {voter.id}: log end offset {voter.log_end_offset}"


def _unanswered(quorum: QuorumSeen) -> list[str]:
    refused = [f"{each}: no process listens" for each in quorum.refused]
    return [*refused, *(f"{endpoint}: {why}" for endpoint, why in quorum.silent.items())]


@kind(
    "Each configured controller answers, or no process listens at its address.",
    requires=(_QUORUM,),
)
def controllers_answer(view: View) -> Finding:
    """Evaluate whether it can be known later that each controller is stopped."""
    quorum = view.quorum
    if quorum is None or not (quorum.answering or quorum.refused or quorum.silent):
        return unknown("no controller was polled")
    if quorum.silent:
        named = ", ".join(quorum.silent)
        return waiting(f"no answer from {named}: {_if_off(quorum)}", *_unanswered(quorum))
    return satisfied(f"{count(quorum.answering, 'controller')} answering", *_unanswered(quorum))


def _if_off(quorum: QuorumSeen) -> str:
    """Return how to continue without the silent controllers; one address must be left to poll."""
    if not (quorum.answering or quorum.refused):
        return (
            "`controllers.bootstrap` must keep an address: start the host of one of them, and keep"
            " its controller from starting (systemctl disable), so that it refuses connections"
        )
    return (
        "if its host is certainly off, remove its address from `controllers.bootstrap` and start"
        " `kraftgate run` again"
    )


@kind(
    "No process listens at the address of any configured controller, and none sends"
    " the metadata log any more.",
    requires=(_QUORUM,),
    may_use=frozenset({_LOG}),
)
def controllers_stopped(view: View) -> Finding:
    """Evaluate only received answers: an unreachable host may still run a controller."""
    quorum = view.quorum
    if quorum is None or not (quorum.answering or quorum.refused or quorum.silent):
        return unknown("no controller was polled")
    if quorum.answering:
        return waiting(f"{count(quorum.answering, 'controller')} still answering")
    if quorum.silent:
        reason = f"a controller that does not answer may still run; {_if_off(quorum)}"
        return unknown(reason, *_unanswered(quorum))
    reason = f"no process listens at {', '.join(quorum.refused)}"
    return _log_still_sent(view) or satisfied(reason)


def _log_still_sent(view: View) -> Finding | None:
    """Return a finding if a controller may still send the metadata log; None: none does.

    `controllers.bootstrap` does not name such a controller: the log is read from the active
    one, whichever it is.
    """
    if _LOG not in view.configured:
        return None
    status = view.status(_LOG)
    replied_ms, is_trying = status.last_reply_ms, status.waiting or status.error
    if is_silent(status, view.now_ms) or (replied_ms is None and not is_trying):
        return unknown("whether a controller still sends the metadata log is not known yet")
    if replied_ms is None or view.now_ms - replied_ms > STALE_AFTER_MS:
        return None
    return waiting(
        f"a controller sent the metadata log {(view.now_ms - replied_ms) // 1000} s ago; if it"
        f" still does {STALE_AFTER_MS // 1000} s after the stop, a controller runs that"
        " `controllers.bootstrap` does not name"
    )


@kind(
    "At least N voters of the quorum are registered.", requires=(_LOG, _QUORUM), parameters=(COUNT,)
)
def controllers_registered(view: View, wanted: int) -> Finding:
    known, quorum = view.summary.controllers, view.quorum
    if known is None:
        return unknown("the controllers' registrations were not counted yet")
    if quorum is None or quorum.leader is None:
        return unknown("no controller leads the quorum")
    voters = {each.id for each in quorum.voters}
    found = [each for each in known if each.id in voters]
    named = ", ".join(str(each.id) for each in found) or "none"
    reason = f"{len(found)} of {count(wanted, 'controller')} registered: {named}"
    evidence = tuple(map(_registration, found))
    return satisfied(reason, *evidence) if len(found) >= wanted else waiting(reason, *evidence)


@kind(
    "The latest start of the controller was with zookeeper.metadata.migration.enable"
    " (migration), or without it (kraft).",
    requires=(_LOG,),
    parameters=(CONTROLLER, one_of("migration", "kraft")),
)
def controller_mode(view: View, controller: int, mode: str) -> Finding:
    known = view.summary.controllers
    if known is None:
        return unknown("the controllers' registrations were not counted yet")
    found = next((each for each in known if each.id == controller), None)
    if found is None:
        return waiting(f"controller {controller} is not registered")
    now = "migration" if found.zk_migration_ready else "kraft"
    answer = satisfied if now == mode else waiting
    return answer(f"controller {controller} is in {now} mode", _registration(found))


def _registration(controller: ControllerSummary) -> str:
    ready = "ready" if controller.zk_migration_ready else "not ready"
    return (
        f"controller {controller.id}: registered at metadata offset"
        f" {controller.registered_offset}, {ready} for the migration"
    )


@kind(
    "The controller is a voter and has caught up with the leader within 10 s.",
    requires=(_QUORUM,),
    parameters=(CONTROLLER,),
)
def controller_caught_up(view: View, controller: int) -> Finding:
    quorum = view.quorum
    if quorum is None or quorum.leader is None:
        return waiting("no controller leads the quorum")
    voters = {each.id: each for each in quorum.voters}
    leader, found = voters.get(quorum.leader), voters.get(controller)
    if found is None:
        return violated(f"controller {controller} is not a voter", *map(_voter, quorum.voters))
    if leader is None or leader.last_caught_up_ms is None:
        return unknown(f"controller {quorum.leader} does not report itself as a voter")
    if _lags(found, leader.last_caught_up_ms):
        return waiting(f"controller {controller} has not caught up", _voter(leader), _voter(found))
    limit = duration_text(CAUGHT_UP_MS_MAX)
    return satisfied(f"controller {controller} caught up within {limit}", _voter(found))
