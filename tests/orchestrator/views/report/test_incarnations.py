"""What became of each reg, by the records' own times, to the millisecond."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from migration.image.summary import BrokerSummary, Mode, UnfencedEarly
from migration.metadata.events import Event
from orchestrator.views.report.accounts.incarnations import Registration, registrations
from tests.scenes.night import held, kraft

AS_OF = 100_000


class Log:
    """Events of one broker's records."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def tell(
        self, kind: str, ms: int, offset: int, broker: int | None = 1, **fields: object
    ) -> "Log":
        self.events.append(
            Event(offset=offset, timestamp_ms=ms, kind=kind, broker=broker, fields=fields)
        )
        return self

    def registered(self, ms: int, offset: int, *, pending: int = 12, mode: str = "kraft") -> "Log":
        self.tell(
            "broker_registered",
            ms,
            offset,
            epoch=offset,
            mode=mode,
            fenced=True,
            pending=pending,
            log_dirs=["a", "b"],
        )
        if mode == "kraft" and pending:
            self.tell("broker_held", ms, offset, pending=pending)
        return self

    def snapshot(
        self,
        ms: int,
        *,
        skipped: int | None = 240,
        held: Sequence[int] = (),
        fenced: Sequence[int] = (),
    ) -> "Log":
        known = {"held": list(held), "fenced": list(fenced), "unregistered": []}
        return self.tell("snapshot_loaded", ms, 900, None, skipped=skipped, **known)

    def registrations(self, now: Iterable[BrokerSummary] = ()) -> list[Registration]:
        return list(registrations(self.events, now).get(1, []))


def spans(reg: Registration, of: str) -> list[tuple[int | None, int | None]]:
    return [(each.began_ms, each.ended_ms) for each in getattr(reg, of)]


def test_held_until_complete_and_fenced_until_unfenced() -> None:
    log = Log().registered(1_000, 645)
    log.tell("assignments_complete", 1_946, 680).tell("broker_unfenced", 2_151, 681)
    (reg,) = log.registrations()
    assert reg.held is not None
    assert (reg.held.began_ms, reg.held.ended_ms) == (1_000, 1_946)
    assert reg.held.span(AS_OF).duration_ms == 946
    assert spans(reg, "fenced") == [(1_000, 2_151)]
    assert reg.exposed == []
    assert (
        reg.completed_offset,
        reg.unfenced_offset,
        reg.unfenced_at,
    ) == (680, 681, 2_151)
    assert (reg.log_dirs, reg.pending, reg.epoch) == (2, 12, 645)


def test_exposed_from_the_early_unfencing_to_the_completion() -> None:
    log = Log().registered(1_000, 645).tell("broker_unfenced", 1_685, 648)
    log.tell("broker_unfenced_early", 1_685, 648, pending=12)
    log.tell("assignments_complete", 1_726, 680)
    (reg,) = log.registrations()
    (exposed,) = [each.exposure(AS_OF) for each in reg.exposed]
    assert (exposed.began_at, exposed.ended_at, exposed.duration_ms) == (1_685, 1_726, 41)
    assert exposed.pending == 12


def test_while_it_is_fenced_it_is_not_exposed() -> None:
    """Fenced again before it was complete: exposed twice, and not in between."""
    log = Log().registered(1_000, 645).tell("broker_unfenced", 1_100, 646)
    log.tell("broker_unfenced_early", 1_100, 646, pending=12)
    log.tell("broker_fenced", 1_300, 650)
    log.tell("broker_unfenced", 1_500, 655).tell("broker_unfenced_early", 1_500, 655, pending=7)
    log.tell("assignments_complete", 1_900, 680)
    (reg,) = log.registrations()
    assert spans(reg, "exposed") == [(1_100, 1_300), (1_500, 1_900)]
    assert [each.pending for each in reg.exposed] == [12, 7]
    assert spans(reg, "fenced") == [(1_000, 1_100), (1_300, 1_500)]
    assert reg.unfenced_at == 1_100


def test_the_next_registration_ends_all_that_lasted() -> None:
    log = Log().registered(1_000, 645).tell("broker_unfenced", 1_100, 646)
    log.tell("broker_unfenced_early", 1_100, 646, pending=12)
    log.registered(5_000, 700, pending=3)
    first, second = log.registrations()
    assert (first.ended_at, first.ended_offset) == (5_000, 700)
    assert first.held is not None
    assert first.held.ended_ms == 5_000
    assert spans(first, "exposed") == [(1_100, 5_000)]
    assert second.ended_at is None
    assert second.held is not None
    assert second.held.ended_ms is None
    assert second.held.span(AS_OF).duration_ms == AS_OF - 5_000


