"""Spark's Python daemon, which forks the workers, with everything that they use imported before.

The workers then start at once, and share that memory. Spark runs it for its planning steps too,
which use none of it.
"""

import signal
import sys

# Whatever stops Kraftgate (systemd: SIGTERM to each process of the unit) leaves them to the driver,
# which ends the query in good order: a worker that dies before fails it. Forks inherit the mask.
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
