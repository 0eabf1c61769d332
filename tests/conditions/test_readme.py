"""The README's table of conditions is the one that `known` gives."""

from pathlib import Path

from migration.assessment.conditions import known

README = Path(__file__).parents[2] / "README.md"


def rows() -> list[str]:
    """A row of the table for each condition; GFM wants a bar escaped, in code too."""
    return [
        f"| `{each.signature.replace('|', chr(92) + '|')}` | {each.explains} |" for each in known()
    ]


def test_the_readme_has_every_condition_as_it_is() -> None:
    told = README.read_text("utf-8").splitlines()
    first = told.index(rows()[0])
    assert told[first : first + len(rows())] == rows(), "\n".join(rows())
    assert not told[first + len(rows())].startswith("|")
