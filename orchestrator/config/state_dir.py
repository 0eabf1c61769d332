"""Prepares the state directory that the configuration names."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from orchestrator.config.load import Config
from orchestrator.errors import ClaimLost, ConfigError, KraftgateError, LockHeld
from streams.state.claim import StateDirInUse, claimed, holder
from streams.state.directory import is_wrong_path, prepare, why_unusable


def prepared(config: Config) -> Path:
    """Create or check the state directory, make it private to this user, and return it.

    Raises:
        ConfigError: it cannot be created or written, or other users can change it.
        KraftgateError: its host or disk cannot serve it now.
    """
    with _refusing(config.state_dir, key(config)):
        prepare(config.state_dir)
    return config.state_dir


def key(config: Config) -> str:
    """Return the name of the key `state_dir` for messages."""
    return f"{config.path}: `state_dir`"


_STARTS_MS_MAX: Final = 120_000
"""Spark starts within less, also on a busy host; after that, silent sources have failed."""


@contextmanager
def claiming(state_dir: Path, named: str) -> Iterator[Callable[[], None]]:
    """Claim the state directory, so that no other process follows with it until the block ends.

    The block gets a function that raises ClaimLost if another process may, because the lock file
    was deleted or replaced, or another process has signed it.

    `named` is the origin of the path, for messages.

    Raises:
        ConfigError: it cannot be created or written, or other users can change it.
        KraftgateError: its host or disk cannot serve it now.
        LockHeld: another process follows with it; the message names the process.
    """
    with ExitStack() as stack:
        with _refusing(state_dir, named):
            check = stack.enter_context(claimed(state_dir))

        def check_named() -> None:
            try:
                with _refusing(state_dir, named):
                    check()
            except LockHeld as error:
                raise ClaimLost(str(error)) from error

        yield check_named


@contextmanager
def _refusing(state_dir: Path, named: str) -> Iterator[None]:
    try:
        yield
    except StateDirInUse as error:
        raise LockHeld(f"{named}: {error}") from error
    except OSError as error:
        raise unusable(state_dir, named, error) from error


def not_followed(state_dir: Path) -> str | None:
    """Return why no process updates the state directory; None: one does, or that is unknown.

    A source's own report counts as current for a while after the process that wrote it has ended.
    """
    try:
        found = holder(state_dir)
    except OSError as error:
        return why_unusable(state_dir, error)
    if found is None or found.is_running() is not False:
        return None
    return f"no `kraftgate run` is running with {state_dir}: start it"


def starting_since_ms(state_dir: Path, now_ms: int) -> int | None:
    """Return when the process that follows with the state directory started; None: not just now.

    Until its sources report, their last reports are those of the process before.
    """
    try:
        found = holder(state_dir)
    except OSError:  # unknown: its last reports are taken as they are
        return None
    if found is None or not found.is_running():
        return None
    since_ms = found.since_ms
    return since_ms if since_ms is not None and 0 <= now_ms - since_ms < _STARTS_MS_MAX else None


def unusable(state_dir: Path, named: str, error: OSError) -> KraftgateError:
    """Return the error of a wrong configuration, or of a host or disk, which may be temporary."""
    text = f"{named}: {why_unusable(state_dir, error)}"
    return ConfigError([text]) if is_wrong_path(state_dir, error) else KraftgateError(text)
