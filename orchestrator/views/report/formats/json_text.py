"""The report as JSON, with the schema `runbooks/report.schema.json`."""

import json

from orchestrator.api.report.report import Report


def json_text(report: Report) -> str:
    """Return the report as indented JSON with a final newline."""
    return json.dumps(report.model_dump(mode="json"), indent=2) + "\n"
