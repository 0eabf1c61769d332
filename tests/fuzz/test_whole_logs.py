"""A few damaged logs through Spark: the job comes to what the same functions come to without it."""

import pytest

from streams.metadata.plan import LogGap
from streams.spark.query import JobFailed, replay
from streams.wire.errors import WireError
from tests.fuzz.target import Inputs
from tests.fuzz.targets import TARGETS
from tests.fuzz.targets.files import follow, laid_out
from tests.support.pipeline import Run

pytestmark = [pytest.mark.spark, pytest.mark.long(minutes=0.75)]

SEED = 11


@pytest.mark.parametrize("index", range(8))
def test_spark_comes_to_the_same_as_the_functions_alone(index: int) -> None:
    """The first three logs are as Kafka wrote them; the others are damaged."""
    data = Inputs(TARGETS["whole-log"], SEED)[index]
    with laid_out(data) as folder:
        run = Run()
        try:
            damage = follow(run, folder)
        except LogGap:
            with pytest.raises(JobFailed):
                replay(folder, cluster="test")
            return
        except WireError:
            # The job stops at the batch; how far the functions came depends on how they were cut.
            assert replay(folder, cluster="test").damage is not None
            return
        outcome = replay(folder, cluster="test")
        assert outcome.summary == run.summary
        assert outcome.damage == (None if damage is None else str(damage))
        assert [each.kind for each in outcome.events] == [each.kind for each in run.events]
