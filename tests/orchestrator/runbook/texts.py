"""Texts of runbooks for tests: a small right one, and how to make it wrong at one place."""

from pathlib import Path

PATH = Path("night.yaml")
RIGHT = """\
runbook: 1
name: night
title: A night
explain: What to know.
checkpoints:
  - id: ready
    title: Ready
    explain: Why.
    opens_when: [quorum_healthy]
    rollback: none
    rollback_reason: nothing was changed yet
  - id: brokers
    title: Brokers, one at a time
    explain: Why.
    for_each: broker
    already: ["broker_mode(broker, kraft)"]
    needs: ["no_hazard(restart, broker)"]
    step:
      name: enter-kraft
      manual: On {host} restart broker {broker}.
    opens_when: ["assignments_complete(broker)"]
    rollback: back
  - id: end
    title: The end
    explain: Why.
    needs: [isr_full, soak(10m)]
    step:
      name: finalize
      manual: Restart the controllers of {cluster}.
    opens_when: [finalized]
    approval: {people: 2}
    irreversible: true
rollbacks:
  - id: back
    title: Back
    explain: When.
    checkpoints:
      - id: back-brokers
        title: Brokers back
        explain: Why.
        for_each: broker
        step:
          name: leave-kraft
          manual: On {host} restart broker {broker}.
        opens_when: ["broker_mode(broker, migrating)", isr_full, lag-is-low]
conditions:
  - name: lag-is-low
    shell: {argv: [/usr/local/bin/lag, --max, "100"], timeout: 5s}
"""


def changed(old: str, new: str) -> str:
    """Give the right text with one part replaced."""
    assert RIGHT.count(old) == 1, f"{RIGHT.count(old)} times in the text: {old!r}"
    return RIGHT.replace(old, new)


def line_of(text: str, part: str) -> int:
    """Give the line (from 1) where a part begins."""
    return text[: text.index(part)].count("\n") + 1
