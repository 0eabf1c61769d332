"""Operators' decisions: approve, decide, pause, resume, skip, roll back, abort."""
