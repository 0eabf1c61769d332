"""Bounded queries on demand: for the checks, for conditions and for what-if. Reads only.

`gather` queries ZooKeeper, every broker and every controller in parallel and returns `Facts`, the
input of `migration.assessment.checks`. `conditions` queries the data of one condition, `what_if`
and `assignments` the input of `migration.what_if`, `log_dirs` the brokers' log directories. A value
that could not be read is an `Unknown` with its reason. Nothing is written anywhere.
"""
