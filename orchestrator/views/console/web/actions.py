"""The operator's actions from the page: the same commands as the CLI's, with name and reason."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from orchestrator.api.console.answers import ActionRequest, ActionResult
from orchestrator.audit.execution.entries import CONSOLE_LOGIN, Person
from orchestrator.audit.kinds import EntryKind
from orchestrator.audit.opening import open_for_entry
from orchestrator.config.load import Config
from orchestrator.errors import KraftgateError
from orchestrator.execution.allowed import Action
from orchestrator.execution.operator import control
from orchestrator.execution.operator.approve import approve
from orchestrator.execution.operator.decide import decide
from orchestrator.execution.operator.request import OperatorRequest, Shown
from orchestrator.views.console.access.refusals import Refused
from orchestrator.views.console.state.approvable import ShownBases
from streams.process.clocks import wall_clock_ms

_LOG = logging.getLogger(__name__)
_OF_EXECUTION: Final[Mapping[Action, Callable[[OperatorRequest], None]]] = {
    "pause": control.pause,
    "resume": control.resume,
    "abort": control.abort,
    "begin": control.begin,
}
_OF_CHECKPOINT: Final[Mapping[Action, Callable[[OperatorRequest, str], None]]] = {
    "approve": approve,
    "done": partial(decide, decision="done"),
    "repeat": partial(decide, decision="repeat"),
    "execute": partial(decide, decision="execute"),
    "skip": control.skip,
}
_CONFIRMED: Final = frozenset({"skip", "rollback", "abort"})
"""Actions with a request that must have the cluster's name; `approve` checks its own."""


def act(
    config: Config,
    cluster: str,
    action: Action,
    asked: ActionRequest,
    host: str,
    bases: ShownBases,
) -> ActionResult:
    """Perform an action as the command does; `host`: the address of the browser.

    `config`: that the console is served with.

    Raises:
        Refused: `checkpoint` is missing, or is not allowed for this action; or the cluster's name
            does not confirm it.
        ExecutionError: the execution does not allow the action now.
        NoDataError: the state that would be approved is stale or unknown.
        AuditError: the audit trail cannot be written.
    """
    words: list[str] = []
    said = OperatorRequest(
        config_path=config.path,
        served=config,
        cluster=cluster,
        who=asked.who,
        reason=asked.reason,
        by=Person(who=asked.who, login=CONSOLE_LOGIN, host=host),
        confirm=lambda _: asked.confirm,
        output=words.append,
        shown=Shown(
            action=action,
            at=asked.at,
            basis_id=asked.basis,
            basis=None if asked.basis is None else bases.get(asked.basis),
        ),
    )
    if action in _CONFIRMED and asked.confirm != cluster:
        raise Refused(400, "bad_request", f"confirm {action} with the cluster's name, in `confirm`")
    if action == "rollback":
        control.rollback(said, asked.checkpoint)
    elif action in _OF_EXECUTION:
        if asked.checkpoint is not None:
            what = f"{action} concerns the whole execution: remove `checkpoint`"
            raise Refused(400, "bad_request", what)
        _OF_EXECUTION[action](said)
    elif asked.checkpoint is None:
        raise Refused(400, "bad_request", f"{action} needs the `checkpoint` that it concerns")
    else:
        _OF_CHECKPOINT[action](said, asked.checkpoint)
    return ActionResult(said=tuple(words))


def record_wrong_token(config: Config, host: str, count: int) -> None:
    """Append to the audit trail of each cluster that the console received a wrong token.

    `count`: the number of wrong tokens from this address within the last minute.
    """
    _LOG.warning("the console: wrong token from %s, %d within a minute", host, count)
    try:
        with open_for_entry(config) as log:
            for each in config.clusters:
                log.append(
                    each.name,
                    EntryKind.WRONG_CONSOLE_TOKEN,
                    {"host": host, "count": count},
                    wall_clock_ms(),
                )
    except KraftgateError as error:
        _LOG.error("the console: the wrong token is not in the audit trail: %s", error)
