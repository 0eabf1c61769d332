"""The loop: read a snapshot of every cluster, assess it once, hand the result to the consumers."""
