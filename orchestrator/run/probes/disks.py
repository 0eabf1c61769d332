"""Lets the running `kraftgate run` poll the brokers' log directories; why that failed."""

from pathlib import Path
from typing import Final

from migration.observed.source_status import is_current, is_silent
from orchestrator.config.state_dir import not_followed, starting_since_ms
from orchestrator.run.reader import read_status
from streams.process.clocks import wall_clock_ms
from streams.state.claim import holder
from streams.state.directory import why_unusable

_POLL_S: Final = 15.0


def why_not_polled(
    state_dir: Path, cluster: str, broker: int | None, purpose: str, timeout_s: float = _POLL_S
) -> str | None:
    """Poll the directories of a broker (None: of all) now; None: the answers are stored.

    Returns why that failed, and what to do, in a text that is the same as long as the cause is.
    `purpose` is for readers of the table of requests.
    """
    from streams.log_dirs.errors import RequestsUnusable
    from streams.log_dirs.poll_requests import poll_disks

    try:
        if poll_disks(state_dir, cluster, broker, purpose, timeout_s):
            return None
        why = _reason(state_dir, cluster)
    except RequestsUnusable as error:
        why = str(error)
    except OSError as error:  # the thread that polls must not end
        why = why_unusable(state_dir, error)
    return f"the log directories could not be polled now: {why}"


def _reason(state_dir: Path, cluster: str) -> str:
    status, now_ms = read_status(state_dir, cluster, "log_dirs.json"), wall_clock_ms()
    silent = is_silent(status, now_ms)
    if not_followed(state_dir) is not None or (silent and holder(state_dir) is None):
        return "start `kraftgate run`"
    if silent and starting_since_ms(state_dir, now_ms) is not None:
        return "`kraftgate run` starts: wait until it reports"
    if silent:
        return "restart `kraftgate run`: it does not report"
    if status.error is not None:
        return status.error
    if not is_current(status, now_ms):
        return "the brokers do not answer"
    return (
        "`kraftgate run` did not store their state in time: retry, with a longer time-out if the"
        " command has one; if that does not help, restart `kraftgate run`"
    )
