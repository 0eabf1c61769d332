"""Executions of a runbook: their steps, approvals and outcomes."""