def test_fenced_until_it_comes_back_or_is_unregistered() -> None:
    log = Log().registered(1_000, 645, pending=0).tell("assignments_complete", 1_000, 645)
    log.tell("broker_unfenced", 1_200, 646).tell("broker_controlled_shutdown", 3_000, 650)
    log.tell("broker_fenced", 3_500, 651).tell("broker_unregistered", 9_000, 700)
    (reg,) = log.registrations()
    assert spans(reg, "fenced") == [(1_000, 1_200), (3_500, 9_000)]
    assert (reg.shut_down_at, reg.ended_at) == (3_000, 9_000)
    assert reg.held is None


def test_a_broker_that_told_more_of_itself_did_not_restart() -> None:
    log = Log().registered(1_000, 645).tell("broker_amended", 2_000, 660, epoch=660)
    log.tell("assignments_complete", 3_000, 680)
    (reg,) = log.registrations([kraft(1, epoch=660)])
    assert reg.epoch == 660
    assert reg.held is not None
    assert reg.held.ended_ms == 3_000


def test_directories_that_went_are_counted() -> None:
    log = Log().registered(1_000, 645).tell("log_dirs_lost", 2_000, 660, directories=["a"], left=1)
    assert log.registrations()[0].directories_lost == 1


def test_what_a_snapshot_skipped_has_no_moment() -> None:
    log = Log().registered(1_000, 645).tell("broker_unfenced", 1_100, 646)
    log.tell("broker_unfenced_early", 1_100, 646, pending=12)
    log.tell("snapshot_loaded", 60_000, 900, None, held=[], unregistered=[], skipped=240)
    (reg,) = log.registrations()
    assert reg.held is not None
    assert (reg.held.ended_ms, reg.held.exact) == (60_000, False)
    assert (reg.exposed[0].ended_ms, reg.exposed[0].exact) == (60_000, False)


def test_what_a_snapshot_says_is_held_lasts_on() -> None:
    log = Log().registered(1_000, 645)
    log.tell("snapshot_loaded", 60_000, 900, None, held=[1], unregistered=[], skipped=240)
    log.tell("assignments_complete", 61_000, 950)
    (reg,) = log.registrations()
    assert reg.held is not None
    assert (reg.held.ended_ms, reg.held.exact) == (61_000, True)


def test_a_broker_that_a_snapshot_has_no_more_is_over() -> None:
    log = Log().registered(1_000, 645)
    log.tell("snapshot_loaded", 60_000, 900, None, held=[], unregistered=[1], skipped=240)
    assert log.registrations()[0].ended_at == 60_000


def test_a_fence_that_ended_in_skipped_records_is_over() -> None:
    log = Log().registered(1_000, 645, pending=0).tell("broker_unfenced", 1_100, 646)
    log.tell("broker_fenced", 2_000, 700).snapshot(60_000)
    log.tell("broker_fenced", 70_000, 950).tell("broker_unfenced", 71_000, 951)
    (reg,) = log.registrations([kraft(1, epoch=645)])
    assert spans(reg, "fenced") == [(1_000, 1_100), (2_000, 60_000), (70_000, 71_000)]
    assert [each.exact for each in reg.fenced] == [True, False, True]


def test_what_began_in_skipped_records_has_no_beginning() -> None:
    log = Log().registered(1_000, 645, pending=40).snapshot(60_000, held=[1], fenced=[])
    (reg,) = log.registrations([held(1, epoch=645)])
    assert spans(reg, "fenced") == [(1_000, 60_000)]
    assert spans(reg, "exposed") == [(None, None)]
    assert (reg.exposed[0].pending, reg.exposed[0].exact) == (40, False)
    log = Log().registered(1_000, 645).tell("broker_unfenced", 1_100, 646)
    log.tell("broker_unfenced_early", 1_100, 646, pending=12)
    log.snapshot(60_000, held=[1], fenced=[1])
    (reg,) = log.registrations([held(1, epoch=645, fenced=True)])
    assert spans(reg, "exposed") == [(1_100, 60_000)]
    assert spans(reg, "fenced") == [(1_000, 1_100), (None, None)]


