"""The one Structured Streaming job: from the source's rows to the store and Parquet.

`streams.spark.query` starts it. This module imports nothing: every Python worker of Spark's that
uses one module of this package would otherwise load all of them.
"""
