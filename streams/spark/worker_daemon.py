"""Spark's Python daemon, which forks the workers after it has imported all modules they use.

The workers then start immediately, and share that memory. Spark also runs it for its planning
steps, which use none of them.
"""

import gc
import os
import signal
import sys

# A stop of Kraftgate (systemd: SIGTERM to each process of the unit) must not end them: the driver
# ends the query in order, and a worker that dies earlier fails the query. Forks inherit the mask.
# The daemon ends with its standard input, and ends the workers with SIGHUP.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

if sys.argv[1:] == ["pyspark.worker"]:
    # A process that forks must have no second thread, and these two start one when they are
    # imported: NumPy's OpenBLAS, and the allocator in PyArrow.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"

    # PySpark and PyArrow import theirs in each worker only when they are used.
    import pandas as pd  # noqa: F401
    import pyspark.sql.pandas.serializers
    import pyspark.sql.streaming.proto.StateMessage_pb2
    import pyspark.sql.streaming.stateful_processor_api_client
    import pyspark.sql.worker.plan_data_source_read
    import pyspark.worker  # noqa: F401

    import streams.spark.data_source
    import streams.spark.rows
    import streams.spark.shard_batch
    import streams.state.fact_codec
    import streams.state.journal  # noqa: F401

    # PySpark's worker collects garbage after each task. Unless these modules are exempt, it walks
    # all of them each time, which is two thirds of a worker's processor time, and copies the pages
    # that it shares with the other workers.
    gc.collect()
    gc.freeze()

from pyspark.daemon import manager  # noqa: E402

if __name__ == "__main__":
    manager()
