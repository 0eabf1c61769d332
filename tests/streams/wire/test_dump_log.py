"""Every record equals what Kafka's own tool prints for it."""

import gzip
import random
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from streams.wire.schema import RECORDS, MetadataRecord
from tests.streams.wire.dump_log import ours, parse
from tests.streams.wire.strategies import entities
from tests.support.wire_writing import (
    write_batch,
    write_checkpoint,
    write_leader_change,
    write_value,
)

DATA = Path(__file__).parent / "data"
SAMPLES = sorted(DATA.glob("*.log")) + sorted(DATA.glob("*.checkpoint"))
EACH = 12
"""Records of every type and version in one generated log."""


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_real_log_reads_as_kafka_printed_it(sample: Path) -> None:
    text = gzip.decompress(sample.with_name(f"{sample.name}.txt.gz").read_bytes()).decode()
    assert ours(sample.read_bytes(), sample.name) == parse(text)


def every_record() -> list[MetadataRecord]:
    """A few records of every type and version, the same ones in each run."""
    made: list[MetadataRecord] = []
    several = st.tuples(
        *[st.lists(entities(kind), min_size=EACH, max_size=EACH) for kind in RECORDS.values()]
    )

    @seed(858)
    @settings(
        max_examples=1,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(several)
    def make(lists: tuple[list[MetadataRecord], ...]) -> None:
        made.extend(record for records in lists for record in records)

    make()
    return made


def _dump(*files: Path) -> list[str]:
    """Return the tool's text about each file."""
    from orchestrator.lab.machine.archive import sharing
    from orchestrator.lab.machine.jars import ensure_jars
    from orchestrator.lab.machine.java import find_java

    command = [java := find_java(), "-Dfile.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8"]
    command += ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *sharing(java)]
    command += ["-cp", ensure_jars().classpath, "kafka.tools.DumpLogSegments"]
    command += ["--cluster-metadata-decoder", "--files", ",".join(map(str, files))]
    text = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    _, *texts = re.split(r"^(?=Dumping )", text, flags=re.MULTILINE)
    return texts


@pytest.mark.lab
@pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")  # kafka-python
def test_kafka_prints_every_type_and_version_as_it_is_read(tmp_path: Path) -> None:
    values = [write_value(record) for record in every_record()]
    random.Random(858).shuffle(values)  # noqa: S311 any order but the sorted one will do
    batches = [values[first : first + 20] for first in range(0, len(values), 20)]
    log = tmp_path / "00000000000000000000.log"
    written = [write_leader_change(0, 1, 1700000000000, 3000, [3000, 3001])]
    offset = 1
    for batch in batches:
        written.append(write_batch(offset, 1, 1700000000000 + offset, batch))
        offset += len(batch)
    log.write_bytes(b"".join(written))
    checkpoint = tmp_path / "00000000000000000900-0000000001.checkpoint"
    checkpoint.write_bytes(write_checkpoint(1, 1700000000000, batches))
    of_log, of_checkpoint = map(parse, _dump(log, checkpoint))
    assert len(of_log[1]) == len(values) + 1
    assert len(of_checkpoint[1]) == len(values) + 2
    assert ours(log.read_bytes(), log.name) == of_log
    assert ours(checkpoint.read_bytes(), checkpoint.name) == of_checkpoint
