"""The control socket of a running lab, its operations and status."""
