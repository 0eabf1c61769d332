"""What Prometheus scrapes from `kraftgate run`: the last look at every cluster, as metrics.

The loop that shows the clusters puts each look on the `Board`; the listener's threads read it from
there. What is not known makes no sample, so that nobody takes it for zero; times are timestamps,
so that an age is Prometheus' to work out; nothing is told of single partitions.
"""
