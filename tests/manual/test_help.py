"""`kraftgate help` prints the handbook."""

from click.testing import CliRunner, Result

from orchestrator.cli.program import main
from orchestrator.output.manual import HANDBOOK, topics


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["help", *arguments])


def test_it_lists_every_topic() -> None:
    listed = [line.split()[0] for line in run().stdout.splitlines()]
    assert listed == list(topics())
    folders = (HANDBOOK, HANDBOOK / "reference", HANDBOOK.parent / "alerts")
    pages = [page for folder in folders for page in folder.glob("*.md")]
    assert {each.stem for each in pages} == {*listed, "README"}


def test_it_prints_a_page() -> None:
    done = run("rollback")
    assert done.exit_code == 0
    assert done.stdout == (HANDBOOK / "rollback.md").read_text("utf-8")


def test_it_names_the_nearest_of_an_unknown_topic() -> None:
    done = run("conditons")
    assert done.exit_code == 2
    assert "did you mean `conditions`?" in done.stderr
