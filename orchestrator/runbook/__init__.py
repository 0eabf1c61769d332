"""The runbook: a file of checkpoints and of ways back, read, checked, shown and planned."""
