"""The live feed: a follower of the controllers that mirrors their log into the spool.

Only what is in the spool, and on disk, is offered to Spark.
"""

import threading
from pathlib import Path
from typing import Final

from migration.observed.source_status import SourceStatus
from streams.metadata.feed import Damage, Reach
from streams.metadata.follower import Follower
from streams.metadata.spool import Spool
from streams.metadata.status import FollowerConfig, FollowerStatus, Reason
from streams.net.listener import parse_listener
from streams.state.doorbell import Doorbell
from streams.state.source_status import STATUS_FILE, StatusTeller, now_ms

_LOOK_EVERY_S: Final = 1.0


class LiveFeed:
    """One cluster's follower, its spool, and its status file.

    `bell`: rung at each news, for the source that waits on behalf of this one.
    """

    def __init__(self, controllers: str, spool: Path, state: Path, bell: Path | None) -> None:
        self._damage: str | None = None
        asked = parse_listener(controllers)
        config = FollowerConfig(
            controllers=asked.endpoints, cluster_id=asked.cluster_id, security=asked.security
        )
        self._spool = Spool(spool)
        self._follower = Follower(config, self._spool).start()
        self._stopping = threading.Event()
        self._teller = StatusTeller(
            state / STATUS_FILE, lambda: self._status(self._follower.status())
        )
        if bell is not None:
            ringer = threading.Thread(
                target=self._ring, args=[Doorbell(bell)], name="ringer", daemon=True
            )
            ringer.start()

    def available(self) -> Reach | None:
        """What is durably in the spool."""
        return Reach(*self._follower.position.reach)

    def wait_beyond(self, reach: Reach | None, timeout_s: float) -> bool:
        """Wait for the follower."""
        log, offset = reach or Reach(1, 0)
        return self._follower.wait_for(offset, timeout_s, log)

    def began_ms(self, log: int) -> int:
        """When the spool has that log from."""
        return self._spool.began_ms(log)

    def retain(self, reach: Reach) -> None:
        """Let the spool drop what is committed."""
        self._spool.retain(reach.offset, reach.log)

    def note_damage(self, damage: Damage) -> None:
        """Keep the first damage in the status."""
        if damage is not None and self._damage is None:
            self._damage = str(damage)

    def stop(self) -> None:
        """Stop following."""
        self._stopping.set()
        self._follower.stop()
        self._teller.stop()
        self._spool.close()

    def _ring(self, bell: Doorbell) -> None:
        known = self.available()
        while not self._stopping.is_set():
            if self.wait_beyond(known, _LOOK_EVERY_S):
                known = self.available()
                bell.ring()

    def _status(self, said: FollowerStatus) -> SourceStatus:
        return SourceStatus(
            observed_ms=now_ms(),
            last_reply_ms=said.last_reply_ms,
            log=said.log,
            next_offset=said.next_offset,
            busy_until=said.busy_until,
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
