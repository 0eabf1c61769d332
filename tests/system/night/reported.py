"""The report of a real night against what the controller logged and what was done."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from tests.orchestrator.views.report.test_schema import VALIDATOR
from tests.orchestrator.views.report.witness import Witnessed

Json = dict[str, Any]


def reported(config: Path, format_: str = "json") -> str:
    """What `kraftgate report` prints."""
    done = CliRunner().invoke(main, ["report", "--config", str(config), "--format", format_])
    assert done.exit_code == ExitCode.DONE, done.stderr
    return done.stdout


def cluster_of(config: Path) -> Json:
    """The one cluster of the JSON report, which is as its schema says."""
    whole: Json = json.loads(reported(config))
    assert [error.json_path for error in VALIDATOR.iter_errors(whole)] == []
    assert whole["audit"]["intact"]
    (cluster,) = whole["clusters"]
    return dict(cluster)


def by_registration(cluster: Json) -> dict[tuple[int, int], Json]:
    """Broker and offset of its registration -> what the report says of it."""
    return {
        (broker["id"], one["registered_offset"]): one
        for broker in cluster["brokers"]
        for one in broker["incarnations"]
    }


def is_told_as_logged(theirs: Witnessed, ours: Json) -> None:
    """Registration, hold, exposure and completion, to the millisecond; and every assignment."""
    assert ours["registered_at"] == iso_of(theirs.registered_ms)
    assert ours["mode"] == theirs.mode
    held = [ours["held"]] if ours["held"] else []
    for told, spans in ((held, theirs.held), (ours["exposed"], theirs.exposed)):
        assert [(each["began_at"], each["ended_at"]) for each in told] == [
            (iso_of(began), None if ended is None else iso_of(ended)) for began, ended in spans
        ]
        assert [each["duration_ms"] for each in told] == [
            ended - began for began, ended in spans if ended is not None
        ]
    assert ours["completed_offset"] == theirs.completed_offset
    found = ours["assignments"]
    assert (0 if found is None else found["assigned"]) == theirs.assigned


def iso_of(moment_ms: int) -> str:
    """As the report writes a moment; with the standard library alone."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
