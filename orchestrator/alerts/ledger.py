"""Keeps what one receiver was told: `alerts/NAME.json` in the state directory.

It survives a kill at any point, and a power cut: what is read is what was written before the last
notice was sent, or after it.
"""

import hashlib
import json
import logging
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from orchestrator.alerts.book import Book, Told
from orchestrator.config_alerts import Receiver
from streams.state.files import sync_directory

FOLDER: Final = "alerts"
_PLACES: Final = ("url", "url_file", "routing_key_file")
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """All that is kept of one receiver.

    Attributes:
        place: which one it is, so that another one under the same name begins anew.
        told: what it was told.
        success_ms: when it last took something.
        failure_ms: when it last did not.
        why: why not; None: it took the last notice.
    """

    place: str
    told: Book = field(default_factory=dict)
    success_ms: int | None = None
    failure_ms: int | None = None
    why: str | None = None


class _Kept(BaseModel):
    model_config = ConfigDict(extra="ignore")
    place: str
    told: dict[str, Told]
    success_ms: int | None
    failure_ms: int | None
    why: str | None


class Ledger:
    """The file of one receiver."""

    def __init__(self, state_dir: Path, name: str, receiver: Receiver) -> None:
        self.path = state_dir / FOLDER / f"{name}.json"
        self._place = place(receiver)

    def read(self) -> Account:
        """Give what was kept; nothing, of a receiver that is new, or another one than before."""
        try:
            kept = _Kept.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return Account(place=self._place)
        except (OSError, ValidationError) as error:
            _log.warning("%s cannot be read, so what stands is told anew: %s", self.path, error)
            return Account(place=self._place)
        if kept.place != self._place:
            _log.warning("%s is of another receiver, so what stands is told anew", self.path)
            return Account(place=self._place)
        return Account(
            place=kept.place,
            told=kept.told,
            success_ms=kept.success_ms,
            failure_ms=kept.failure_ms,
            why=kept.why,
        )

    def write(self, account: Account) -> None:
        """Keep it.

        Raises:
            OSError: it cannot be written.
        """
        kept = _Kept(
            place=account.place,
            told=dict(account.told),
            success_ms=account.success_ms,
            failure_ms=account.failure_ms,
            why=account.why,
        )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        with fresh.open("w", encoding="utf-8") as file:
            file.write(kept.model_dump_json())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)
        sync_directory(self.path.parent)


def place(receiver: Receiver) -> str:
    """Which receiver it is, by what the configuration says of it; it tells no address."""
    told = {key: str(getattr(receiver, key, "")) for key in _PLACES}
    named = json.dumps([type(receiver).__name__, told], sort_keys=True)
    return hashlib.sha256(named.encode()).hexdigest()[:16]
