"""`kraftgate run` is stopped while it starts.

On real clusters, tests/system/test_rolled_back.py and test_hazards_in_a_migration.py stop it as
systemd, a shell and an operator do; test_hazards_before_the_copy.py kills its JVM.
"""

from pathlib import Path

import pytest

from orchestrator.errors import ExitCode
from tests.support.polling import until
from tests.system.killing import Killed

pytestmark = pytest.mark.spark


def test_it_ends_in_good_order_while_it_starts(tmp_path: Path) -> None:
    with Killed(tmp_path, "127.0.0.1:1", "q1Sh-9_ISia_zwGINzRvyQ") as run:
        run.start()
        until(run.java, "a JVM")
        run.terminate_each()
        assert run.ended() == (ExitCode.DONE, "kraftgate: starting; Ctrl-C ends it\n")


def test_ctrl_c_ends_it_in_good_order_while_spark_starts_its_workers(tmp_path: Path) -> None:
    with Killed(tmp_path, "127.0.0.1:1", "q1Sh-9_ISia_zwGINzRvyQ") as run:
        run.start()
        until(lambda: (jvm := run.java()) and jvm.children(), "a worker")
        run.interrupt_group()
        assert run.ended() == (ExitCode.DONE, "kraftgate: starting; Ctrl-C ends it\n")
        until(lambda: not run.leftovers(), "the end of its processes")
