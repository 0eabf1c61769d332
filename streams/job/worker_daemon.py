"""Spark's Python daemon, which forks the workers, with everything that they use imported before.

The workers then start at once, and share that memory. Spark runs it for its planning steps too,
which use none of it.
"""

import sys

if sys.argv[1:] == ["pyspark.worker"]:
    # PySpark imports its two in each worker only when they are used.
    import pyspark.sql.pandas.serializers
    import pyspark.sql.streaming.stateful_processor_api_client  # noqa: F401

    import streams.job.processor
    import streams.job.tracking
    import streams.source.rows  # noqa: F401

from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
