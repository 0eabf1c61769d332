"""Checks a runbook as a whole: order, phases, approvals, rollbacks."""
