"""The page of conditions, from their registry."""

from typing import Final

from migration.assessment.conditions import known
from migration.assessment.data_source import DataSource
from orchestrator.reference.markdown import code, page, table

_INTRODUCTION: Final = """
A condition is a statement about observed state. The guards and gates of a runbook, `kraftgate
wait` and `kraftgate run --until` use conditions.
"""
_VERDICTS: Final = """
| verdict | meaning |
|--|--|
| satisfied | The condition holds. Only this verdict opens a gate. |
| waiting | The condition does not hold yet. It will hold without help, or after the current step. |
| violated | The condition does not hold, and an operator has to act. |
| unknown | The data is missing or stale. Unknown is never treated as satisfied. |
"""
_NOTES: Final = """
A phase's bare name is short for `phase(PHASE)`: `finalized` means `phase(finalized)`. `broker`
and `controller` are node ids; inside a checkpoint with `for_each`, the words `broker` and
`controller` stand for the current one. A condition is unknown while one of its sources is not
current.

Before the copy, and after a rollback, the metadata log knows no topics, or old ones. Statements
about partitions then come from the brokers alone, and only while ZooKeeper shows that a broker is
the controller. Without ZooKeeper in the configuration, or while ZooKeeper is not current,
`isr_full` and `no_reassignment` are unknown in these phases. `zookeeper_seen` is unknown with a
ZooKeeper before 3.6, which has no recursive watches.

A runbook may define conditions of its own: see [Conditions of your
own](../migration-night.md#conditions-of-your-own).
"""


def conditions() -> str:
    """Return the page."""
    rows = [
        (code(each.signature), each.explains, ", ".join(sorted(map(_source, each.sources))))
        for each in known()
    ]
    return page(
        "Conditions",
        _INTRODUCTION,
        _VERDICTS,
        table(("condition", "satisfied when", "sources"), rows),
        _NOTES,
    )


def _source(source: DataSource) -> str:
    return code(str(source))
