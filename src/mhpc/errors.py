"""The errors and warnings of mhpc, and helpers for their messages.

Every error is also a builtin one, so that ``except ValueError`` works. A message says in one line
what is wrong, which value, where, and what would work. The command line prints it and exits with
``exit_code``: 1 if the data are wrong, 2 if the call is.

What a message advises has one name in Python and another on the command line. `option` puts it
into the message as data: ``str(error)`` says ``unknown='drop'``, and `spell_options`, by which the
command line prints messages, says ``--unknown drop``.
"""

import json
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from traceback import walk_tb
from typing import Any, Self

_MAX_MESSAGE = 1600
"""The length up to which a message is shown in full."""

INTERNAL_ERROR = "internal error"
"""How the message of an error begins that should not have happened."""

_MAX_WORD = 200
"""The length up to which words are compared; the time grows with the product of both lengths."""

_MAX_COMPARED = 20_000
"""The number of words up to which all of them are compared with a wrong one."""

_OPTION = re.compile("\x02([^\x02\x03]*)\x03")
"""An option within a message: its name, its value and its command as JSON."""

_ARGUMENTS = {"taxonomy_format": "format", "taxonomy_columns": "columns"}
"""The settings that are called otherwise where Python takes them."""

_FLAGS = {"columns": "column", "taxonomy_columns": "column", "parameters": "set"}
"""The settings that are called otherwise on the command line."""

_SILENT: ContextVar[bool] = ContextVar("silent", default=False)
_NOTED: ContextVar["tuple[list[MhpcWarning], ...]"] = ContextVar("noted warnings", default=())

_SHELL_MARKS = frozenset(";|&<>()$`\\\"' *?[]#~!")
"""Characters that mean something else to a shell."""


class MhpcError(Exception):
    """An error that the user can correct, with a message that says how.

    A message is one line. It may quote a file, and so be of any length; of a long one the beginning
    and the end are shown.

    Examples
    --------
    >>> import mhpc
    >>> try:
    ...     mhpc.read_taxonomy(["rose"])
    ... except mhpc.MhpcError as error:
    ...     print(error)
    the taxonomy has one label, 'rose': there is nothing to choose between; give at least two
    """

    exit_code = 1

    @property
    def message(self) -> str:
        """The message with its options as data, for a message that quotes it."""
        return super().__str__()

    def __str__(self) -> str:
        return _abridge(" ".join(spell_arguments(self.message).split()))


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

    def __new__(cls, *args: object) -> Self:
        """Make an error; MemoryError refuses to make those of other classes, as Dask asks it to."""
        return Exception.__new__(cls, *args)


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


class FailedWriteError(UnwritableError):
    """Data could not be written though the place is right: the disk is full, for example."""

    exit_code = 1


class ParameterError(MhpcError, ValueError):
    """A parameter is unknown or out of range."""

    exit_code = 2


class UnknownMethodError(MhpcError, LookupError):
    """There is no method with this name."""

    exit_code = 2


class MhpcWarning(UserWarning):
    """Something that the user should know; the result is valid.

    Examples
    --------
    >>> import warnings, mhpc
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", mhpc.MhpcWarning)
    ...     mhpc.read_votes([("1", "ann", "rose"), ("1", "ann", "rose")])
    Votes(1 votes of 1 sources on 1 instances)
    """

    def __str__(self) -> str:
        return spell_arguments(super().__str__())


class ReadingWarning(MhpcWarning):
    """An input was understood in one of several possible ways; usually there is nothing to do."""


class ConvergenceWarning(MhpcWarning):
    """An iteration stopped before it converged."""


def warn(message: str, category: type[MhpcWarning] = MhpcWarning, *, stacklevel: int = 1) -> None:
    """Warn, unless within `silence_warnings`.

    The filters of `warnings` belong to the whole process: a thread that changes them for a while
    changes them for all others, and two that do so at the same time may not restore them. What is
    silenced here is silenced for the caller only.
    """
    if _SILENT.get():
        return
    for noted in _NOTED.get():
        noted.append(category(message))
    warnings.warn(message, category, stacklevel=stacklevel + 1)


@contextmanager
def silence_warnings() -> Iterator[None]:
    """Let `warn` do nothing within the block, and in the threads that it starts."""
    before = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(before)


