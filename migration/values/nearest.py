"""Suggests the known name that is nearest to an unknown one."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known name, else all."""
    words = sorted(known)
    near = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    return "known are " + ", ".join(f"`{name}`" for name in words)
