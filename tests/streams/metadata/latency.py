"""Measures how long a record takes from its creation in the leader to the fsynced spool.

    python -m tests.streams.metadata.latency [controllers] [seconds]

The clock starts at the batch's timestamp, so Kafka's own `controller.quorum.append.linger.ms`
(25 ms by default, 0 in the second run), its flush and the quorum's commit are inside.
"""

import sys
import tempfile
import time
from pathlib import Path

from orchestrator.lab import Lab, LabSpec
from streams.metadata.follower import Follower
from streams.metadata.spool import Position, Spool
from streams.wire.batches import read_batches
from tests.streams.metadata.quorum import config, mirrored, wait_for


def measure(controllers: int, seconds: float, linger_ms: int) -> str:
    """Follow an idle quorum, whose leader writes a no-op record every 100 ms."""
    properties = {
        "metadata.max.idle.interval.ms": "100",
        "controller.quorum.append.linger.ms": str(linger_ms),
    }
    spec = LabSpec(brokers=0, controllers=controllers, controller_properties=properties)
    seen: list[tuple[float, Position]] = []
    with tempfile.TemporaryDirectory() as place, Lab(spec) as lab, Spool(Path(place)) as spool:
        lab.start_kraft()
        with Follower(config(lab), spool, lambda p: seen.append((time.time(), p))) as follower:
            wait_for(follower, 20, 20.0)
            seen.clear()
            used = time.process_time()
            time.sleep(seconds)
            used = time.process_time() - used
        created = {
            batch.last_offset + 1: batch.max_timestamp / 1000
            for batch in read_batches(mirrored(spool), file="spool")
        }
    took = sorted(1000 * (at - created[p.next_offset]) for at, p in seen)
    return (
        f"{controllers} controllers, linger {linger_ms} ms: {len(took)} records,"
        f" p50 {took[len(took) // 2]:.1f} ms, p95 {took[int(len(took) * 0.95)]:.1f} ms,"
        f" max {took[-1]:.1f} ms, {100 * used / seconds:.1f} % of a core"
    )


if __name__ == "__main__":
    wanted = [int(argument) for argument in sys.argv[1:]] + [3, 20][len(sys.argv) - 1 :]
    for linger in (25, 0):
        print(measure(wanted[0], wanted[1], linger))  # noqa: T201 its purpose
