"""The published schema is that of the report, and takes what the command writes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from orchestrator.api.report.report import schema, schema_text
from orchestrator.cli.program import main
from tests.orchestrator.views.report.making import Made
from tests.orchestrator.views.report.night import night
from tests.orchestrator.views.report.reporting import run

PUBLISHED = Path("runbooks/report.schema.json")
VALIDATOR = Draft202012Validator(schema(), format_checker=Draft202012Validator.FORMAT_CHECKER)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    made = night(tmp_path_factory.mktemp("schema"))
    whole: dict[str, Any] = json.loads(run(made, "--format", "json").stdout)
    return whole


def test_the_published_file_is_the_schema() -> None:
    fix = "run: kraftgate report --schema > runbooks/report.schema.json"
    assert PUBLISHED.read_text("utf-8") == schema_text(), fix


def test_the_command_prints_it() -> None:
    assert CliRunner().invoke(main, ["report", "--schema"]).stdout == schema_text()


def test_it_is_a_schema_of_2020_12() -> None:
    Draft202012Validator.check_schema(json.loads(schema_text()))


def test_it_takes_the_report(told: dict[str, Any]) -> None:
    assert [error.json_path for error in VALIDATOR.iter_errors(told)] == []


def test_it_takes_a_report_without_anything(tmp_path: Path) -> None:
    made = Made(tmp_path)
    made.store()
    found = json.loads(run(made, "--format", "json").stdout)
    assert [error.json_path for error in VALIDATOR.iter_errors(found)] == []


def test_it_refuses_what_is_none(told: dict[str, Any]) -> None:
    wrong = json.loads(json.dumps(told))
    wrong["clusters"][0]["window"]["began_at"] = 5
    del wrong["clusters"][0]["phase"]
    wrong["novel"] = True
    paths = {error.json_path for error in VALIDATOR.iter_errors(wrong)}
    assert {"$", "$.clusters[0]", "$.clusters[0].window.began_at"} <= paths


def test_everything_is_described() -> None:
    found = schema()["$defs"]
    assert [name for name, each in found.items() if not each.get("description")] == []
