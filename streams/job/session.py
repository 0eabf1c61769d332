"""The Spark session, set up for small, quick micro-batches on the machine it runs on.

Each setting that is not Spark's default has its measured reason in the README's "Figures".
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from streams.source.kraft_metadata import KraftMetadataSource

_STREAMING: Final = "org.apache.spark.sql.execution.streaming"
SETTINGS: Final = {
    "spark.app.name": "kraftgate",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    # Threads of the JVM's compiler compete with the workers on a small machine.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss4m",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": (
        f"{_STREAMING}.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "64",
    # The default forks a process for every checkpoint file; right for a local disk only.
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
}


def session(scratch: Path, *, cores: int | None = None) -> SparkSession:
    """Start, or find, the session, with the source `kraft_metadata` registered.

    `scratch`: where Spark may leave its own temporary files, and `spark.log`.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    scratch.mkdir(parents=True, exist_ok=True)
    log4j = resources.files("streams.job").joinpath("log4j2.properties")
    java = f"{SETTINGS['spark.driver.extraJavaOptions']} -Dlog4j2.configurationFile={log4j}"
    builder = SparkSession.builder.master(f"local[{cores or min(os.cpu_count() or 1, 8)}]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    with _output_to(scratch / "spark.log"):
        spark = (
            builder.config("spark.driver.extraJavaOptions", java)
            .config("spark.local.dir", str(scratch))
            .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
            .getOrCreate()
        )
    spark.dataSource.register(KraftMetadataSource)
    return spark


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Let the JVM and its Python workers inherit a file for their output, not our terminal.

    They write by file descriptor, past any handler of ours, into the live view and into JSON.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with log.open("ab") as file:
        try:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            yield
        finally:
            for descriptor, number in zip(kept, (1, 2), strict=True):
                os.dup2(descriptor, number)
                os.close(descriptor)