def test_what_a_snapshot_shows_is_not_of_the_registration_before_it() -> None:
    """Broker 1 registers in KRaft mode in skipped records."""
    log = Log().registered(1_000, 326, mode="migrating", pending=40)
    log.tell("broker_unfenced", 1_100, 327).snapshot(60_000, held=[1], fenced=[])
    log.tell("assignments_complete", 61_000, 9_100)
    first, second = log.registrations([kraft(1, epoch=645, registered_offset=645)])
    assert (first.mode, spans(first, "exposed")) == ("migrating", [])
    assert second.mode == "kraft"


def test_a_fence_that_a_rollback_ended_does_not_begin_again() -> None:
    log = Log().snapshot(500, skipped=None).registered(1_000, 645)
    log.tell("phase_changed", 61_000, 700, None, was="hybrid", now="rolled-back")
    (reg,) = log.registrations([kraft(1, epoch=645, fenced=True)])
    assert spans(reg, "fenced") == [(1_000, 61_000)]


def test_a_registration_that_ended_in_skipped_records_left_nothing_open() -> None:
    log = Log().registered(1_000, 645).snapshot(60_000, held=[1], fenced=[1])
    first, _ = log.registrations([held(1, epoch=800, registered_offset=800)])
    assert spans(first, "fenced") == [(1_000, 60_000)]
    assert first.held is not None
    assert (first.held.ended_ms, first.held.exact) == (60_000, False)


def test_events_of_a_registration_in_a_snapshot_are_its_course() -> None:
    log = Log().snapshot(500, skipped=None, held=[1], fenced=[])
    log.tell("broker_fenced", 1_000, 901).tell("broker_unfenced", 3_000, 902)
    log.tell("broker_unfenced_early", 3_000, 902, pending=7)
    log.tell("assignments_complete", 3_500, 940)
    for now in ([], [kraft(1, epoch=645, registered_offset=645, registered_ms=None)]):
        (reg,) = log.registrations(now)
        assert (reg.registered_at, reg.mode) == (None, "kraft")
        assert spans(reg, "fenced") == [(1_000, 3_000)]
        assert spans(reg, "exposed") == [(None, 1_000), (3_000, 3_500)]
        assert reg.held is not None
        assert (reg.held.began_ms, reg.held.ended_ms, reg.held.exact) == (None, 3_500, False)
    assert reg.epoch == 645


def test_an_event_of_another_source_makes_no_registration() -> None:
    assert Log().tell("disks_unreachable", 1_000, 901, reason="refused").registrations() == []


def test_another_metadata_log_ends_every_registration() -> None:
    log = Log().registered(1_000, 645)
    log.events.append(
        Event(offset=None, timestamp_ms=50_000, kind="metadata_log_restarted", fields={"log": 2})
    )
    log.registered(60_000, 10)
    first, second = log.registrations()
    assert (first.metadata_log, first.ended_at) == (1, 50_000)
    assert (second.metadata_log, second.registered_offset) == (2, 10)


def test_a_roll_back_ends_holds_and_fences_but_no_registration() -> None:
    log = Log().registered(1_000, 645)
    log.tell("phase_changed", 9_000, 700, None, was="hybrid", now="rolled-back")
    (reg,) = log.registrations()
    assert reg.ended_at is None
    assert reg.held is not None
    assert (reg.held.ended_ms, reg.held.exact) == (9_000, False)
    assert spans(reg, "fenced") == [(1_000, 9_000)]


def test_of_a_broker_that_no_event_registered_the_summary_tells() -> None:
    known = held(1, registered_ms=None)
    (reg,) = Log().registrations([known])
    assert (reg.registered_at, reg.epoch, reg.mode) == (
        None,
        known.epoch,
        "kraft",
    )
    assert reg.held is not None
    assert not reg.held.exact
    assert reg.held.span(AS_OF).duration_ms is None
    assert reg.pending == 64
    early = replace(known, unfenced_early=UnfencedEarly(pending=64, duration_ms=None))
    assert Log().registrations([early])[0].exposed[0].pending == 64


def test_a_broker_of_zookeeper_mode_has_no_registration() -> None:
    assert Log().registrations([kraft(1, mode=Mode.ZOOKEEPER, epoch=None)]) == []


def test_a_registration_that_only_the_summary_knows_ends_the_one_before() -> None:
    log = Log().registered(1_000, 645)
    first, second = log.registrations([kraft(1, epoch=800, registered_offset=800)])
    assert first.ended_offset == 800
    assert second.epoch == 800
