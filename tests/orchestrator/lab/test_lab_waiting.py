"""Waits: until the condition, until the bound, or until the lab closes."""

import threading

import pytest

from orchestrator.lab.errors import LabError, WaitTimedOutError
from orchestrator.lab.machine.waiting import Waiter


def test_the_found_value_is_returned() -> None:
    answers = iter([None, None, 7])
    assert Waiter().until("seven", lambda: next(answers), timeout_s=5, where="here") == 7


def test_a_bound_that_passes_names_the_condition_and_the_log() -> None:
    with pytest.raises(WaitTimedOutError, match=r"(?s)in vain for godot.*last words.*\(here\)"):
        Waiter().until(
            "godot", lambda: None, timeout_s=0.15, where="here", tail=lambda: "last words"
        )


def test_closing_ends_a_wait_at_once() -> None:
    waiter = Waiter()
    threading.Timer(0.2, waiter.close).start()
    with pytest.raises(LabError, match="closed while waiting for godot"):
        waiter.until("godot", lambda: None, timeout_s=60, where="here")
