"""Ids in what rich prints: never markup, never commands to the terminal."""

from rich.markup import escape

from mhpc.core.visible import visible


def shown(text: str) -> str:
    r"""Return text for rich in which brackets stay brackets, and controls are spelt out.

    >>> print(shown("[red]\x1b[2J"))
    \[red]\x1b[2J
    """
    return escape(visible(text))
