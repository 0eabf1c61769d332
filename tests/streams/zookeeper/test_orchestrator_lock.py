"""A lock in a real ZooKeeper admits one orchestrator at a time, even if one is killed or frozen."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kazoo.exceptions import NoAuthError
from kazoo.security import Permissions

from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.errors import LockError, LockHeld
from orchestrator.execution.locks.store_lock import Held, NotHeld
from orchestrator.execution.locks.zookeeper_lock import FENCE, HOME, LOCK, STEP, ZooKeeperLock
from orchestrator.lab import Lab, LabSpec
from orchestrator.process.owner import Owner
from streams.net.security import Security
from streams.process.clocks import boot_clock_s
from streams.zookeeper import calls
from streams.zookeeper.calls import Transaction, Znode
from streams.zookeeper.client import Client
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.errors import NoAnswer
from tests.streams.zookeeper.orchestrators import SINCE_MS, another, expire, orchestrating
from tests.streams.zookeeper.watching import SESSION_TIMEOUT_MS, Writer

pytestmark = pytest.mark.lab

ZOOKEEPER = "zookeeper"
_WAIT_S = 10 * SESSION_TIMEOUT_MS / 1000


def until(ask: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + _WAIT_S
    while not ask():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def reacquired(lock: ZooKeeperLock, connect_s: float = 2.0) -> bool:
    try:
        lock.acquire(connect_s=connect_s)
    except LockError:
        return False
    return True


def is_held(lock: ZooKeeperLock) -> bool:
    return isinstance(lock.check(), Held)


def test_one_gets_it_and_the_other_is_told_who_has_it(kafka: Writer, connect: str) -> None:
    with orchestrating(connect, "anna", 4711) as anna, orchestrating(connect, "bert") as bert:
        token = anna.acquire()
        checked_s = boot_clock_s()
        found = anna.check()
        assert isinstance(found, Held)
        assert found.token == token
        assert checked_s < found.until_s < checked_s + SESSION_TIMEOUT_MS / 1000
        who = "process 4711 of anna on host-of-anna, since 2026-11-18 11:06:40 UTC"
        with pytest.raises(LockHeld, match=who):
            bert.acquire()
        assert bert.check() == NotHeld(why="it was not taken")
        assert is_held(anna)
        assert anna.acquire() == anna.acquire()
        del kafka


def test_a_released_lock_is_free_at_once_and_its_token_never_comes_again(
    kafka: Writer, connect: str
) -> None:
    """Holds even if another client deletes all znodes of Kraftgate."""
    tokens = []
    for user in ("anna", "bert", "anna"):
        with orchestrating(connect, user) as lock:
            tokens.append(lock.acquire())
            tokens.append(lock.acquire())
            lock.release()
            assert lock.check() == NotHeld(why="it was not taken")
            tokens.append(lock.acquire())
    kafka.delete(HOME)
    with orchestrating(connect) as lock:
        tokens.append(lock.acquire())
    assert tokens == sorted(tokens)
    assert len(set(tokens)) == 7


def test_nothing_else_is_written(kafka: Writer, connect: str) -> None:
    def tree(path: str) -> list[str]:
        children = [f"{path.rstrip('/')}/{name}" for name in kafka.client.get_children(path)]
        return sorted([*children, *(each for child in children for each in tree(child))])

    kafka.create("/brokers/ids")
    with orchestrating(connect) as lock:
        lock.acquire()
        assert tree("/") == ["/brokers", "/brokers/ids", HOME, FENCE, LOCK]
    assert tree("/") == ["/brokers", "/brokers/ids", HOME, FENCE]


@pytest.mark.usefixtures("kafka")
def test_a_chroot_that_is_not_there_is_not_made(lab: Lab) -> None:
    wrong = f"{lab.zookeeper_connect}/kafca"
    with orchestrating(wrong) as lock, pytest.raises(LockError, match="has no /kafca"):
        lock.acquire()
    root = Writer(lab.zookeeper_connect)
    assert not root.client.exists("/kafca")
    root.close()


@pytest.mark.usefixtures("kafka")
def test_of_a_killed_one_it_is_free_when_its_session_ends(connect: str) -> None:
    with orchestrating(connect, "bert") as bert:
        with another(connect) as killed:
            token = killed.ask("acquire")["token"]
            killed.process.kill()
            killed.process.wait()
            with pytest.raises(LockHeld, match="it has ended, and its session will soon"):
                bert.acquire()
            assert bert.acquire(wait_s=_WAIT_S) > token
        assert is_held(bert)


@pytest.mark.usefixtures("kafka")
def test_a_frozen_one_does_not_hold_it_when_it_comes_back(connect: str) -> None:
    """The times for which it was promised the lock do not overlap with another's."""
    with orchestrating(connect, "bert") as bert, another(connect) as frozen:
        token = frozen.ask("acquire")["token"]
        until_s = frozen.ask("check")["until_s"]
        frozen.freeze()
        taken = bert.acquire(wait_s=_WAIT_S)
        assert boot_clock_s() > until_s
        assert taken > token
        frozen.thaw()
        for _ in range(3):
            assert "until_s" not in frozen.ask("check")
        assert "bert" in frozen.ask("acquire")["refused"]
        assert "bert on host-of-bert" in frozen.ask("check")["why"]
        assert is_held(bert)


