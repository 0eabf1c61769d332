"""A real ZooKeeper that stops, dies, freezes or rejects makes the view stale and loses no fact."""

import json
import shutil
import threading
import time
from unittest.mock import Mock

import pytest
from kazoo.security import OPEN_ACL_UNSAFE, make_acl, make_digest_acl

from migration.observed import znodes
from migration.observed.facts import (
    NotificationsMissed,
    ZnodeGone,
    ZnodeSeen,
    ZooKeeperBlind,
    ZooKeeperFact,
    ZooKeeperSeen,
)
from migration.observed.topic_facts import ZkTopicsFound
from orchestrator.lab import Lab, LabSpec
from streams.zookeeper import all_znodes, watcher
from streams.zookeeper.known import Known
from tests.streams.zookeeper.watching import (
    CLUSTER,
    EVENT,
    SESSION_TIMEOUT_MS,
    Watched,
    Writer,
    accounted,
    data,
    end_session,
    watching,
)

pytestmark = pytest.mark.lab

ZOOKEEPER = "zookeeper"


def shape(facts: tuple[ZooKeeperFact, ...]) -> set[tuple[str, str]]:
    def about(fact: ZooKeeperFact) -> str:
        match fact:
            case ZnodeSeen() | ZnodeGone():
                return fact.path
            case NotificationsMissed():
                return f"{fact.first}+{fact.number}"
        return ""

    shapes = [(type(fact).__name__, about(fact)) for fact in facts]
    assert len(shapes) == len(set(shapes)), shapes
    return set(shapes)


def test_a_new_watcher_goes_on_where_the_facts_end(kafka: Writer, connect: str) -> None:
    kafka.create(znodes.NOTIFICATIONS)
    kafka.create(znodes.CONTROLLER, b"1")
    kafka.create(znodes.CONTROLLER_EPOCH, b"1")
    kafka.create(f"{znodes.BROKER_IDS}/1", b"{}")
    kafka.create(f"{znodes.BROKER_IDS}/2", b"{}")
    with watching(connect) as before:
        before.until_seen()
        kafka.notify()
        before.until_of(f"{EVENT}0000000000", 1)
    for _ in range(3):
        kafka.delete(kafka.notify())
    kafka.notify()
    kafka.set(znodes.CONTROLLER, b"2")
    kafka.delete(f"{znodes.BROKER_IDS}/2")
    kafka.create(f"{znodes.BROKER_IDS}/3", b"{}")
    with watching(connect, before.known()) as after:
        seen = after.until_seen()
        told = after.appended()
    assert seen.blind_since_ms == before.until_blind().seen_ms
    assert shape(told) == {
        ("ZnodeSeen", znodes.CONTROLLER),
        ("ZnodeGone", f"{znodes.BROKER_IDS}/2"),
        ("ZnodeSeen", f"{znodes.BROKER_IDS}/3"),
        ("NotificationsMissed", "1+3"),
        ("ZnodeSeen", f"{EVENT}0000000004"),
        ("ZkTopicsFound", ""),
        ("ZooKeeperSeen", ""),
    }
    assert accounted((*before.appended(), *told)) == dict.fromkeys(range(5), 1)


def test_a_watcher_that_died_without_a_word_was_blind_since(kafka: Writer, connect: str) -> None:
    kafka.create(znodes.CONTROLLER, b"1")
    with watching(connect) as before:
        before.until_seen()
        killed = before.known()
        killed_ms = killed.latest_ms
    with watching(connect, killed) as after:
        seen = after.until_seen()
        assert after.kinds() == [ZooKeeperBlind, ZkTopicsFound, ZooKeeperSeen]
        assert seen.blind_since_ms == killed_ms


def test_zookeeper_killed_and_started_again(lab: Lab, kafka: Writer, connect: str) -> None:
    kafka.create(znodes.NOTIFICATIONS)
    kafka.create(znodes.CONTROLLER, b"1")
    with watching(connect) as watched:
        watched.until_seen()
        start = len(watched.appended())
        lab.kill(ZOOKEEPER)
        blind = watched.until_blind()
        watched.until_unreachable("refused")
        assert not watched.watcher.known.sees
        lab.start_zookeeper()
        kafka.set(znodes.CONTROLLER, b"2")
        kafka.notify()
        seen = watched.until_seen(2)
        assert seen.blind_since_ms == blind.seen_ms
        watched.until_of(f"{EVENT}0000000000", 1)
        assert data(watched.until_of(znodes.CONTROLLER, 2)) == b"2"
        kinds = watched.kinds(start)
        assert (kinds.count(ZooKeeperBlind), kinds.count(ZooKeeperSeen)) == (1, 1)
        assert accounted(watched.appended()) == {0: 1}


