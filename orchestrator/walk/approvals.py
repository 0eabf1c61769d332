"""What an approval rests on: the state it was given for, and what of it has changed since."""

import getpass
import os
import pwd
import socket
from collections.abc import Mapping, Sequence

from migration.disks import DisksImage, is_bad
from migration.hazards import Hazard
from migration.summary import BrokerSummary, ClusterSummary
from orchestrator.walk.entries import Person


def basis(
    summary: ClusterSummary, hazards: Sequence[Hazard], runbook_sha256: str
) -> dict[str, str]:
    """Describe the state that a person looks at: an approval holds as long as this stays.

    Counts that change by themselves (replicas, offsets) are no part of it; the gates watch those.
    """
    told = {
        "runbook": runbook_sha256[:16],
        "phase": str(summary.phase),
        "metadata.version": str(summary.metadata_version),
    }
    disks = summary.disks or DisksImage()
    for broker in summary.brokers:
        told[f"broker {broker.id}"] = _broker(broker)
    for one in disks.brokers.values():
        bad = sorted({each.path for each in one.log_dirs if is_bad(each)} | set(one.cut_off))
        told[f"bad log directories of broker {one.id}"] = ", ".join(bad) or "none"
    told["hazards"] = "; ".join(sorted({_hazard(each) for each in hazards})) or "none"
    return told


def _broker(broker: BrokerSummary) -> str:
    fenced = "fenced" if broker.fenced else "unfenced"
    held = ", held" if broker.held else ""
    count = len(broker.log_dirs)
    return f"{broker.mode}, epoch {broker.epoch}, {fenced}{held}, {count} log directories"


def _hazard(hazard: Hazard) -> str:
    return str(hazard.kind) if hazard.broker is None else f"{hazard.kind} of {hazard.broker}"


def changed(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Say what differs, a line each; empty: the approval holds."""
    return tuple(
        f"{name}: was {then.get(name, 'not known')}, is {now.get(name, 'not known')}"
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
    )


def this_person(name: str | None = None) -> Person:
    """Who runs this command: `name` if given, else the login (behind sudo, whoever called it)."""
    login = os.environ.get("SUDO_USER") or _login()
    return Person(who=name or login, login=login, host=socket.gethostname())


def _login() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return getpass.getuser()
