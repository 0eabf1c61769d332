"""`python -m orchestrator.reference`: rewrite the reference pages and the man pages."""

from orchestrator.output.manual import HANDBOOK
from orchestrator.reference.man import MAN, man_pages
from orchestrator.reference.pages import PAGES


def main() -> None:
    for name, page in PAGES.items():
        (HANDBOOK / "reference" / f"{name}.md").write_text(page(), "utf-8")
    MAN.mkdir(exist_ok=True)
    for name, text in man_pages().items():
        (MAN / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
