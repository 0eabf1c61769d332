"""Mutation fuzz: every parser of foreign bytes and text gets damaged copies of real input.

`targets/` names the parsers, `mutations.py` damages, `worker.py` runs inputs in a process of its
own and watches time and memory, `__main__.py` is what `make fuzz` runs. An input is made from its
target, its seed and its number alone, so that a finding is replayed by

    python -m tests.fuzz TARGET --seed S --index I
"""
