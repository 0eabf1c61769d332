"""Names the nearest known word to one that is not known."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Continue a sentence about an unknown word: its nearest neighbour, else all there are."""
    words = sorted(known)
    near = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    return "known are " + ", ".join(f"`{name}`" for name in words)
