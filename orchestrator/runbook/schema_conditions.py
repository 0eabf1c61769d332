"""Converts signatures, such as `zk_controller(kraft|zookeeper)`, `isr_full[(broker)]`, to patterns.

A word in a signature is either literal or the name of a kind of value; this module has the kinds.
"""

import re
from typing import Any, Final

from migration.assessment.hazards import HazardKind
from migration.image.summary import Phase

_ID: Final = "[0-9]{1,10}"
_VALUES: Final = {
    "broker": f"(?:broker|{_ID})",
    "controller": f"(?:controller|{_ID})",
    "N": "[0-9]{1,19}",
    "PHASE": "(?:" + "|".join(Phase) + ")",
    "HAZARD": "(?:" + "|".join(HazardKind) + ")",
    "version": r"[0-9]+\.[0-9]+(?:-IV[0-9]+)?",
    "duration": r"(?:(?:[0-9]+(?:\.[0-9]+)?(?:ms|[dhms]))+|PT?[0-9][0-9A-Z.]*)",
}
_SIGNATURE: Final = re.compile(
    r"(?P<name>\w+)(?:(?P<may>\[)?\((?P<needed>[^\[\]()]*)(?P<more>(?:\[, [^\[\]]*\])*)\)\]?)?"
)
_MORE: Final = re.compile(r"\[, ([^\[\]]*)\]")


def pattern_of(signature: str) -> dict[str, Any]:
    """Return the part of the schema that accepts the conditions of one kind.

    Raises:
        ValueError: the text is not a signature.
    """
    match = _SIGNATURE.fullmatch(signature)
    if match is None:
        raise ValueError(f"{signature!r} is no signature of a condition")
    name, needed = match["name"], match["needed"]
    if needed is None:
        return {"const": name}
    arguments = r"\s*,\s*".join(_value(word) for word in needed.split(", "))
    for word in _MORE.findall(match["more"]):
        arguments += rf"(?:\s*,\s*{_value(word)})?"
    call = rf"\(\s*{arguments}\s*\)"
    return {"pattern": f"^{name}{f'(?:{call})?' if match['may'] else call}$"}


def _value(words: str) -> str:
    parts = [_VALUES.get(word, re.escape(word).replace(r"\-", "-")) for word in words.split("|")]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"
