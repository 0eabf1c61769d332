"""The report as JSON, by `runbooks/report.schema.json`."""

import json

from orchestrator.api.report.report import Report


def json_text(report: Report) -> str:
    """Write it."""
    return json.dumps(report.model_dump(mode="json"), indent=2) + "\n"
