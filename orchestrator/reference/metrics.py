"""The page of metrics, from their declarations."""

from typing import Final

from orchestrator.reference.markdown import code, page, table
from orchestrator.views.metrics.collector import metrics as declared

_INTRODUCTION: Final = """
`kraftgate run` serves these metrics at `metrics.listen`, in Prometheus' text format or, if the
client asks for it, in OpenMetrics. `runbooks/prometheus/kraftgate.rules.yaml` holds the alerting
rules.

- A value that is not known is absent, never zero. Before the copy, and after a rollback, the
  metadata log does not describe topics and replicas: their metrics, and holds, are absent then.
- The values are those of the last poll. `kraftgate_source_current` says whether they describe the
  present; an alerting rule must check it, too.
- Times are Unix timestamps in seconds: `time() - kraftgate_broker_held_since_timestamp_seconds`
  is the time for which a broker has been held. Times of records are by the controllers' clock,
  times of `/migration` by ZooKeeper's clock; an age is wrong by as much as the clocks differ.
- A state is one series for each of its values; the series of the current value is 1:
  `kraftgate_phase{phase="hybrid"} == 1`.
- `broker` is empty in `kraftgate_hazard` if a hazard does not concern a single broker.
- There are no series for single partitions. A cluster has about 130 series, a broker 30 more, a
  log directory 5 more, an active alert 2 more; 300 brokers with 12 directories each have about
  27,000.
- `kraftgate_process_...` are those of Kraftgate's own process, from prometheus_client. Spark's
  JVM and its workers are separate processes and are not included.
"""


def metrics() -> str:
    """Return the page."""
    rows = [
        (code(each.name), each.kind, ", ".join(each.labels), each.explains)
        for each in sorted(declared(), key=lambda each: each.name)
    ]
    return page("Metrics", _INTRODUCTION, table(("metric", "type", "labels", "meaning"), rows))
