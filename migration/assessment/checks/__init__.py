"""The checks before the window: pure functions of the facts that the probes gathered.

The facts are `migration.observed.probed`; `run` runs each check. `streams` gathers the facts,
`orchestrator` chooses the exit code.
"""
