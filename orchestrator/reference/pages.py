"""The reference pages by name; those that are one table are built here."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from migration.assessment.conditions import known
from migration.metadata.event_kinds import EventKind
from orchestrator.audit.kinds import EntryKind
from orchestrator.audit.sentences import BODIES
from orchestrator.errors import ExitCode
from orchestrator.reference.commands import commands
from orchestrator.reference.configuration import configuration
from orchestrator.reference.hazards import hazards
from orchestrator.reference.markdown import code, first_line, page, table
from orchestrator.views.metrics.collector import metrics as declared

_CONDITIONS: Final = """
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
_CONDITIONS_NOTES: Final = """
A phase's bare name is short for `phase(PHASE)`: `finalized` means `phase(finalized)`. `broker`
and `controller` are node ids; inside a checkpoint with `for_each`, the words `broker` and
`controller` stand for the current one. A condition is unknown while a source that it needs in
this phase is not current: `log_dirs_online(2)` needs no ZooKeeper if broker 2 is in KRaft mode.

Before the copy, and after a rollback, the metadata log knows no topics, or old ones. Statements
about partitions then come from the brokers alone, and only while ZooKeeper shows that a broker is
the controller. Without ZooKeeper in the configuration, or while ZooKeeper is not current,
`isr_full` and `no_reassignment` are unknown in these phases. `zookeeper_seen` is unknown with a
ZooKeeper before 3.6, which has no recursive watches.

A runbook may define conditions of its own: see [Conditions of your
own](../migration-night.md#conditions-of-your-own).
"""
_EVENTS: Final = """
An event is something that happened in the cluster. `status --json`, `replay --json`, the console
and the report show events. Each event has a `source`, the cluster's time (`timestamp`, `null` if
the cluster does not say), the time at which Kraftgate saw it (`seen_at`) and, if it comes from
the metadata log, an `offset`. The words in braces are fields of the event.
"""
_AUDIT: Final = """
An entry of the audit trail records a decision of an operator, or something that Kraftgate did or
observed. `kraftgate audit show` and `kraftgate audit export` print entries.
"""
_OTHER: Final = ((code(EntryKind.WRONG_CONSOLE_TOKEN), "The console received a wrong token."),)
_EXIT_CODES_NOTES: Final = """
A command that fails prints one line to stderr: what failed, the value, the place and the fix. An
error that Kraftgate does not know ends with 1; the message then names the file that holds the
traceback.
"""
_METRICS: Final = """
`kraftgate run` serves these metrics at `metrics.listen`, in Prometheus' text format or, if the
client asks for it, in OpenMetrics. `runbooks/prometheus/kraftgate.rules.yaml` holds the alerting
rules.

- A value that is not known is absent, never zero. Before the copy, and after a rollback, the
  metadata log does not describe topics and replicas: their metrics, and holds, are absent then.
- The values are those of the last poll. `kraftgate_source_current` says whether they describe the
  present; an alerting rule must check it, too.
- Times are Unix timestamps in seconds: `time() - kraftgate_broker_held_since_timestamp_seconds`
  is the time for which a broker has been held. Times of records are by the controllers' clock,
  so their age is wrong by as much as the clocks differ.
- A state is one series for each of its values; the series of the current value is 1:
  `kraftgate_phase{phase="hybrid"} == 1`.
- `broker` is empty in `kraftgate_hazard` if a hazard does not concern a single broker.
- There are no series for single partitions. A cluster has about 130 series, a broker 30 more, a
  log directory 5 more, an active alert 2 more; 300 brokers with 12 directories each have about
  27,000.
- `kraftgate_process_...` are those of Kraftgate's own process, from prometheus_client. Spark's
  JVM and its workers are separate processes and are not included.
"""


def conditions() -> str:
    rows = [
        (
            code(each.signature),
            each.explains,
            ", ".join(sorted(code(str(source)) for source in each.sources)),
        )
        for each in known()
    ]
    return page(
        "Conditions",
        _CONDITIONS,
        _VERDICTS,
        table(("condition", "satisfied when", "sources"), rows),
        _CONDITIONS_NOTES,
    )


def events() -> str:
    rows = [
        (code(each), each.weight, re.sub(r"\{(\w+)\}", r"`{\1}`", each.sentence))
        for each in EventKind
    ]
    kinds = [(code(kind), first_line(body)) for kind, body in BODIES.items()]
    return page(
        "Events and audit entries",
        "## Events",
        _EVENTS,
        table(("event", "weight", "meaning"), rows),
        "## Audit entries",
        _AUDIT,
        table(("entry", "meaning"), sorted([*kinds, *_OTHER])),
    )


def exit_codes() -> str:
    codes = table(("code", "meaning"), [(str(int(each)), each.meaning) for each in ExitCode])
    return page(
        "Exit codes",
        "Every command uses the same exit codes. A script can rely on them.",
        codes,
        _EXIT_CODES_NOTES,
    )


def metrics() -> str:
    rows = [
        (code(each.name), each.kind, ", ".join(each.labels), each.explains)
        for each in sorted(declared(), key=lambda each: each.name)
    ]
    return page("Metrics", _METRICS, table(("metric", "type", "labels", "meaning"), rows))


PAGES: Final[Mapping[str, Callable[[], str]]] = MappingProxyType(
    {
        "commands": commands,
        "conditions": conditions,
        "configuration": configuration,
        "events": events,
        "exit-codes": exit_codes,
        "hazards": hazards,
        "metrics": metrics,
    }
)
"""Each page's name, and the function that returns its text."""
