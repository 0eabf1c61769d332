"""The checks before the window: pure functions of the facts that the probes gathered.

The facts are `migration.observed.probed`; `run` runs every check. `streams` gathers the facts,
`orchestrator` chooses the exit code.
"""
