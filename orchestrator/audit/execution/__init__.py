"""The audit entries of a runbook's execution, and the state that they determine."""
