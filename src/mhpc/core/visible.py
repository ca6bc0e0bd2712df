"""Text that is safe to show: what a terminal would obey is spelt out instead."""

import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Controls, marks that turn the direction of writing, halves of characters, odd line ends."""

_PLAIN = {"\n", "\u200c", "\u200d"}
"""Line ends, and what joins or parts letters in some scripts."""


def visible(text: str) -> str:
    r"""Return text with what a terminal would obey, or would not show, as Python spells it.

    >>> print(visible("\x1b[2Jbee"))
    \x1b[2Jbee
    """
    if text.isprintable():
        return text
    return "".join(map(_spelt, text))


def _spelt(character: str) -> str:
    if character in _PLAIN or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode()
