"""Progress: how long work tells that it is getting on."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with a stage's name, the steps done and the steps at most."""


def silent(stage: str, done: int, most: int) -> None:
    """Tell nobody."""
