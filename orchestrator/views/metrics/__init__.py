"""The metrics that Prometheus scrapes from `kraftgate run`: the last tick of every cluster.

The threads of the listener read the last tick of the loop. An unknown
value has no sample, so that nobody takes it for zero. A time is a timestamp, so that Prometheus
computes the age. No metric describes a single partition.
"""
