"""KRaft controllers by their registrations (RegisterControllerRecord; ControllerRegistration)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from migration.image.brokers import Moment
from migration.image.summary import ControllerSummary
from migration.metadata.records import RegisterController


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """The latest registration of a controller; Kafka 3.9 never takes one back.

    Attributes:
        registered: None: before the snapshot that was read.
    """

    id: int
    incarnation: bytes
    zk_migration_ready: bool
    registered: Moment | None
    host: str | None = None

    def summary(self) -> ControllerSummary:
        """As the summary has it."""
        at = self.registered
        return ControllerSummary(
            id=self.id,
            zk_migration_ready=self.zk_migration_ready,
            registered_offset=None if at is None else at.offset,
            registered_ms=None if at is None else at.timestamp_ms,
            host=self.host,
        )


def registered(record: RegisterController, at: Moment) -> Controller:
    """A controller that has started."""
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
    """A snapshot's registrations; when one was made is known only of those that were seen."""
    return {
        each.id: replace(
            each,
            registered=known[each.id].registered
            if each.id in known and known[each.id].incarnation == each.incarnation
            else None,
        )
        for each in loaded.values()
    }
