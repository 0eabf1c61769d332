"""The state that an approval is given for, and the changes that expire it."""

import os
import pwd
import re
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from migration.assessment.failed_directories import failed_directories
from migration.assessment.hazards import Hazard
from migration.image.summary import BrokerSummary, ClusterSummary
from migration.metadata.versions import name_of
from orchestrator.audit.execution.entries import Person

_LOGIN_UID: Final = Path("/proc/self/loginuid")
_NOBODY_LOGGED_IN: Final = 2**32 - 1


def basis(
    summary: ClusterSummary, hazards: Sequence[Hazard], runbook_sha256: str
) -> dict[str, str]:
    """Describe the state that an operator approves; the approval is in force until it changes.

    Counts that change by themselves (replicas, offsets) are not included; the gates watch those.
    """
    found = {
        "runbook": runbook_sha256[:16],
        "phase": str(summary.phase),
        "metadata.version": _version(summary.metadata_version),
    }
    for broker in summary.brokers:
        found[f"broker {broker.id}"] = _broker(broker)
    failed = [each for each in failed_directories(summary) if not each.is_inferred]
    named = {id_ for each in failed for id_ in (each.broker, *each.among)}
    for id_ in {*summary.broker_disks, *named} - {None}:
        bad = [each.path or each.name for each in failed if id_ in (each.broker, *each.among)]
        found[f"bad log directories of broker {id_}"] = ", ".join(bad) or "none"
    found["hazards"] = "; ".join(sorted({_hazard(each) for each in hazards})) or "none"
    return found


def _version(level: int | None) -> str:
    return "not known" if level is None else name_of(level)


def _broker(broker: BrokerSummary) -> str:
    fenced = "fenced" if broker.fenced else "unfenced"
    held = ", held" if broker.held else ""
    count = len(broker.log_dirs)
    return f"{broker.mode}, epoch {broker.epoch}, {fenced}{held}, {count} log directories"


def _hazard(hazard: Hazard) -> str:
    return str(hazard.kind) if hazard.broker is None else f"{hazard.kind} of {hazard.broker}"


def changed(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Return the differences, a line each; empty: the approval is in force."""
    return tuple(
        f"{name}: was {then.get(name, 'not known')}, is {now.get(name, 'not known')}"
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
    )


def this_person(name: str | None = None) -> Person:
    """Return who logged in, by the kernel's login uid; the environment can be forged.

    The login uid (`audit_get_loginuid`) is set at a login, and `sudo` and `su` do not change it. If
    there is none (a service, a container), the process's own uid counts.

    Args:
        name: a comment on who it is.
    """
    uid = _login_uid()
    uid = os.getuid() if uid is None else uid
    login = _login(uid)
    sudo = os.environ.get("SUDO_UID", "")
    return Person(
        who=name or login,
        login=login,
        host=socket.gethostname(),
        uid=uid,
        sudo_uid=int(sudo) if re.fullmatch("[0-9]{1,10}", sudo) else None,
    )


def _login_uid() -> int | None:
    try:
        uid = int(_LOGIN_UID.read_text("ascii"))
    except (OSError, ValueError):
        return None
    return None if uid == _NOBODY_LOGGED_IN else uid


def _login(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
