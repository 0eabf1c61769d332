"""Notifications of alerts: Alertmanager, Slack, PagerDuty, webhooks and heartbeats.

The path is `Alert` (migration.assessment.alerts) -> `Notification` -> `Channel`. Each receiver has
a thread of its own, so that the tick never waits for a receiver.

    Exception
    `- Undelivered          a receiver did not accept a request, or that is unknown; the sender's
                            thread retries, and only `kraftgate alerts test` reports it
"""
