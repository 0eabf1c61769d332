"""One fact for a failed directory: what each channel reports, and how the reports are merged."""

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from migration.assessment.failed_directories import (
    Channel,
    DirectoryFailed,
    failed_directories,
    state_of,
)
from migration.comparison.result import Compared, Identity
from migration.image.summary import BrokerSummary, ClusterSummary, Mode, Phase
from migration.observed.facts import LogDirSeen
from migration.observed.log_dirs import BrokerDisks, CutOff, LogDirState
from migration.observed.znode_codec import ZkBroker
from migration.observed.zookeeper import ZooKeeperImage
from tests.migration.assessment.conditions.views import (
    NOW,
    SUMMARY,
    ZOOKEEPER_TIME,
    all_disks,
    broker,
    directory,
    disks,
    zk_brokers,
    zookeeper,
)

A, B, C = "AQEBAQEBAQEBAQEBAQEBAQ", "AgICAgICAgICAgICAgICAg", "AwMDAwMDAwMDAwMDAwMDAw"
EARLIER, LATER = NOW - 9000, NOW - 4000
CUT_OFF = CutOff(since_ms=EARLIER, replicas=2, sole=1, bytes=10, named=())
D1 = directory("/d1")
BAD_D2 = directory("/d2", error=56)
BAD_D3 = directory("/d3", error=56)


def identified(directory: str, path: str = "/d1") -> Identity:
    return Identity(broker=1, path=path, directory=directory, by="replicas", agreeing=9, others=0)


IDENTITIES = Compared(identities=(identified(A), identified(B, "/d2")))
AMBIGUOUS = Compared(identities=(identified(A), identified(A, "/d2")))
LOG_DIRS, REGISTRATION, ZNODE, HALT = (
    Channel.LOG_DIRS,
    Channel.REGISTRATION,
    Channel.ZNODE,
    Channel.HALT,
)


def in_kraft(
    *log_dirs: LogDirSeen,
    unregistered: dict[str, int | None] | None = None,
    places: Compared | None = None,
    **changes: Any,
) -> ClusterSummary:
    """A cluster of one broker; without `log_dirs`, `brokers:` is not configured."""
    one = broker(1, unregistered=unregistered or {}, log_dirs=(A,))
    described = disks(1, *log_dirs, **changes)
    return replace(
        SUMMARY,
        brokers=(one,),
        places=places or Compared(),
        disks=all_disks(described) if log_dirs or changes else None,
    )


def in_zookeeper(disks_: BrokerDisks | None = None, **changes: object) -> ClusterSummary:
    """Brokers 1 and 2 in ZooKeeper mode."""
    image: dict[str, object] = {"brokers": zk_brokers(1, 2), **changes}
    return replace(
        ZOOKEEPER_TIME,
        brokers=ZOOKEEPER_TIME.brokers[:2],
        disks=None if disks_ is None else all_disks(disks_),
        zookeeper=zookeeper(kraft=False, **image),
    )


def down(
    one: BrokerDisks | None = None, znodes: dict[int, ZkBroker] | None = None, **changes: object
) -> ClusterSummary:
    """Broker 1 in migration mode, fenced; no session in ZooKeeper."""
    migrating: BrokerSummary = broker(1, Mode.MIGRATING, **{"fenced": True, **changes})
    return replace(
        SUMMARY,
        phase=Phase.HYBRID,
        brokers=(migrating,),
        disks=None if one is None else all_disks(one),
        zookeeper=zookeeper(ever=frozenset({1}), brokers=znodes or {}),
    )


def fact(*channels: Channel, **changes: object) -> DirectoryFailed:
    return replace(DirectoryFailed(broker=1, channels=channels), **changes)  # type: ignore[arg-type]


class Case(NamedTuple):
    what: str
    summary: ClusterSummary
    found: tuple[DirectoryFailed, ...]


