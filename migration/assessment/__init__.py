"""One snapshot of a cluster becomes one assessment of it.

`assess.assess` is the only place that decides what is current, dangerous, pending and alerting.
Gates, screens, metrics, alerts, the audit trail and the report format its result.
"""
