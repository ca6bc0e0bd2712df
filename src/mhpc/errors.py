"""The errors and warnings of mhpc, and helpers for their messages.

Every error is also a builtin one, so that ``except ValueError`` works. A message says in one line
what is wrong, which value, where, and what would work. The command line prints it and exits with
``exit_code``: 1 if the data are wrong, 2 if the call is.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_MAX_MESSAGE = 1600
"""The length up to which a message is shown in full."""

_MAX_WORD = 200
"""The length up to which words are compared; the time grows with the product of both lengths."""


class MhpcError(Exception):
    """An error that the user can correct, with a message that says how.

    A message may quote a file, and so be of any length; of a long one the beginning and the end are
    shown.
    """

    exit_code = 1

    def __str__(self) -> str:
        message = super().__str__()
        if len(message) <= _MAX_MESSAGE:
            return message
        return f"{message[: _MAX_MESSAGE // 2]} … {message[-_MAX_MESSAGE // 4 :]}"


class DataError(MhpcError, ValueError):
    """The data are inconsistent, or not what they should be."""


class UnreadableError(MhpcError, OSError):
    """A file is missing, is not a file, or is not in a format that can be read."""


class MissingColumnError(DataError, LookupError):
    """A table does not have a column that it needs."""


class UnknownLabelError(DataError, LookupError):
    """A label is not in the taxonomy."""


class UnknownInstanceError(DataError, LookupError):
    """An instance has no votes."""


class TaxonomyError(DataError):
    """The taxonomy has a cycle, a parent that is not a label, or the same label twice."""


class TooLargeError(MhpcError, MemoryError):
    """The method would need more memory than there is."""


class WorkerError(MhpcError, RuntimeError):
    """A worker process died."""


class MissingExtraError(MhpcError, ImportError):
    """A package is needed that is not installed."""

    exit_code = 2


class OutputExistsError(MhpcError, FileExistsError):
    """The output exists already, or is not an output of mhpc and therefore not replaced."""

    exit_code = 2


class UnwritableError(MhpcError, OSError):
    """The output cannot be written to this place."""

    exit_code = 2


class ParameterError(MhpcError, ValueError):
    """A parameter is unknown or out of range."""

    exit_code = 2


class UnknownMethodError(MhpcError, LookupError):
    """There is no method with this name."""

    exit_code = 2


class MhpcWarning(UserWarning):
    """Something that the user should know; the result is valid."""


class ConvergenceWarning(MhpcWarning):
    """An iteration stopped before it converged."""


def suggest(wrong: str, valid: Iterable[str], *, most: int = 3) -> str:
    """Return the clause `` (nearest: 'a', 'b')`` for a message, or nothing if no word is near."""
    nearest: list[str] = []
    if len(wrong) <= _MAX_WORD:
        words = [word for word in valid if len(word) <= _MAX_WORD]
        nearest = get_close_matches(wrong, words, n=most, cutoff=0.6)
    return f" (nearest: {quote_list(nearest)})" if nearest else ""


def quote_list(values: Sequence[str], *, most: int = 8) -> str:
    """Return ``'a', 'b' and 3 more`` for a message, with long values shortened."""
    text = ", ".join(repr(_shorten(value)) for value in values[:most])
    return text if len(values) <= most else f"{text} and {len(values) - most:,} more"


def pluralize(count: int, noun: str) -> str:
    """Return ``1 row`` or ``2,000 rows``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _shorten(value: str, *, length: int = 60) -> str:
    return value if len(value) <= length else f"{value[: length - 1]}…"