UNREAD: dict[str, Any] = {"unreachable": "no answer", "unreachable_since_ms": LATER}
GONE = "no longer registered"
CASES = [
    Case("all is well", SUMMARY, ()),
    # KIP-113, "Create DescribeLogDirsResponse": an error code for each directory.
    Case("DescribeLogDirs", in_kraft(D1, BAD_D2), (fact(LOG_DIRS, path="/d2"),)),
    Case(
        "another error of DescribeLogDirs is not a failure",
        in_kraft(D1, directory("/d2", error=7)),
        (),
    ),
    Case(
        "a read on the host",
        in_kraft(D1, directory("/d2", readable=False, directory_id=B), **UNREAD),
        (fact(LOG_DIRS, path="/d2", directory=B, how="not readable on its host"),),
    ),
    Case(
        "replicas cut off with a directory that vanished",
        in_kraft(D1, cut_off={"/d2": CUT_OFF}),
        (
            fact(
                LOG_DIRS,
                path="/d2",
                how="not among the directories that it reports",
                since_ms=EARLIER,
            ),
        ),
    ),
    # KIP-858, "Handling log directory failures": OfflineLogDirs in a heartbeat shrink LogDirs.
    Case(
        "a registration, without `brokers:`",
        in_kraft(unregistered={B: EARLIER}),
        (fact(REGISTRATION, directory=B, how=GONE, since_ms=EARLIER),),
    ),
    Case(
        "two directories of a registration",
        in_kraft(unregistered={B: EARLIER, C: None}),
        (
            fact(REGISTRATION, directory=B, how=GONE, since_ms=EARLIER),
            fact(REGISTRATION, directory=C, how=GONE),
        ),
    ),
    # KIP-589, "Motivation": only the broker id is in the znode (of KIP-112).
    Case(
        "a notification, without `brokers:`",
        in_zookeeper(notified={1: EARLIER}),
        (fact(ZNODE, since_ms=EARLIER),),
    ),
    Case(
        "a notification of a broker that is down since",
        in_zookeeper(notified={3: EARLIER}),
        (fact(ZNODE, broker=3, since_ms=EARLIER),),
    ),
    Case(
        "a missed notification may be any broker's",
        in_zookeeper(missed_ms=NOW),
        (fact(ZNODE, broker=None, since_ms=NOW, among=(1, 2)),),
    ),
    Case(
        "but not of one that has described its directories since",
        in_zookeeper(disks(1, answered_ms=NOW + 1), missed_ms=NOW),
        (fact(ZNODE, broker=None, since_ms=NOW, among=(2,)),),
    ),
    Case("nor of one that has restarted since", in_zookeeper(missed_ms=NOW - 1), ()),
    Case(
        "one that was read before has not restarted since, whatever ZooKeeper's clock says",
        in_zookeeper(missed_ms=NOW - 1, brokers=zk_brokers(1, 2, read_ms=NOW - 2)),
        (fact(ZNODE, broker=None, since_ms=NOW - 1, among=(1, 2)),),
    ),
    Case(
        "nor of one in KRaft mode",
        replace(
            in_zookeeper(missed_ms=NOW, brokers=zk_brokers(1)),
            brokers=(broker(1, Mode.MIGRATING), broker(2, Mode.KRAFT)),
        ),
        (fact(ZNODE, broker=None, since_ms=NOW, among=(1,)),),
    ),
    # KIP-858, "Migrating a cluster in ZK mode running with JBOD": a failure is to be reported then,
    # too. As shipped (KAFKA-16431), a broker in migration mode halts and reports nothing.
    Case("a halt, without `brokers:`", down(), (fact(HALT, how="perhaps not readable"),)),
    Case("a controlled shutdown is no halt", down(in_controlled_shutdown=True), ()),
    Case("nor is a lost session of a broker that runs", down(fenced=False), ()),
    Case("nor is fencing alone", down(znodes=zk_brokers(1)), ()),
    Case(
        "a halt after the broker described its directories",
        down(disks(1, **UNREAD)),
        (fact(HALT, how="perhaps not readable", since_ms=LATER),),
    ),
    Case(
        "its directories are read on its host",
        down(disks(1, directory("/d1", readable=True), **UNREAD)),
        (),
    ),
    Case("a KRaft broker that is down has not halted", in_kraft(D1, **UNREAD), ()),
    Case(
        "one id and one path are one directory",
        in_kraft(D1, BAD_D2, unregistered={B: LATER}, cut_off={"/d2": CUT_OFF}),
        (fact(LOG_DIRS, REGISTRATION, path="/d2", directory=B, since_ms=EARLIER),),
    ),
    Case(
        "a comparison knows the id of the path",
        in_kraft(D1, BAD_D2, unregistered={B: LATER, C: LATER}, places=IDENTITIES),
        (
            fact(LOG_DIRS, REGISTRATION, path="/d2", directory=B, since_ms=LATER),
            fact(REGISTRATION, directory=C, how=GONE, since_ms=LATER),
        ),
    ),
    Case(
        "so does meta.properties",
        in_kraft(D1, directory("/d2", error=56, directory_id=B), unregistered={C: LATER}),
        (
            fact(LOG_DIRS, path="/d2", directory=B),
            fact(REGISTRATION, directory=C, how=GONE, since_ms=LATER),
        ),
    ),
    Case(
        "an id that two paths claim is the id of neither",
        in_kraft(D1, BAD_D2, places=AMBIGUOUS),
        (fact(LOG_DIRS, path="/d2"),),
    ),
    Case(
        "unless its meta.properties has it",
        in_kraft(
            D1,
            directory("/d2", error=56, directory_id=A),
            places=Compared(identities=(identified(A),)),
        ),
        (fact(LOG_DIRS, path="/d2", directory=A),),
    ),
    Case(
        "an id that another path has in its meta.properties is not the failed path's",
        in_kraft(
            D1,
            BAD_D2,
            directory("/d3", directory_id=B),
            places=AMBIGUOUS,
            unregistered={B: LATER},
        ),
        (
            fact(REGISTRATION, directory=B, how=GONE, since_ms=LATER),
            fact(LOG_DIRS, path="/d2"),
        ),
    ),
    Case(
        "the pairs of two ids and two paths are unknown",
        in_kraft(D1, BAD_D2, BAD_D3, unregistered={B: LATER, C: LATER}),
        (
            fact(LOG_DIRS, REGISTRATION, path="/d2", since_ms=LATER),
            fact(LOG_DIRS, REGISTRATION, path="/d3", since_ms=LATER),
        ),
    ),
    Case(
        "one of two ids is the path's",
        in_kraft(D1, BAD_D2, unregistered={B: EARLIER, C: LATER}),
        (
            fact(LOG_DIRS, REGISTRATION, path="/d2", since_ms=EARLIER),
            fact(REGISTRATION, directory=C, how=GONE, since_ms=LATER),
        ),
    ),
    Case(
        "a notification means a directory that DescribeLogDirs names",
        in_zookeeper(disks(1, D1, BAD_D2), notified={1: EARLIER}),
        (fact(LOG_DIRS, ZNODE, path="/d2", since_ms=EARLIER),),
    ),
    Case(
        "or that it does not name yet",
        in_zookeeper(disks(1), notified={1: EARLIER}),
        (fact(ZNODE, since_ms=EARLIER),),
    ),
    Case(
        "a halt means a directory that is known to have failed",
        down(disks(1, D1, BAD_D2, **UNREAD)),
        (fact(LOG_DIRS, HALT, path="/d2", since_ms=LATER),),
    ),
    Case(
        "brokers are apart",
        in_zookeeper(disks(1, D1, BAD_D2), notified={2: EARLIER}, missed_ms=NOW),
        (
            fact(LOG_DIRS, path="/d2"),
            fact(ZNODE, broker=2, since_ms=EARLIER),
            fact(ZNODE, broker=None, since_ms=NOW, among=(1, 2)),
        ),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_which_directories_failed(case: Case) -> None:
    assert failed_directories(case.summary) == case.found


def test_every_channel_has_a_case_but_the_one_that_kafka_never_shipped() -> None:
    """KIP-589, "Public Interfaces": AlterReplicaState has no API key in any version."""
    produced = {each for case in CASES for one in case.found for each in one.channels}
    assert set(Channel) == produced


def test_a_halt_alone_is_an_inference() -> None:
    """KIP-589, "Compatibility, Deprecation, and Migration Plan": no znode in migration mode."""
    assert [one.is_inferred for one in failed_directories(down())] == [True]
    known = failed_directories(down(disks(1, D1, BAD_D2, **UNREAD)))
    assert [one.is_inferred for one in known] == [False]


@pytest.mark.parametrize(
    ("one", "name"),
    [
        (fact(LOG_DIRS, path="/d2", directory=B), "its log directory /d2"),
        (fact(REGISTRATION, directory=B), f"its log directory with id {B}"),
        (fact(ZNODE), "one of its log directories"),
    ],
)
def test_it_has_the_best_known_name(one: DirectoryFailed, name: str) -> None:
    assert one.name == name


def test_a_start_in_kraft_mode_ends_what_was_notified_before() -> None:
    """It writes no znode. One that still has its znode may be rolling back."""
    left, there = (zookeeper(notified={1: EARLIER}, brokers=zk_brokers(*ids)) for ids in ((), (1,)))
    well = in_kraft(D1)
    assert not failed_directories(replace(well, zookeeper=left))
    (found,) = failed_directories(replace(well, zookeeper=there))
    assert found.channels == (ZNODE,)


def test_zookeeper_that_was_never_read_shows_no_halt() -> None:
    unread = replace(down(), zookeeper=ZooKeeperImage(ever=frozenset({1})))
    assert failed_directories(unread) == ()


def test_a_directory_that_its_broker_cannot_describe_is_not_online() -> None:
    odd = disks(2, directory("/d1", error=-1), directory("/d2"))
    states = [state_of(each, odd, ()) for each in odd.log_dirs]
    assert states == [LogDirState.UNKNOWN, LogDirState.ONLINE]
