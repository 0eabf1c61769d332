"""The live feed: a follower of the controllers that mirrors their log into the spool.

Only what is in the spool, and on disk, is offered to Spark. How the follower fares is written to
the status file once a second, from a thread, so that it ages visibly when this process dies.
"""

import json
import logging
import threading
from pathlib import Path
from typing import Any, Final

from migration.source_status import SourceStatus
from streams.live.follower import Follower
from streams.live.messages import Endpoint
from streams.live.security import Security
from streams.live.spool import Spool
from streams.live.status import FollowerConfig, FollowerStatus, Reason
from streams.source.feed import Damage, now_ms, write_status

_STATUS_EVERY_S: Final = 1.0
_PATHS: Final = ("password_file", "ca_file", "cert_file", "key_file", "key_password_file")

_log: Final = logging.getLogger(__name__)


class LiveFeed:
    """One cluster's follower, its spool, and its status file."""

    def __init__(self, controllers: str, spool: Path, state: Path) -> None:
        self._state = state
        self._damage: str | None = None
        self._spool = Spool(spool)
        self._follower = Follower(_config(json.loads(controllers)), self._spool).start()
        self._stopping = threading.Event()
        self._teller = threading.Thread(target=self._tell, name="source-status", daemon=True)
        self._teller.start()

    def available(self) -> int | None:
        """What is durably in the spool."""
        return self._follower.position.next_offset

    def wait_beyond(self, offset: int | None, timeout_s: float) -> bool:
        """Wait for the follower."""
        return self._follower.wait_for(offset or 0, timeout_s)

    def retain(self, offset: int) -> None:
        """Let the spool drop what is committed."""
        self._spool.retain(offset)

    def note_damage(self, damage: Damage) -> None:
        """Keep the first damage in the status."""
        if damage is not None and self._damage is None:
            self._damage = str(damage)

    def stop(self) -> None:
        """Stop following."""
        self._stopping.set()
        self._follower.stop()
        self._teller.join(_STATUS_EVERY_S * 2)
        self._spool.close()

    def _tell(self) -> None:
        while True:
            try:
                write_status(self._state, self._status(self._follower.status()))
            except OSError as error:
                # The status ages, which is what a reader is to see when it cannot be written.
                _log.warning("the source's status cannot be written: %s", error)
            if self._stopping.wait(_STATUS_EVERY_S):
                return

    def _status(self, said: FollowerStatus) -> SourceStatus:
        return SourceStatus(
            observed_ms=now_ms(),
            last_reply_ms=said.last_reply_ms,
            next_offset=said.next_offset,
            high_watermark=said.high_watermark,
            active_controller=said.leader_id,
            leader_epoch=said.leader_epoch,
            endpoint=str(said.leader_endpoint) if said.leader_endpoint else None,
            cluster_id=said.cluster_id,
            waiting=_words(said.waiting),
            error=self._damage or _words(said.error),
        )


def _words(reason: Reason | None) -> str | None:
    return None if reason is None else reason.detail


def _config(options: dict[str, Any]) -> FollowerConfig:
    security: dict[str, Any] = {
        key: Path(value) if key in _PATHS and value is not None else value
        for key, value in options["security"].items()
    }
    return FollowerConfig(
        controllers=Endpoint.parse_list(options["bootstrap"]),
        cluster_id=options["cluster_id"],
        security=Security(**security),
    )
