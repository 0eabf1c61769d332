"""Bounded queries on demand: for the checks, for conditions and for what-if. Reads only.

`gather` asks ZooKeeper, every broker and every controller at once and returns `Facts`, on which
`migration.assessment.checks` runs. `topics`, `settings`, `quorum` and `checks` query what one
condition needs, `what_if` and `assignments` what `migration.what_if` starts from. A value that
could not be read is an `Unknown` with its reason. Nothing is written anywhere.
"""
