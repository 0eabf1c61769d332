"""Makes text from outside safe to print: hidden and direction-changing characters are shown.

Topic names, reasons and commands' output come from outside. Escaping keeps them from being markup;
control characters, and those that change the direction of writing, are shown as their code.
"""

import unicodedata
from typing import Final

_KEPT: Final = frozenset("\n\t")
_HIDING: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    r"""Return the text with hidden characters shown as their code.

    >>> visible("a\u202eb\x1b[2J")
    'a\\u202eb\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(each if _is_seen(each) else _shown(each) for each in text)


def visible_line(text: str) -> str:
    r"""Return the text as one line, with hidden characters and line ends shown as their code.

    >>> visible_line("a\nb")
    'a\\nb'
    """
    return visible(text).replace("\n", "\\n")


def _is_seen(character: str) -> bool:
    return character in _KEPT or unicodedata.category(character) not in _HIDING


def _shown(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
