"""`kraftgate replay`: run the job over a metadata log's files and print what it came to."""

from pathlib import Path
from typing import Final

from migration.assessment.waits.cluster import nothing_seen
from orchestrator.api.status import cluster_json
from orchestrator.errors import DamagedFileError
from orchestrator.output.printing import echo, echo_json
from orchestrator.output.rich_console import console
from orchestrator.run.job import replayed
from orchestrator.views.terminal.closing import closing, event_lines

CLUSTER: Final = "replay"


def replay(path: Path, state_dir: Path | None, *, as_json: bool) -> None:
    """Print the state at the end of the files.

    Raises:
        DamagedFileError: they are damaged; what was read before is printed still.
        KraftgateError: there is no metadata log, or the job failed.
    """
    outcome = replayed(path, state_dir, CLUSTER)
    summary = nothing_seen(CLUSTER) if outcome.summary is None else outcome.summary
    if as_json:
        state = cluster_json(summary, outcome.events, complete=outcome.damage is None)
        echo_json(state)
    else:
        for line in event_lines(outcome.events):
            echo(line)
        echo()
        console().print(closing(summary))
    if outcome.damage is not None:
        raise DamagedFileError(outcome.damage)
