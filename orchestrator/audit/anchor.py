"""A second copy of the chain's head, which detects a truncated log.

`audit.head` is next to `audit.db` and is replaced after every append. It detects a log that was
truncated, restored from an older copy, or lost. It does not protect against a user who can write
the state directory and rewrites both files; only a head that was recorded elsewhere does.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from migration.values.foreign import load_object
from orchestrator.audit.entry import GENESIS
from orchestrator.errors import AuditError
from streams.process.pipes import read_file
from streams.state.files import replace_file


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainHead:
    """The last entry's sequence number and hash; 0 and `GENESIS` for an empty log."""

    sequence: int = 0
    hash: str = GENESIS


class Anchor:
    """The file with the head. Written only under the log's write lock."""

    def __init__(self, log: Path) -> None:
        self.path = log.with_suffix(".head")

    def read(self) -> ChainHead | None:
        """Return the stored head; None: there is no such file.

        Raises:
            AuditError: it cannot be read, or does not contain what `write` writes.
        """
        try:
            found = load_object(read_file(self.path))
            sequence, hash_ = found["sequence"], found["hash"]
        except FileNotFoundError:
            return None
        except KeyError as error:
            raise self._unreadable(f"it has no `{error.args[0]}`") from error
        except OSError as error:
            raise self._unreadable(str(error.strerror)) from error
        except ValueError as error:
            raise self._unreadable(str(error)) from error
        if type(sequence) is not int or not isinstance(hash_, str):
            raise self._unreadable("it does not contain a sequence number and a hash")
        return ChainHead(sequence=sequence, hash=hash_)

    def _unreadable(self, why: str) -> AuditError:
        return AuditError(f"{self.path} cannot be read: {why}")

    def write(self, head: ChainHead) -> None:
        """Store a head, so that it survives a power failure.

        Raises:
            AuditError: the disk is full, or the directory is not writable.
        """
        try:
            replace_file(self.path, json.dumps({"sequence": head.sequence, "hash": head.hash}))
        except OSError as error:
            raise AuditError(
                f"entry {head.sequence} of the audit trail was written, but {self.path} cannot be"
                f" written: {error}"
            ) from error