@pytest.mark.usefixtures("kafka")
def test_an_expired_session_is_no_lock_until_it_is_taken_again(connect: str) -> None:
    """The token is unchanged, because no other orchestrator held the lock."""
    with orchestrating(connect) as lock:
        token = lock.acquire()
        expire(lock, connect)
        until(lambda: not is_held(lock))
        until(lambda: lock._zookeeper.connected)
        found = lock.check()
        assert isinstance(found, NotHeld)
        assert "session has expired" in found.why
        until(lambda: reacquired(lock))
        again = lock.acquire()
        assert again == token
        assert is_held(lock)


@pytest.mark.usefixtures("kafka")
def test_one_that_lost_it_to_another_gets_a_new_token(connect: str) -> None:
    with orchestrating(connect, "anna") as anna, orchestrating(connect, "bert") as bert:
        token = anna.acquire()
        expire(anna, connect)
        between = bert.acquire(wait_s=_WAIT_S)
        until(lambda: anna._zookeeper.connected)
        found = anna.check()
        assert isinstance(found, NotHeld)
        assert "bert on host-of-bert" in found.why
        assert "took over" in found.why
        bert.release()
        after = anna.acquire()
        assert token < between < after
        assert is_held(anna)


@pytest.mark.usefixtures("kafka")
def test_one_that_was_there_for_a_moment_only_makes_the_token_new_too(
    connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the read of the fence and the acquisition of the lock."""
    with orchestrating(connect, "anna") as anna, orchestrating(connect, "bert") as bert:
        token = anna.acquire()
        expire(anna, connect)
        until(lambda: not is_held(anna))
        look = anna._fence

        def look_and_lose() -> Znode:
            found = look()
            monkeypatch.undo()
            bert.acquire(wait_s=_WAIT_S)
            bert.release()
            return found

        monkeypatch.setattr(anna, "_fence", look_and_lose)
        until(lambda: reacquired(anna))
        after = anna.check()
        assert isinstance(after, Held)
        assert after.token > token


def test_a_zookeeper_that_lost_its_data(
    lab: Lab, kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZooKeeper would reject the old client forever; a new client acquires the lock."""
    monkeypatch.setattr(calls, "_UNCONNECTED_S_MAX", 2.0)
    with orchestrating(connect) as lock:
        lock.acquire()
        kafka.close()
        lab.kill(ZOOKEEPER)
        until(lambda: not is_held(lock))
        shutil.rmtree(next(lab.home.glob("**/version-2")))
        lab.start_zookeeper()
        again = Writer(connect)
        again.client.ensure_path("/")
        again.close()
        until(lambda: reacquired(lock))
        assert is_held(lock)


@pytest.mark.usefixtures("kafka")
@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_zookeeper_away_and_back(lab: Lab, connect: str, how: str) -> None:
    """The lock is lost, then held again with the same token: no other orchestrator had it."""
    with orchestrating(connect) as lock:
        token = lock.acquire()
        (lab.kill if how == "killed" else lab.freeze)(ZOOKEEPER)
        until(lambda: not is_held(lock))
        (lab.start_zookeeper if how == "killed" else lambda: lab.thaw(ZOOKEEPER))()
        until(lambda: reacquired(lock))
        found = lock.check()
        assert isinstance(found, Held)
        assert found.token == token


def test_an_unreachable_zookeeper_gives_no_lock(
    lab: Lab, kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The previous owner reacquires its lock in a new session while the old one exists."""
    with orchestrating(connect) as lock:
        token = lock.acquire()
        lab.kill(ZOOKEEPER)
        until(lambda: not is_held(lock))
        monkeypatch.setattr(calls, "_UNCONNECTED_S_MAX", 0.0)
        with pytest.raises(LockError, match="refused"):
            lock.acquire(connect_s=5.0)
        assert not is_held(lock)
        lab.start_zookeeper()
        monkeypatch.undo()
        until(lambda: reacquired(lock, connect_s=0.0))
        found = lock.check()
        assert isinstance(found, Held)
        assert found.token == token
        data, stat = kafka.client.get(LOCK)
        assert stat.ephemeralOwner == lock._zookeeper.session_id
        assert b"anna" in data


@pytest.mark.usefixtures("kafka")
def test_a_lock_whose_answer_was_lost_is_taken_back(connect: str) -> None:
    with orchestrating(connect) as lock:
        token = lock.acquire()
        lock._token = None  # as if the transaction's answer had not come
        assert not is_held(lock)
        assert lock.acquire() == token
        assert is_held(lock)


@pytest.mark.parametrize("path", [LOCK, FENCE])
def test_who_removes_its_znodes_takes_the_lock_away(kafka: Writer, connect: str, path: str) -> None:
    with orchestrating(connect) as lock:
        lock.acquire()
        kafka.delete(path)
        found = lock.check()
        assert isinstance(found, NotHeld)
        assert "deleted" in found.why


def test_a_fence_that_was_made_again_is_not_the_same_although_its_version_is(
    kafka: Writer, connect: str
) -> None:
    """The error for NoAuth suggests deleting the home while nothing uses it."""
    with orchestrating(connect, "anna") as anna, orchestrating(connect, "bert") as bert:
        token = anna.acquire()
        expire(anna, connect)
        versions = [kafka.client.get(FENCE)[1].version]
        kafka.client.delete(HOME, recursive=True)
        between = bert.acquire(wait_s=_WAIT_S)
        versions += [kafka.client.get(FENCE)[1].version]
        assert versions == [1, 1]
        until(lambda: anna._zookeeper.connected)
        found = anna.check()
        assert isinstance(found, NotHeld)
        assert "bert on host-of-bert" in found.why
        bert.release()
        assert token < between < anna.acquire()


def test_a_lock_of_somebody_elses_making_is_theirs(kafka: Writer, connect: str) -> None:
    kafka.create(LOCK, b"somebody's own")
    with orchestrating(connect) as lock, pytest.raises(LockHeld, match="somebody's own"):
        lock.acquire()


def step_of(user: str, since_ms: int = SINCE_MS) -> RunningStep:
    return RunningStep(
        checkpoint="brokers-kraft[1]",
        run="7-brokers-kraft[1]-1",
        host=f"host-of-{user}",
        home=user,
        since_ms=since_ms,
        ends_ms=since_ms + 60_000,
    )


def test_a_recorded_step_outlives_its_orchestrator_and_lets_no_other_begin(
    kafka: Writer, connect: str
) -> None:
    step = step_of("anna")
    with orchestrating(connect, "anna") as anna:
        anna.acquire()
        assert anna.running() is None
        assert isinstance(anna.begin(step), Held)
        assert is_held(anna)
        assert anna.running() == step
        assert isinstance(anna.begin(step_of("anna", SINCE_MS + 1)), NotHeld)
    with orchestrating(connect, "bert") as bert:
        bert.acquire()
        assert bert.running() == step
        refused = bert.begin(step_of("bert"))
        assert isinstance(refused, NotHeld)
        assert "the step of brokers-kraft[1], begun on host-of-anna" in refused.why
        assert bert.running() == step
        with orchestrating(connect, "anna") as anna:
            with pytest.raises(LockHeld):
                anna.acquire()
            assert anna.running() == step
            anna.end(step_of("anna", SINCE_MS + 1))
            assert kafka.client.exists(STEP)
            anna.end(step)
        assert not kafka.client.exists(STEP)
        until(lambda: bert.running() is None)
        assert isinstance(bert.begin(step_of("bert")), Held)


@pytest.mark.usefixtures("kafka")
def test_a_step_whose_record_was_not_answered_is_found(
    connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with orchestrating(connect) as lock:
        lock.acquire()
        commit = lock._zookeeper.commit

        def lost(asked: Transaction) -> None:
            commit(asked)
            raise NoAnswer("the answer was lost")

        monkeypatch.setattr(lock._zookeeper, "commit", lost)
        assert lock.begin(step_of("anna")) == NotHeld(why="the answer was lost")
        monkeypatch.undo()
        assert lock.running() == step_of("anna")
        lock.end(step_of("anna"))
        assert isinstance(lock.begin(step_of("anna")), Held)


NO_STEPS = (
    b"",
    b"\xff",
    b"[" * 100_000,
    b'{"run": "\x1b[2J"}',
    b"null",
    step_of("anna").model_dump_json().replace('brokers-kraft[1]"', "'; reboot '\"", 1).encode(),
    step_of("anna").model_dump_json().replace("1795", "17950000000000000000").encode(),
)


@pytest.mark.parametrize("text", NO_STEPS)
def test_a_record_that_cannot_be_read_keeps_every_step_back(
    kafka: Writer, connect: str, text: bytes
) -> None:
    with orchestrating(connect) as lock:
        lock.acquire()
        kafka.create(STEP, text)
        assert isinstance(lock.begin(step_of("anna")), NotHeld)
        found = lock.running()
        assert found is not None
        assert found.checkpoint == "unknown"
        lock.end(found)
        assert not kafka.client.exists(STEP)


HOSTILE_OWNERS = (
    '{"host": "h", "pid": 1, "user": "u", "since_ms": Infinity}',
    '{"host": "h", "pid": 99999999999999999999, "user": "u", "since_ms": 1}',
    '{"host": "h", "pid": 1, "user": "u", "since_ms": 999999999999999999}',
    "[" * 100_000,
)


@pytest.mark.parametrize("number", range(len(HOSTILE_OWNERS)))
def test_a_lock_with_a_hostile_owner_is_held_by_somebody(
    kafka: Writer, connect: str, number: int
) -> None:
    kafka.create(f"/{number}{LOCK}", HOSTILE_OWNERS[number].encode())
    with (
        orchestrating(f"{connect}/{number}") as lock,
        pytest.raises(LockHeld, match="another client holds"),
    ):
        lock.acquire()


SHORT_MS = 2000


@pytest.fixture(scope="module")
def short() -> Iterator[Lab]:
    """A ZooKeeper that limits session timeouts to two seconds."""
    limits = {"minSessionTimeout": "1000", "maxSessionTimeout": str(SHORT_MS)}
    with Lab(LabSpec(brokers=0, zookeeper_properties=limits)) as made:
        made.start_zookeeper()
        yield made


def test_the_lock_is_relied_on_for_the_granted_session_only(short: Lab) -> None:
    """Two orchestrators that request longer timeouts never rely on the lock at the same time."""
    with another(short.zookeeper_connect, session_timeout_ms=10 * SHORT_MS) as frozen:
        assert "token" in frozen.ask("acquire")
        until_s = frozen.ask("check")["until_s"]
        frozen.freeze()
        with orchestrating(short.zookeeper_connect, "bert", session_timeout_ms=10_000) as bert:
            bert.acquire(wait_s=_WAIT_S)
            assert boot_clock_s() > until_s
            found = bert.check()
            assert isinstance(found, Held)
            assert found.until_s <= boot_clock_s() + SHORT_MS / 2000
        frozen.thaw()


def secured(connect: str, folder: Path, user: str | None, password: str) -> Ensemble:
    file = folder / f"{user}.{password}"
    file.write_text(password)
    security = Security() if user is None else Security(username=user, password_file=file)
    return Ensemble(connect=connect, session_timeout_ms=SESSION_TIMEOUT_MS, security=security)


@contextmanager
def locking(ensemble: Ensemble, user: str) -> Iterator[ZooKeeperLock]:
    lock = ZooKeeperLock(ensemble, Owner(host="h", pid=1, user=user, since_ms=SINCE_MS))
    try:
        yield lock
    finally:
        lock.release()


def permissions(kafka: Writer, path: str) -> set[tuple[str, int]]:
    return {(each.id.scheme, each.perms) for each in kafka.client.get_acls(path)[0]}


@pytest.mark.parametrize("old", [False, True], ids=["new", "left open by an earlier release"])
def test_only_its_own_identity_changes_what_an_authenticated_one_writes(
    kafka: Writer, connect: str, tmp_path: Path, old: bool
) -> None:
    if old:
        for path in (HOME, FENCE):
            kafka.client.ensure_path(path)
            assert permissions(kafka, path) == {("world", Permissions.ALL)}
    own = {("digest", Permissions.ALL), ("world", Permissions.READ)}
    with locking(secured(connect, tmp_path, "kraftgate", "hush"), "anna") as lock:
        token = lock.acquire()
        assert isinstance(lock.begin(step_of("anna")), Held)
        for path in (HOME, FENCE, LOCK, STEP):
            assert permissions(kafka, path) == own
            with pytest.raises(NoAuthError):
                kafka.client.set(path, b"mine")
        with pytest.raises(NoAuthError):
            kafka.client.delete(LOCK)
        lock.end(step_of("anna"))
    for user, password in ((None, ""), ("kraftgate", "another"), ("other", "hush")):
        with (
            locking(secured(connect, tmp_path, user, password), "bert") as lock,
            pytest.raises(LockError, match="it belongs to another identity"),
        ):
            lock.acquire()
    with locking(secured(connect, tmp_path, "kraftgate", "hush"), "carla") as lock:
        assert lock.acquire() > token
    kafka.close()
    admin = Client(secured(connect, tmp_path, "kraftgate", "hush"))
    admin.start()
    admin.delete(HOME, recursive=True)
    admin.stop()
    admin.close()


def test_without_authentication_everybody_may_write(kafka: Writer, connect: str) -> None:
    with orchestrating(connect) as lock:
        lock.acquire()
        for path in (HOME, FENCE, LOCK):
            assert permissions(kafka, path) == {("world", Permissions.ALL)}
