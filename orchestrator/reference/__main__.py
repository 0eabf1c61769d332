"""`python -m orchestrator.reference`: rewrite the reference pages in `runbooks/handbook`."""

from orchestrator.output.manual import HANDBOOK
from orchestrator.reference.pages import PAGES


def main() -> None:
    """Rewrite every page."""
    for name, page in PAGES.items():
        (HANDBOOK / "reference" / f"{name}.md").write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
