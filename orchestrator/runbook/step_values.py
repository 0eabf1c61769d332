"""The values of the fields of a step's texts and commands, for a plan and for an execution.

Ids and lines to paste come from the answers of the brokers and controllers. A value that no answer
gives is left out; `templates.readable` has a placeholder for it.
"""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from migration.assessment.checks.brokers import inter_broker_name
from migration.observed.probed import QUORUM_SETTINGS
from orchestrator.runbook.instance_order import Member
from orchestrator.runbook.templates import CONTROLLER_LINES, LOG_DIRS

_VOTERS, _ = QUORUM_SETTINGS
_VOTER: Final = re.compile(r"([0-9]+)@(([A-Za-z0-9_.:\[\]-]+):[0-9]+)")
_FIRST_ID: Final = 3000
_ID_STEP: Final = 1000
_LISTENER: Final = "CONTROLLER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What the nodes of a cluster answered.

    Attributes:
        cluster_id: None: unknown.
        controllers: `QUORUM_SETTINGS` of the controllers that reported them.
        brokers: `LISTENER_SETTINGS`, and `QUORUM_SETTINGS` if polled, of the brokers that reported
            them.
        planned: the configured addresses of the controllers, while no controller exists.
        taken: the ids that no controller may have.
        log_dirs: of each broker that reported its setting, in the order of it.
    """

    cluster_id: str | None = None
    controllers: Sequence[Mapping[str, str]] = ()
    brokers: Sequence[Mapping[str, str]] = ()
    planned: Sequence[str] = ()
    taken: Collection[int] = ()
    log_dirs: Mapping[int, Sequence[str]] = field(default_factory=dict)


NO_ANSWERS: Final = Answers()


def step_fields(
    *,
    cluster: str,
    phase: str,
    addresses: Mapping[str, str],
    answers: Answers,
    bind: Mapping[str, str],
    member: Member | None,
) -> dict[str, str]:
    """Return the known values of the fields of `orchestrator.runbook.templates`.

    Without a `member`, nothing has described the broker or controller in `bind`: its host and rack
    are unknown. The rack of a broker without a rack is "".
    """
    broker = bind.get("broker")
    found = {
        "cluster": cluster,
        "phase": phase,
        **addresses,
        **step_values(answers, None if broker is None else int(broker)),
        **bind,
    }
    if member is not None and member.host:
        found["host"] = member.host
    if member is not None and broker is not None:
        found["rack"] = member.rack
    return found


def step_values(answers: Answers, broker: int | None = None) -> dict[str, str]:
    """Return the known values for a step; `broker`: the one that the step is about."""
    quorum = _quorum_line(answers)
    found = {
        "cluster_id": answers.cluster_id,
        "quorum_line": quorum,
        CONTROLLER_LINES: "\n".join(_controller_lines(quorum or "")),
        "listener_map": _agreed(map(_listener_map, answers.brokers)),
        "inter_broker_listener": _agreed(map(inter_broker_name, answers.brokers)),
    }
    if broker is not None:
        found[LOG_DIRS] = shlex.join(answers.log_dirs.get(broker, ()))
    return {name: value for name, value in found.items() if value}


def _quorum_line(answers: Answers) -> str | None:
    """Return the line of the nodes that have it; before the controllers exist, a proposal."""
    for settings in (*answers.controllers, *answers.brokers):
        for name in QUORUM_SETTINGS:
            if settings.get(name):
                return f"{name}={settings[name]}"
    if not answers.planned:
        return None
    first = max(_FIRST_ID, (max(answers.taken, default=0) // _ID_STEP + 1) * _ID_STEP)
    voters = (f"{id_}@{address}" for id_, address in enumerate(answers.planned, first))
    return f"{_VOTERS}={','.join(voters)}"


def _controller_lines(quorum: str) -> Iterator[str]:
    """Yield the lines that differ between the controllers of a static quorum."""
    name, _, voters = quorum.partition("=")
    if name != _VOTERS:
        return
    for id_, address, host in _VOTER.findall(voters):
        yield f"# on {host}"
        yield f"node.id={id_}"
        yield f"listeners={_LISTENER}://{address}"


def _listener_map(settings: Mapping[str, str]) -> str:
    """Return a broker's map without the controllers' listener, which a migrating broker has."""
    parts = settings.get("listener.security.protocol.map", "").split(",")
    return ",".join(e for e in parts if e.partition(":")[0].strip().upper() != _LISTENER)


def _agreed(values: Iterable[str]) -> str | None:
    """Return the one value; None: there is none, or there are several."""
    found = set(values)
    return found.pop() if len(found) == 1 else None
