"""`python -m tests.bench.empty_job`: the floor of a start, Spark's own.

A job of the same kind as Kraftgate's, in its session, with nothing to do: a data source in Python
that has one row, a state of one number, a sink that stores nothing. What `replay` of an almost
empty log takes beyond this is Kraftgate's. Both end without waiting for the JVM.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, Row
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructType

from streams.spark.session import prepare_workers, session

_COLUMNS: Final = StructType().add("key", "string").add("value", "long")
_STATE: Final = StructType().add("value", "long")


class _OneRow(DataSource):
    @classmethod
    def name(cls) -> str:
        return "one-row"

    def schema(self) -> StructType:
        return _COLUMNS

    def streamReader(self, schema: StructType) -> "_Reader":  # noqa: ARG002, N802
        return _Reader()


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"rows": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Do nothing: the end is known."""

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: ARG002, N802
        return {"rows": 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:  # noqa: ARG002
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int]]:
        yield "key", int(partition.value)


class _Last(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("last", _STATE)

    def handleInputRows(  # type: ignore[override]  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        value = max(row.value for row in rows)
        self._state.update((value,))
        yield Row(key=key[0], value=value)

    def close(self) -> None:
        """Do nothing: there is no resource to release."""


def run(folder: Path) -> int:
    """Run the job to its end, with its files in `folder`; return how many rows arrived."""
    arrived = 0

    def count(batch: DataFrame, number: int) -> None:
        nonlocal arrived
        del number
        arrived += len(batch.collect())

    spark = session(folder / "spark.log")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    spark.dataSource.register(_OneRow)
    rows = spark.readStream.format(_OneRow.name()).load()
    prepare_workers(spark)
    last = rows.groupBy("key").transformWithState(_Last(), _COLUMNS, "Update", "None")
    writer = last.writeStream.outputMode("update").foreachBatch(count)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return arrived


def main() -> int:
    """Run the job; return 1 unless its row arrived."""
    with tempfile.TemporaryDirectory(prefix="kraftgate-") as folder:
        arrived = run(Path(folder))
    return 0 if arrived == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
