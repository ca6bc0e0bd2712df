"""What can go wrong, each also a builtin so that ``except ValueError`` keeps working.

A message says what is wrong, which value, where, and what would do, in one line. The command
line prints it and exits with ``exit_code``: 1 when the data are wrong, 2 when the call is.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_LONGEST = 1600
"""Characters of a message that is shown whole."""


class MhpcError(Exception):
    """Anything that mhpc refuses, with a message fit for the person who can mend it.

    What a file holds may be in it, and is as long as it likes; beginning and end are shown.
    """

    exit_code = 1

    def __str__(self) -> str:
        message = super().__str__()
        if len(message) <= _LONGEST:
            return message
        return f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 4 :]}"


class DataError(MhpcError, ValueError):
    """The data contradict themselves or what they should be."""


class UnreadableError(MhpcError, OSError):
    """A file is missing, is not a file, or is not in a format that can be read."""


class MissingColumnError(DataError, LookupError):
    """A table lacks a column that it needs."""


class UnknownLabelError(DataError, LookupError):
    """A label is not in the taxonomy."""


class UnknownInstanceError(DataError, LookupError):
    """A truth names an instance that has no votes."""


class TaxonomyError(DataError):
    """The hierarchy is not one: a cycle, a parent that is no label, a label twice."""


class TooLargeError(MhpcError, MemoryError):
    """The chosen method would need more memory than there is."""


class WorkerError(MhpcError, RuntimeError):
    """A process that worked for this one died."""


class MissingExtraError(MhpcError, ImportError):
    """Something needs a package that is not installed."""

    exit_code = 2


class OutputExistsError(MhpcError, FileExistsError):
    """The output folder is there already, or is not ours to replace."""

    exit_code = 2


class UnwritableError(MhpcError, OSError):
    """The output cannot be put where it was asked for."""

    exit_code = 2


class ParameterError(MhpcError, ValueError):
    """A parameter is unknown or out of its range."""

    exit_code = 2


class UnknownMethodError(MhpcError, LookupError):
    """No method has that name."""

    exit_code = 2


class MhpcWarning(UserWarning):
    """Something was done that its owner should know of; the result stands."""


class ConvergenceWarning(MhpcWarning):
    """An iteration stopped before it had settled."""


_COMPARED = 200
"""Characters of the longest word that others are compared with."""


def suggest(wrong: str, valid: Iterable[str], *, most: int = 3) -> str:
    """Return the clause `` (nearest: 'a', 'b')`` for a message, or nothing if none is near."""
    # To compare two texts takes the product of their lengths: long ones are not mistyped words.
    near: list[str] = []
    if len(wrong) <= _COMPARED:
        words = [word for word in valid if len(word) <= _COMPARED]
        near = get_close_matches(wrong, words, n=most, cutoff=0.6)
    return f" (nearest: {quote_list(near)})" if near else ""


def quote_list(values: Sequence[str], *, most: int = 8) -> str:
    """Return ``'a', 'b' and 3 more``: values for a message, each cut to a readable length."""
    shown = ", ".join(repr(_shortened(value)) for value in values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most:,} more"


def pluralize(count: int, noun: str) -> str:
    """Return ``1 row`` or ``2,000 rows``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _shortened(value: str, *, length: int = 60) -> str:
    return value if len(value) <= length else f"{value[: length - 1]}…"
