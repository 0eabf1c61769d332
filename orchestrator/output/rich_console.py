"""The rich console that prints every view: it shows hidden characters and reads no markup."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Span, Text

from orchestrator.output.visible import visible


def console(**options: Any) -> Console:  # noqa: ANN401  # rich's own
    """Return a console for rich renderables; it reads no markup and shows hidden characters."""
    return _VisibleConsole(markup=False, emoji=False, highlight=False, **options)


class _VisibleConsole(Console):
    """Makes the hidden characters of every Text visible before it is laid out."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render a part of a view; rich calls this for every part."""
        if isinstance(renderable, str):
            renderable = visible(renderable)
        elif isinstance(renderable, Text):
            renderable = _shown(renderable)
        return super().render(renderable, options)


def _shown(text: Text) -> Text:
    """Return the text with hidden characters visible, and its styles on the same characters."""
    plain = text.plain
    if plain.isprintable() or visible(plain) == plain:
        return text
    shown = [visible(each) for each in plain]
    at = [0]
    for each in shown:
        at.append(at[-1] + len(each))
    copy = text.blank_copy("".join(shown))
    copy.spans = [
        Span(at[each.start], at[min(each.end, len(plain))], each.style) for each in text.spans
    ]
    return copy
