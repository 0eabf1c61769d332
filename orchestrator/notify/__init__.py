"""Notifications of alerts: Alertmanager, Slack, PagerDuty, webhooks and heartbeats.

The path is `Alert` (migration.assessment.alerts) -> `Notification` -> `Channel`. Each receiver has
a thread of its own, so that the tick never waits for a receiver.

The only error is not part of the tree in `orchestrator.errors`, because it ends no command:

    Undelivered           a receiver did not accept a request, or that is unknown; the thread of the
                          receiver logs it and retries
"""