def test_zookeeper_frozen_past_the_session_timeout(lab: Lab, kafka: Writer, connect: str) -> None:
    """After ZooKeeper resumes, it depends on a race whether the session survives."""
    kafka.create(znodes.NOTIFICATIONS)
    kafka.create(znodes.CONTROLLER, b"1")
    kafka.notify()
    with watching(connect) as watched:
        watched.until_seen()
        start = len(watched.appended())
        lab.freeze(ZOOKEEPER)
        try:
            blind = watched.until_blind()
            watched.until_unreachable("gives no session")
            time.sleep(SESSION_TIMEOUT_MS / 1000)  # so that all of it passes frozen
        finally:
            lab.thaw(ZOOKEEPER)
        seen = watched.until_seen(2)
        assert watched.kinds(start) == [ZooKeeperBlind, ZkTopicsFound, ZooKeeperSeen]
        assert seen.blind_since_ms == blind.seen_ms
        kafka.set(znodes.CONTROLLER, b"2")
        kafka.notify()
        watched.until_of(znodes.CONTROLLER, 2)
        watched.until_of(f"{EVENT}0000000001", 1)


def test_a_frozen_zookeeper_that_kazoo_does_not_notice(
    lab: Lab, kafka: Writer, connect: str
) -> None:
    """kazoo counts a sent request as a ping, and so may detect the loss late or never."""
    kafka.create(znodes.CONTROLLER, b"1")
    with watching(connect) as watched:
        watched.until_seen()
        client = watched.watcher._client
        assert client is not None
        client._connection.ping_outstanding = Mock(is_set=lambda: False)
        lab.freeze(ZOOKEEPER)
        try:
            assert "has not answered for" in watched.until_blind().why
        finally:
            lab.thaw(ZOOKEEPER)
        watched.until_seen(2)
        kafka.set(znodes.CONTROLLER, b"2")
        watched.until_of(znodes.CONTROLLER, 2)


def test_a_session_that_expires_is_followed_by_another(kafka: Writer, connect: str) -> None:
    kafka.create(znodes.NOTIFICATIONS)
    kafka.create(znodes.CONTROLLER, b"1")
    with watching(connect) as watched:
        first = watched.until_seen()
        start = len(watched.appended())
        client = watched.watcher._client
        assert client is not None
        end_session(connect, client.client_id)
        blind = watched.until_blind()
        seen = watched.until_seen(2)
        assert watched.kinds(start) == [ZooKeeperBlind, ZkTopicsFound, ZooKeeperSeen]
        assert seen.session != first.session
        assert seen.blind_since_ms == blind.seen_ms
        kafka.set(znodes.CONTROLLER, b"2")
        kafka.notify()
        watched.until_of(znodes.CONTROLLER, 2)
        watched.until_of(f"{EVENT}0000000000", 1)


def test_zookeeper_absent_at_the_start(lab: Lab, connect: str) -> None:
    lab.kill(ZOOKEEPER)
    with watching(connect) as watched:
        watched.until_unreachable()
        status = watched.watcher.status()
        assert (status.last_reply_ms, status.endpoint) == (None, None)
        assert not watched.watcher.known.sees
        assert watched.appended() == ()
        lab.start_zookeeper()
        assert watched.until_seen().blind_since_ms is None
        watched.until(lambda: watched.watcher.status().last_reply_ms is not None)


def test_a_stop_does_not_wait_for_a_zookeeper_that_is_absent(lab: Lab, connect: str) -> None:
    lab.kill(ZOOKEEPER)
    before = set(threading.enumerate())
    with watching(connect) as watched:
        watched.until_unreachable()
    lab.start_zookeeper()
    assert [t.name for t in set(threading.enumerate()) - before if "zookeeper" in t.name] == []
    assert watched.appended() == ()


def test_facts_that_cannot_be_kept_are_told_later_and_once(kafka: Writer, connect: str) -> None:
    kafka.create(znodes.CLUSTER_ID, CLUSTER)
    watched = Watched(connect)
    watched.refuse = OSError("disk full")
    watched.watcher.start()
    try:
        kafka.create(znodes.CONTROLLER, b"1")
        error = watched.until(lambda: watched.watcher.status().error)
        assert error is not None
        assert error.startswith("the state of ZooKeeper cannot be stored")
        assert "disk full" in error
        watched.refuse = None
        watched.until_seen()
        watched.until_of(znodes.CONTROLLER, 1)
        assert watched.watcher.status().error is None
    finally:
        watched.watcher.stop()
    assert len(watched.of(znodes.CONTROLLER)) == 1


def test_an_unexpected_error_is_told_and_everything_begun_again(
    kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "_AGAIN_S", 0.1)
    kafka.create(znodes.CLUSTER_ID, CLUSTER)
    with watching(connect) as watched:
        first = watched.until_seen()
        found = watched.watcher._emitter.update
        monkeypatch.setattr(watched.watcher._emitter, "update", Mock(side_effect=[KeyError("x")]))
        kafka.create(znodes.CONTROLLER, b"1")
        blind = watched.until_blind()
        error = watched.until(lambda: watched.watcher.status().error)
        assert error is not None
        assert "KeyError" in error
        assert "KeyError" in blind.why
        monkeypatch.setattr(watched.watcher._emitter, "update", found)
        seen = watched.until_seen(2)
        assert seen.session != first.session
        assert data(watched.until_of(znodes.CONTROLLER, 1)) == b"1"
        watched.until(lambda: watched.watcher.status().error is None)


