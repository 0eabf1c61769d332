"""Spark's Python daemon, which forks the workers after it has imported all modules they use.

The workers then start immediately, and share that memory.
"""

import gc
import os
import signal
from importlib import import_module
from typing import Final

_MODULES: Final = (
    "pandas",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.worker",
    "streams.spark.data_source",
    "streams.spark.rows",
    "streams.spark.shard_batch",
    "streams.state.fact_codec",
    "streams.state.journal",
)
"""PySpark and PyArrow import theirs in each worker only when they are used."""

# A stop of Kraftgate (systemd: SIGTERM to each process of the unit) must not end them: the driver
# ends the query in order, and a worker that dies earlier fails the query. Forks inherit the mask.
# The daemon ends with its standard input, and ends the workers with SIGHUP.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

# A process that forks must have no second thread, and these two start one when they are imported:
# NumPy's OpenBLAS, and the allocator in PyArrow.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"

for _each in _MODULES:
    import_module(_each)

# PySpark's worker collects garbage after each task. Unless these modules are exempt, it walks all
# of them each time, which is two thirds of a worker's processor time, and copies the pages that it
# shares with the other workers.
gc.collect()
gc.freeze()

from pyspark.daemon import manager  # noqa: E402  # after the signal mask

if __name__ == "__main__":
    manager()