@contextmanager
def note_warnings() -> Iterator[list[MhpcWarning]]:
    """Return a list of what `warn` says within the block, whether or not filters show it.

    What is said within a block in this one is in the lists of both.
    """
    noted: list[MhpcWarning] = []
    before = _NOTED.set((*_NOTED.get(), noted))
    try:
        yield noted
    finally:
        _NOTED.reset(before)


def option(name: str, value: Any = None, *, command: str | None = None) -> str:
    """Return an option for a message, in a form that is spelled when the message is shown.

    Parameters
    ----------
    name : str
        The name of the setting, which is that of the argument: ``"unknown"``.
    value : str, int, True or mapping, optional
        What to set it to; True for a flag; none to name the option only.
    command : str, optional
        The command that has the option, if no function of Python has such an argument.

    Examples
    --------
    >>> print(DataError(f"leave such labels out with {option('unknown', 'drop')}"))
    leave such labels out with unknown='drop'
    >>> spell_options(DataError(f"choose one with {option('columns', {'label': 'NAME'})}"))
    'choose one with --column label=NAME'
    """
    return f"\x02{json.dumps([name, value, command])}\x03"


def spell_arguments(message: str) -> str:
    """Return a message in which options are arguments of Python."""
    return _spell(message, _as_argument)


def spell_options(message: object) -> str:
    """Return a message, error or warning in which options are those of the command line."""
    if isinstance(message, MhpcError | MhpcWarning) and message.args:
        message = message.args[0]
    return _abridge(_spell(str(message), _as_option))


def _spell(message: str, spelling: Callable[[str, Any, str | None], str]) -> str:
    def replace(match: re.Match[str]) -> str:
        try:
            name, value, command = json.loads(match[1])
        except ValueError:
            # The name of a file may contain anything.
            return match[0]
        return spelling(name, value, command)

    return _OPTION.sub(replace, message)


def _as_argument(name: str, value: Any, command: str | None) -> str:
    if command is not None:
        return f"mhpc {command} {_as_option(name, value, None)}"
    name = _ARGUMENTS.get(name, name)
    return name if value is None else f"{name}={value!r}"


def _as_option(name: str, value: Any, command: str | None) -> str:
    flag = f"--{_FLAGS.get(name, name).replace('_', '-')}"
    if isinstance(value, Mapping):
        table = "taxonomy." if name == "taxonomy_columns" else ""
        return " ".join(f"{flag} {table}{key}={entry}" for key, entry in value.items())
    if value is None or value is True:
        return flag
    # A semicolon or a bar would end the command in a shell.
    return f"{flag} {shlex.quote(str(value)) if set(str(value)) & _SHELL_MARKS else value}"


def _abridge(message: str) -> str:
    if len(message) <= _MAX_MESSAGE:
        return message
    return f"{message[: _MAX_MESSAGE // 2]} … {message[-_MAX_MESSAGE // 4 :]}"


def describe_bug(error: BaseException) -> str:
    """Return in one line an error that should not have happened, and where it did.

    >>> describe_bug(KeyError("bee"))
    "internal error: KeyError: 'bee'; please report it"
    """
    try:
        message = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - this is the last resort
        message = ""
    message = _shorten(message, length=_MAX_MESSAGE // 4)
    kind = ": ".join(part for part in (type(error).__name__, message) if part)
    return f"{INTERNAL_ERROR}: {kind}{_place(error)}; please report it"


def _place(error: BaseException) -> str:
    """Return the last line of this package that an error came from, or of another one."""
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    package = Path(__file__).parent
    own = [(name, line) for name, line in frames if Path(name).is_relative_to(package)]
    if own:
        name, line = own[-1]
        return f" ({Path(name).relative_to(package).as_posix()}:{line})"
    return f" ({Path(frames[-1][0]).name}:{frames[-1][1]})" if frames else ""


def suggest(wrong: str, valid: Iterable[str], *, most: int = 3) -> str:
    """Return the clause `` (nearest: 'a', 'b')`` for a message, or nothing if no word is near."""
    nearest: list[str] = []
    if len(wrong) <= _MAX_WORD:
        words = [word for word in valid if len(word) <= _MAX_WORD]
        if len(words) > _MAX_COMPARED:
            # A comparison takes microseconds: of many words, those that begin alike are compared.
            alike = (word for word in words if word[:2].lower() == wrong[:2].lower())
            words = [*islice(alike, _MAX_COMPARED)]
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