def test_a_refusal_is_named_and_no_view_is_claimed(
    kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "_AGAIN_S", 0.1)
    kafka.create(znodes.CLUSTER_ID, CLUSTER)
    kafka.client.add_auth("digest", "kafka:secret")
    kafka.create(znodes.CONTROLLER, b"1", acl=[make_digest_acl("kafka", "secret", all=True)])
    with watching(connect) as watched:
        error = watched.until(lambda: watched.watcher.status().error)
        assert error is not None
        assert error.startswith("ZooKeeper refused to show")
        assert "/controller: NoAuth" in error
        assert ZooKeeperSeen not in watched.kinds()
        kafka.client.set_acls(znodes.CONTROLLER, [make_acl("world", "anyone", all=True)])
        watched.until_seen()
        watched.until(lambda: watched.watcher.status().error is None)
        assert data(watched.of(znodes.CONTROLLER)[0]) == b"1"


@pytest.mark.parametrize(
    ("hidden", "path"),
    [
        (znodes.CONTROLLER, znodes.CONTROLLER),
        (f"{znodes.BROKER_IDS}/1", f"{znodes.BROKER_IDS}/1"),
        (znodes.BROKER_IDS, f"{znodes.BROKER_IDS}/1"),
    ],
)
def test_no_change_is_lost_while_an_acl_hides_a_znode(
    kafka: Writer, connect: str, hidden: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZooKeeper drops the event of a watch whose session may no longer read the znode."""
    monkeypatch.setattr(all_znodes, "_REREAD_S", 0.1)
    monkeypatch.setattr(watcher, "_AGAIN_S", 0.1)
    closed = [make_digest_acl("kafka", "secret", all=True)]
    kafka.client.add_auth("digest", "kafka:secret")
    kafka.create(path, b"1")
    with watching(connect) as watched:
        watched.until_seen()
        kafka.client.set_acls(hidden, closed)
        watched.until(lambda: f"{hidden}: NoAuth" in (watched.watcher.status().error or ""))
        assert not watched.watcher.known.sees
        kafka.set(path, b"2")
        kafka.client.set_acls(hidden, OPEN_ACL_UNSAFE)
        assert data(watched.until_of(path, 2)) == b"2"
        watched.until(lambda: watched.watcher.known.sees)
        kafka.client.set_acls(hidden, closed)
        kafka.delete(path)
        assert isinstance(watched.until_of(path, 3), ZnodeGone)
        kafka.create(path, b"3")
        kafka.client.set_acls(hidden, OPEN_ACL_UNSAFE)
        assert data(watched.until_of(path, 4)) == b"3"
        watched.until(lambda: watched.watcher.known.sees)
    kafka.delete(path)


def test_a_server_of_another_ensemble_is_rejected() -> None:
    """Both were set up alike, so that all transactions and versions are the same."""
    with Lab(LabSpec(brokers=0)) as one, Lab(LabSpec(brokers=0)) as other:
        labs = {id_ * 22: each for id_, each in (("A", one), ("B", other))}
        for id_, each in labs.items():
            each.start_zookeeper()
            writer = Writer(each.zookeeper_connect)
            writer.create(znodes.CLUSTER_ID, CLUSTER.replace(b"A" * 22, id_.encode()))
            writer.create(znodes.CONTROLLER, id_.encode())
            writer.close()
        with watching(f"{one.zookeeper_connect},{other.zookeeper_connect}") as watched:
            watched.until_seen()
            followed = watched.until(lambda: watched.watcher.status().cluster_id or "")
            (another,) = labs.keys() - {followed}
            labs[followed].kill(ZOOKEEPER)
            watched.until(lambda: watched.watcher.status().cluster_id == another)
            assert f"/cluster/id is {another}, but" in str(watched.watcher.status().error)
        with watching(labs[another].zookeeper_connect, watched.known()) as again:
            again.until(lambda: again.watcher.status().cluster_id == another)
        assert again.appended() == ()
        assert data(watched.until_of(znodes.CONTROLLER, 1)) == followed.encode()
        assert watched.kinds()[-1] is ZooKeeperBlind


def test_a_zookeeper_that_lost_its_data_is_followed(lab: Lab, connect: str) -> None:
    """ZooKeeper would reject kazoo forever: it has seen a later transaction than the last one."""
    writer = Writer(connect)
    writer.create(znodes.CONTROLLER, json.dumps({"brokerid": 1}).encode())
    for _ in range(3):
        writer.notify()
    with watching(connect) as watched:
        watched.until_seen()
        writer.close()
        lab.kill(ZOOKEEPER)
        watched.until_blind()
        shutil.rmtree(next(lab.home.glob("**/version-2")))
        lab.start_zookeeper()
        watched.until_seen(2)
        assert isinstance(watched.until_of(znodes.CONTROLLER, 2), ZnodeGone)
        assert isinstance(watched.until_of(znodes.NOTIFICATIONS, 2), ZnodeGone)
        assert Known(watched.appended()).next_notification == 0
        assert Known(watched.appended()).below(znodes.NOTIFICATIONS) == set()
        watched.until(lambda: watched.watcher._ahead._watches)
