"""An approval rests on a state, and says what of it has changed."""

import os
import pwd
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migration.image.summary import Mode, Phase
from migration.observed.facts import LogDirSeen
from migration.observed.log_dirs import BrokerDisks, DisksImage
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.audit import AuditLog
from orchestrator.execution import approvals
from orchestrator.execution.approvals import basis, changed, this_person
from orchestrator.redaction.redactor import Redactor
from tests.scenes.night import cluster, held, kraft

SHA = "0123456789abcdef0123"
WELL = replace(kraft(1), mode=Mode.MIGRATING)


def test_counts_that_change_by_themselves_end_no_approval() -> None:
    before = cluster(Phase.DUAL_WRITE, kraft(1), kraft(2))
    after = replace(before, metadata_offset=99_999, topics=77)
    assert changed(basis(before, (), SHA), basis(after, (), SHA)) == ()


def test_a_restart_ends_it_and_is_named() -> None:
    before = cluster(Phase.DUAL_WRITE, kraft(1), kraft(2))
    again = replace(kraft(2), epoch=4711)
    named = changed(
        basis(before, (), SHA), basis(cluster(Phase.DUAL_WRITE, kraft(1), again), (), SHA)
    )
    assert len(named) == 1
    assert "broker 2: was" in named[0]
    assert "epoch 4711" in named[0]


def test_a_hold_a_new_broker_and_another_phase_end_it() -> None:
    before = basis(cluster(Phase.HYBRID, kraft(1)), (), SHA)
    assert changed(before, basis(cluster(Phase.DUAL_WRITE, kraft(1)), (), SHA)) == (
        "phase: was hybrid, is dual-write",
    )
    assert changed(before, basis(cluster(Phase.HYBRID, held(1)), (), SHA))
    (new,) = changed(before, basis(cluster(Phase.HYBRID, kraft(1), kraft(5)), (), SHA))
    assert new.startswith("broker 5: was not known")


@pytest.mark.slow
def test_2000_brokers_fit_an_entry_of_the_trail_and_so_does_the_change_of_all(
    tmp_path: Path,
) -> None:
    """KRaft is made for clusters of this size. An entry that is refused ends the execution."""
    ids = range(1, 2001)
    disks = DisksImage(brokers={id_: BrokerDisks(id=id_, log_dirs=()) for id_ in ids})
    then, now = (
        basis(replace(cluster(Phase.HYBRID, *brokers), disks=disks), (), SHA)
        for brokers in (
            [replace(kraft(id_), epoch=2**31) for id_ in ids],
            [replace(kraft(id_), epoch=2**31 + 1) for id_ in ids],
        )
    )
    with AuditLog.open(tmp_path / "audit.db", Redactor()) as log:
        log.append("prod", "approved", {"basis": then}, 1)
        log.append("prod", "approvals_expired", {"changed": changed(then, now)}, 2)


def test_a_failed_directory_and_another_runbook_end_it() -> None:
    well = cluster(Phase.HYBRID, kraft(1))
    bad = LogDirSeen("/d/1", 56, None, None, 0, 0, 0, 0, None, None)
    failed = replace(well, disks=DisksImage(brokers={1: BrokerDisks(id=1, log_dirs=(bad,))}))
    (named,) = [
        each
        for each in changed(basis(well, (), SHA), basis(failed, (), SHA))
        if "directories" in each
    ]
    assert "/d/1" in named
    (other,) = changed(basis(well, (), SHA), basis(well, (), "f" * 20))
    assert other.startswith("runbook: ")


@pytest.mark.parametrize(
    ("seen", "named"),
    [
        ({"brokers": (replace(WELL, unregistered={"ID": 5}),)}, "its log directory with id ID"),
        ({"zookeeper": ZooKeeperImage(notified={1: 5})}, "one of its log directories"),
        ({"zookeeper": ZooKeeperImage(missed_ms=5)}, "one of its log directories"),
    ],
)
def test_so_does_a_failure_that_no_answer_of_a_broker_shows(
    seen: dict[str, Any], named: str
) -> None:
    well = cluster(Phase.HYBRID, WELL)
    found = changed(basis(well, (), SHA), basis(replace(well, **seen), (), SHA))
    assert found == (f"bad log directories of broker 1: was not known, is {named}",)


def test_a_person_is_the_kernels_user_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "_LOGIN_UID", Path("/no/such/file"))
    for name in ("USER", "LOGNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "boris")
    monkeypatch.setenv("SUDO_UID", "1001")
    found = this_person("Boris of operations")
    assert (found.login, found.uid) == (pwd.getpwuid(os.getuid()).pw_name, os.getuid())
    assert (found.who, found.sudo_uid) == ("Boris of operations", 1001)


@pytest.mark.parametrize("said", ["", "boris", "-1", "1" * 40])
def test_what_sudo_is_said_to_have_been_is_read_as_a_number_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("SUDO_UID", said)
    assert this_person().sudo_uid is None


@pytest.fixture
def login_uid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's file, which no test may change: once it is set, it stays."""
    file = tmp_path / "loginuid"
    monkeypatch.setattr(approvals, "_LOGIN_UID", file)
    return file


def test_two_operators_who_use_sudo_are_two_people(login_uid: Path) -> None:
    """Both run as the owner of the state directory; sudo does not change the login uid."""
    login_uid.write_text("4000000001")
    anna = this_person()
    login_uid.write_text("4000000002")
    boris = this_person("anna")
    assert (anna.login, boris.login) == ("uid 4000000001", "uid 4000000002")
    assert not anna.same_login(boris)


@pytest.mark.parametrize("said", ["4294967295", "", None])
def test_where_nobody_logged_in_the_uid_of_the_process_counts(
    login_uid: Path, said: str | None
) -> None:
    if said is not None:
        login_uid.write_text(said)
    assert this_person().uid == os.getuid()


def test_a_user_without_a_name_is_its_number(
    login_uid: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not login_uid.exists()
    monkeypatch.setattr("os.getuid", lambda: 4_000_000_001)
    assert (this_person().login, this_person().who) == ("uid 4000000001", "uid 4000000001")
