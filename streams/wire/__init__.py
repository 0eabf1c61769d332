"""Kafka's bytes: record batches and the 25 metadata record types of Kafka 3.9.

In: a segment, a `.checkpoint` file, or the records of a FETCH or FETCH_SNAPSHOT reply, as bytes.
Out: `Batch`es (batches.py), the full value of any record (values.py), or the named tuples of
`migration.metadata.records` (records.py). This package does no I/O: the caller reads files and
sockets.
"""
