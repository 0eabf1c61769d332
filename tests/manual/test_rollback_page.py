"""The rollback of the handbook deletes what keeps the brokers from ZooKeeper's controller."""

import re

from tests.manual.pages import HANDBOOK

PAGE = (HANDBOOK / "rollback.md").read_text("utf-8")


def test_a_rollback_from_migration_mode_deletes_both_znodes() -> None:
    """During the copy a KRaft controller holds /controller, and that znode is persistent.

    Kafka: KafkaZkClient.tryRegisterKRaftControllerAsActiveController.
    """
    begins = "| migration mode, before the copy ends"
    [row] = [each for each in PAGE.splitlines() if each.startswith(begins)]
    assert {"/controller", "/migration"} <= set(re.findall(r"`(/\w+)`", row))
