"""The command over a state directory, and its report."""

from click.testing import CliRunner, Result

from orchestrator.api.report.report import Report
from orchestrator.cli.program import main
from orchestrator.cli.report import _redacted
from orchestrator.config.load import load_config
from orchestrator.views.report.build import build
from orchestrator.views.report.gather import gather
from tests.orchestrator.views.report.making import Made


def report_of(made: Made, *clusters: str) -> Report:
    """What the command writes, before it is written."""
    config = load_config(made.config)
    return _redacted(build(gather(config, clusters or ("prod",))), config)


def run(made: Made, *arguments: str) -> Result:
    """The command itself."""
    return CliRunner().invoke(main, ["report", "--config", str(made.config), *arguments])
