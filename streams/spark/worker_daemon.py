"""Spark's Python daemon, which forks the workers after it has imported all modules they use.

The workers then start immediately, and share that memory. Spark also runs it for its planning
steps, which use none of them.
"""

import signal
import sys

# A stop of Kraftgate (systemd: SIGTERM to each process of the unit) must not end them: the driver
# ends the query in order, and a worker that dies earlier fails the query. Forks inherit the mask.
# The daemon ends with its standard input, and ends the workers with SIGHUP.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

if sys.argv[1:] == ["pyspark.worker"]:
    # PySpark imports its two in each worker only when they are used.
    import pyspark.sql.pandas.serializers
    import pyspark.sql.streaming.stateful_processor_api_client  # noqa: F401

    import streams.spark.processor
    import streams.spark.rows  # noqa: F401

from pyspark.daemon import manager  # noqa: E402

if __name__ == "__main__":
    manager()
