"""The numbers of shards: as many of them for each of Spark's tasks, whatever the cluster's name."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as f

from migration.shard.placement import CLUSTER, SHARDS, shard_numbers, spark_hash
from streams.spark.session import session

_NAMES = ["", "a", "abc", "abcd", "lab-1", "replay", "größe", "集群", "x" * 63]


@given(st.text(max_size=40), st.sampled_from([1, 2, 4, 8, SHARDS]))
def test_tasks_get_as_many_shards_each(cluster: str, tasks: int) -> None:
    numbers = shard_numbers(cluster)
    assert len(set(numbers)) == SHARDS
    assert min(numbers) > CLUSTER
    dealt = Counter(spark_hash(cluster, number) % tasks for number in numbers)
    assert set(dealt.values()) == {SHARDS // tasks}


@pytest.mark.spark
def test_the_hash_is_sparks(tmp_path: Path) -> None:
    spark = session(tmp_path / "spark.log")
    keys = [(name, shard) for name in _NAMES for shard in (CLUSTER, 0, 1, 77, 2**31 - 1)]
    frame = spark.createDataFrame(keys, "cluster STRING, shard INT")
    hashed = frame.select("cluster", "shard", f.hash("cluster", "shard").alias("hash")).collect()
    assert {(row.cluster, row.shard): row.hash % 2**32 for row in hashed} == {
        key: spark_hash(*key) for key in keys
    }
