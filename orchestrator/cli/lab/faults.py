"""The commands that stop, kill, freeze and restart a lab's processes and fail directories."""

from typing import Final

import click

from orchestrator.cli.lab.control_request import BROKER, NAME, requesting

_INDEX: Final = click.argument("index", type=click.IntRange(0))

FAULTS: Final = (
    requesting(
        "restart broker-2",
        "Stop process NAME in order if it runs, and start it in the mode it was in.",
        "{name} runs",
        NAME,
    ),
    requesting(
        "stop broker-2",
        "Stop process NAME in order: a broker hands its leaderships over first.",
        "{name} has stopped",
        NAME,
    ),
    requesting("kill controller-3000", "Send SIGKILL to process NAME.", "{name} was killed", NAME),
    requesting(
        "freeze broker-2",
        "Freeze process NAME: it keeps its connections and does nothing.",
        "{name} is frozen",
        NAME,
    ),
    requesting("thaw broker-2", "Let a frozen process NAME go on.", "{name} goes on", NAME),
    requesting(
        "fail-directory 2 1",
        "Fail log directory INDEX (from 0) of broker ID; it notices in about 10 seconds.",
        "{directory} fails from now on",
        BROKER,
        _INDEX,
    ),
    requesting(
        "heal-directory 2 1",
        "Put failed log directory INDEX of broker ID back; the broker uses it from its next start.",
        "{directory} is back",
        BROKER,
        _INDEX,
    ),
)
