"""KRaft controllers by their registrations (RegisterControllerRecord; ControllerRegistration)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from migration.image.brokers import Moment
from migration.image.summary import ControllerSummary
from migration.metadata.records import RegisterController


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """The latest registration of a controller; Kafka 3.9 never removes one.

    Attributes:
        registered: None: before the snapshot that was read.
    """

    id: int
    incarnation: bytes
    zk_migration_ready: bool
    registered: Moment | None
    host: str | None = None

    def summary(self) -> ControllerSummary:
        """Return its part of the summary."""
        at = self.registered
        return ControllerSummary(
            id=self.id,
            zk_migration_ready=self.zk_migration_ready,
            registered_offset=None if at is None else at.offset,
            registered_ms=None if at is None else at.timestamp_ms,
            host=self.host,
        )


def registered(record: RegisterController, at: Moment) -> Controller:
    """Return the controller that a registration record describes."""
    return Controller(
        id=record.controller_id,
        incarnation=record.incarnation_id,
        zk_migration_ready=record.zk_migration_ready,
        registered=at,
        host=record.host,
    )


def from_snapshot(
    loaded: Mapping[int, Controller], known: Mapping[int, Controller]
) -> dict[int, Controller]:
    """Return a snapshot's registrations, with the record of those that were already known.

    A snapshot does not show when a controller registered.
    """
    return {
        each.id: replace(
            each,
            registered=known[each.id].registered
            if each.id in known and known[each.id].incarnation == each.incarnation
            else None,
        )
        for each in loaded.values()
    }
