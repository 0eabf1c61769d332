"""Content is read from the end of the copy until /migration is frozen, and never when blind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.observed.facts import ZnodeGone, ZnodeSeen, ZooKeeperBlind, ZooKeeperSeen
from migration.observed.znodes import CONTROLLER, MIGRATION
from streams.zookeeper.content.reader import FROZEN_AFTER_MS, is_written_by_kraft
from streams.zookeeper.known import Known

NOW_MS = 10_000_000
KRAFT = b'{"version":2,"brokerid":3000,"timestamp":"17","kraftControllerEpoch":1}'
ZOOKEEPER = b'{"version":2,"brokerid":1,"timestamp":"17","kraftControllerEpoch":-1}'
OLD_ZOOKEEPER = b'{"version":1,"brokerid":1,"timestamp":"17"}'


def migration(offset: int) -> bytes:
    return (
        b'{"version":0,"kraft_metadata_offset":%d,"kraft_controller_id":3000,'
        b'"kraft_metadata_epoch":1,"kraft_controller_epoch":1}' % offset
    )


def seen(path: str, data: bytes, age_ms: int = 0) -> ZnodeSeen:
    # ZooKeeper's own time is of another clock, and may be anything.
    return ZnodeSeen(NOW_MS - age_ms, path, data, 1, 1, 17, 0)


SIGHT = ZooKeeperSeen(NOW_MS - 5, "h:1", 1, None, 1)


def known(
    controller: bytes | None = KRAFT, copied: bytes | None = migration(283), age_ms: int = 0
) -> Known:
    made = Known([SIGHT])
    if controller is not None:
        made.take(seen(CONTROLLER, controller))
    if copied is not None:
        made.take(seen(MIGRATION, copied, age_ms))
    return made


def test_from_the_end_of_the_copy_on() -> None:
    assert is_written_by_kraft(known(), NOW_MS)


@pytest.mark.parametrize("controller", [None, ZOOKEEPER, OLD_ZOOKEEPER, b"", b"garbage"])
def test_not_unless_a_kraft_controller_holds_zookeeper(controller: bytes | None) -> None:
    assert not is_written_by_kraft(known(controller), NOW_MS)


@pytest.mark.parametrize("copied", [None, migration(-1), migration(0), b"", b"null", b"{}"])
def test_not_before_the_copy(copied: bytes | None) -> None:
    assert not is_written_by_kraft(known(copied=copied), NOW_MS)


def test_not_while_blind_nor_before_anything_was_seen() -> None:
    blind = known().take(ZooKeeperBlind(NOW_MS, "lost"))
    assert not is_written_by_kraft(blind, NOW_MS)
    assert is_written_by_kraft(blind.take(SIGHT), NOW_MS)
    assert not is_written_by_kraft(Known(), NOW_MS)
    never = Known([seen(CONTROLLER, KRAFT), seen(MIGRATION, migration(283))])
    assert not is_written_by_kraft(never, NOW_MS)


def test_not_after_migration_was_deleted_for_a_rollback() -> None:
    assert not is_written_by_kraft(known().take(ZnodeGone(NOW_MS, MIGRATION)), NOW_MS)


def test_not_once_migration_is_frozen() -> None:
    assert is_written_by_kraft(known(age_ms=FROZEN_AFTER_MS - 1), NOW_MS)
    assert not is_written_by_kraft(known(age_ms=FROZEN_AFTER_MS), NOW_MS)


@given(controller=st.binary(), copied=st.binary())
def test_nothing_unreadable_is_taken_for_a_yes(controller: bytes, copied: bytes) -> None:
    assert not is_written_by_kraft(known(controller, migration(1)), NOW_MS)
    assert not is_written_by_kraft(known(KRAFT, copied), NOW_MS)
