"""The values of the fields of a step's texts and command, from what is observed at this moment."""

from collections.abc import Mapping

from migration.assessment.conditions import View
from migration.image.known_ids import member_brokers
from migration.image.summary import ClusterSummary
from orchestrator.config.models import ClusterEntry
from orchestrator.execution.route import CheckpointInstance
from orchestrator.output.visible import visible_line
from orchestrator.runbook.cluster_facts import addresses_of, planned_controllers
from orchestrator.runbook.step_values import Answers, step_values
from orchestrator.runbook.templates import CONTROLLER_LINES, readable


def fields_of(entry: ClusterEntry, instance: CheckpointInstance, view: View) -> dict[str, str]:
    """Return the known values of the fields of `orchestrator.runbook.templates`."""
    return {
        "cluster": entry.name,
        **addresses_of(entry),
        "phase": str(view.summary.phase),
        **step_values(_answers(entry, view), instance.broker),
        **instance.bind,
        **_of_member(instance.bind, view.summary),
    }


def readable_fields(
    entry: ClusterEntry, instance: CheckpointInstance, view: View
) -> dict[str, str]:
    """Return the values for a text that an operator reads, each safe on a terminal."""
    fields = {
        name: each if name == CONTROLLER_LINES else visible_line(each)
        for name, each in fields_of(entry, instance, view).items()
    }
    return readable(fields, instance.checkpoint.for_each)


def _of_member(bind: Mapping[str, str], summary: ClusterSummary) -> dict[str, str]:
    """Return the known fields of the broker or controller that the step is about.

    The rack of a broker without a rack is "".
    """
    if "broker" in bind:
        broker = next((each for each in summary.brokers if str(each.id) == bind["broker"]), None)
        if broker is None:
            return {}
        host = {"host": broker.host} if broker.host else {}
        return {**host, "rack": broker.rack or ""}
    known = summary.controllers or ()
    one = next((each for each in known if str(each.id) == bind.get("controller")), None)
    return {} if one is None or not one.host else {"host": one.host}


def _answers(entry: ClusterEntry, view: View) -> Answers:
    """Return what the nodes answered to the last polls."""
    quorum, disks = view.quorum, view.summary.disks
    exist = bool(view.summary.controllers) if quorum is None else quorum.answering > 0
    brokers = {} if disks is None else disks.brokers
    reported = (each.cluster_id for each in view.sources.values())
    return Answers(
        cluster_id=entry.id or next(filter(None, reported), None),
        controllers=() if quorum is None else (quorum.settings,),
        brokers=() if view.settings is None else tuple(view.settings.listeners.values()),
        planned=() if exist else planned_controllers(entry),
        taken=member_brokers(view.summary),
        log_dirs={id_: [dir_.path for dir_ in each.log_dirs] for id_, each in brokers.items()},
    )
