"""What Kraftgate says to people of itself: the alerts that stand, kept, and sent where configured.

`migration.assessment.alerts` says which stand. Here they are judged at the looks of `kraftgate
run`, kept beside the store for `kraftgate status`, and told to Alertmanager, Slack, PagerDuty and
webhooks, each by a thread of its own that the looks never wait for.
"""
