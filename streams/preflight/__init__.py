"""Gathers what can be known of a cluster before its window, reading only, within bounded times.

`gather` asks ZooKeeper, every broker and every controller at once and gives `Facts`, which
`migration.assessment.checks` judges. What could not be had is in the facts as an `Unknown` with its
reason.
"""
