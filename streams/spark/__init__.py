"""The one Structured Streaming job: from the source's rows to the audit store and Parquet.

`streams.spark.query` starts it; nothing is imported here, since every Python worker of Spark's that
needs one module of this package would pay for all of them.
"""
