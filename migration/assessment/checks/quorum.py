"""The quorum of KRaft controllers: availability, redundancy, Kraftgate's authorization.

Before the controllers exist each check here is skipped: that is a phase of the migration, not an
error.
"""

from typing import Final

from migration.assessment.checks.check import (
    at_endpoint,
    check,
    kraft_holder,
    listed,
    missing_data,
    phase_without_quorum,
    silent_controllers,
    worse_first,
)
from migration.assessment.finding import Finding, satisfied, skipped, violated, warned
from migration.observed.probed import Controller, Facts, Unknown

ASK: Final = "check that controllers.bootstrap names every controller and that each can be reached"


@check("quorum-reachable", "A quorum of controllers answers")
def quorum_reachable(facts: Facts) -> Finding:
    """Check that a majority of the voters answers and one of them leads."""
    holder = kraft_holder(facts)
    if not facts.controllers and holder is not None:
        return missing_data(
            f"/controller names KRaft controller {holder}, and the configuration none",
            fix="set controllers.bootstrap to the addresses of all controllers",
        )
    if not facts.controllers:
        return skipped(
            "the configuration names no controllers: nothing to check yet",
            fix="once they are provisioned, set controllers.bootstrap and run preflight again",
        )
    silent = silent_controllers(facts)
    if not facts.has_controllers and holder is not None:
        what = f"KRaft controller {holder} holds /controller, and no controller answers"
        fix = "read their logs for the cause, and start the same ones again with their own disks"
        return violated(what, *silent, fix=fix)
    if not facts.has_controllers:
        fix = "provision or start them, and run preflight again before you restart the first broker"
        return warned("no controller answers yet", *silent, fix=fix)
    if not facts.answering:
        fix = f"fix the cause in the line of each controller; {ASK} with `controllers.security`"
        return missing_data(*silent, fix=fix)
    quorum = facts.quorum
    if quorum is None:
        if any(one.may_describe is not True for one in facts.answering):
            why = [at_endpoint(one.endpoint, _why(one)) for one in facts.answering]
            return missing_data(*why, *silent, fix=f"grant DESCRIBE on CLUSTER, or {ASK}")
        fix = f"start a majority of the voters, and search their logs for the election; or {ASK}"
        return violated("no controller leads", *silent, *_names(facts), fix=fix)
    if 2 * len(facts.answering) <= len(quorum.voters):
        what = f"{len(facts.answering)} of {len(quorum.voters)} voters answer here"
        return violated(what, *(silent or _names(facts)), fix=ASK)
    if silent:
        return warned("not every controller answers", *silent, fix=ASK)
    leader = f"controller {quorum.leader} leads in epoch {quorum.epoch}"
    return satisfied(f"{leader}, voters {listed(quorum.voters)}")


def _why(one: Controller) -> str:
    known = one.may_describe
    return known.why if isinstance(known, Unknown) else "DESCRIBE is not granted"


def _names(facts: Facts) -> list[str]:
    return [f"{one.endpoint} answers" for one in facts.answering]


@check("quorum-rights", "Kraftgate may follow the metadata log", needs=phase_without_quorum)
def quorum_rights(facts: Facts) -> Finding:
    refused, missing = [], []
    for one in facts.answering:
        for may, what in ((one.may_fetch, "CLUSTER_ACTION"), (one.may_describe, "DESCRIBE")):
            if isinstance(may, Unknown):
                missing.append(f"{one.endpoint}, {what}: {may.why}")
            elif not may:
                refused.append(f"{one.endpoint} does not grant {what} on CLUSTER")
    if refused:
        fix = (
            "grant the principal ClusterAction and Describe on the cluster (kafka-acls --cluster,"
            " or super.users of the controllers) before the window: without CLUSTER_ACTION the"
            " metadata log cannot be followed"
        )
        return violated(
            "the controllers deny Kraftgate required operations",
            *worse_first(refused, missing),
            fix=fix,
        )
    if missing:
        return missing_data(*missing, fix=ASK)
    return satisfied("Kraftgate may follow the metadata log and describe the quorum")


@check(
    "quorum-redundancy",
    "The quorum tolerates the loss of a controller",
    blocks=False,
    needs=phase_without_quorum,
)
def quorum_redundancy(facts: Facts) -> Finding:
    quorum = facts.quorum
    if quorum is None:
        return missing_data("the voters", fix=ASK)
    count = len(quorum.voters)
    if count >= 3 and count % 2:
        return satisfied(f"{count} voters")
    fix = "run 3 or 5 controllers: 1 tolerates no failure, and 2 or 4 tolerate no more than 1 or 3"
    return warned(
        f"the quorum has {count} voter" + ("s" if count > 1 else ""),
        f"voters: {listed(quorum.voters)}",
        fix=fix,
    )
