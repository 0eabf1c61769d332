"""Turns one snapshot of a cluster into one assessment of it.

Only `assess.assess` decides which sources are current and which hazards, waits and alerts exist.
Gates, screens, metrics, alerts, the audit trail and the report format its result.
"""
