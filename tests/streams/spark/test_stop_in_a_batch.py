"""The end of a query whose batch does not end, as while a cluster has no executor.

What the end of the session overtakes, such as the preparation of its workers, is then no error.
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

_PROGRAM = """
import sys, threading
from contextlib import ExitStack
from pathlib import Path
from streams.spark.query import Job
from streams.spark.session import _start_reflection, _start_workers, end_session, session

folder = Path(sys.argv[1])
began, ends = threading.Event(), threading.Event()

def batch(rows, number):
    began.set()
    ends.wait()

spark = session(folder / "spark.log")
rows = spark.readStream.format("rate").load()
writer = rows.writeStream.foreachBatch(batch).option("checkpointLocation", str(folder / "rate"))
job = Job(writer.start(), ExitStack(), folder / "spark.log")
began.wait()
job.stop()
print("stopped")
end_session()
_start_reflection(spark)
_start_workers(spark)
ends.set()
"""


def test_a_batch_that_does_not_end_is_not_waited_for(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr
    (warning,) = done.stderr.splitlines()
    assert "the query could not be stopped in good order" in warning
