"""What the command line prints of errors and warnings: one line each, wherever they come from."""

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from traceback import walk_tb
from typing import Any

import click

from mhpc.cli.signals import was_signalled
from mhpc.errors import MhpcError, MhpcWarning, describe_bug, spell_options
from mhpc.system.display import escape_control
from mhpc.system.limits import explain_exhaustion


def explain_error(error: BaseException) -> str:
    """Return what an error means, in one line; what nobody foresaw is an internal error."""
    if (message := explain_exhaustion(error)) is not None:
        return message
    if not isinstance(error, MhpcError | OSError):
        if (library := _library_being_loaded(error)) is not None:
            kind = type(error).__name__
            return to_one_line(
                f"{library} cannot be loaded: {kind}: {error}; install it again, and check the "
                "environment variables that it reads"
            )
        hint = "mhpc --debug COMMAND shows the traceback"
        return f"{to_one_line(describe_bug(error))}; {hint}"
    if isinstance(error, FileNotFoundError) and error.filename is None and _has_no_folder():
        return "the current folder is not there any more; change to another one"
    if isinstance(error, OSError) and not isinstance(error, MhpcError) and error.strerror:
        # Python puts the number of the error first, which helps nobody.
        name = error.filename
        return to_one_line(f"{name}: {error.strerror}" if name else error.strerror)
    return to_one_line(error) or type(error).__name__


def say(message: str) -> None:
    """Print a message on standard error, in one line; names of files in it may be anything."""
    click.echo(to_one_line(message), err=True)


def to_one_line(message: object) -> str:
    """Return a message in one line that a terminal only shows, with options."""
    return escape_control(" ".join(spell_options(message).split()))


def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print our own warnings; those of libraries are about code, not about data."""
    if issubclass(category, MhpcWarning):
        _print("warning", to_one_line(message))


def show_no_traceback() -> None:
    """Print in one line what this process reports outside of the command that it runs.

    These are errors in threads, in destructors, at exit, and in what libraries log.
    """
    sys.excepthook = lambda _, error, __: _print("error", explain_error(error))
    threading.excepthook = lambda event: _report(event.exc_value)
    sys.unraisablehook = lambda event: _report(event.exc_value)
    # Whatever PYTHONWARNINGS says, warnings of libraries are neither shown nor errors.
    warnings.simplefilter("ignore")
    # Nor those of processes that this one starts, which inherit these options.
    sys.warnoptions[:] = ["ignore"]
    logging.setLogRecordFactory(_without_traceback(logging.getLogRecordFactory()))
    logging.lastResort = _Errors(logging.ERROR)


def _report(error: BaseException | None) -> None:
    """Print an error after which the command goes on."""
    # A signal may arrive in a destructor; another thread ends the process then.
    if error is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
        _warn(explain_error(error))


def _without_traceback(
    make: Callable[..., logging.LogRecord],
) -> Callable[..., logging.LogRecord]:
    def make_line(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            record.msg, record.args = f"{record.getMessage()}: {explain_error(error)}", ()
        record.exc_info = record.stack_info = None
        return record

    return make_line


class _Errors(logging.Handler):
    """Prints the errors that libraries log, unless their messages go elsewhere."""

    def emit(self, record: logging.LogRecord) -> None:
        _warn(to_one_line(record.getMessage()))


def _warn(message: str) -> None:
    # What a signal has broken off fails in ways that say nothing more.
    if not was_signalled():
        _print("warning", message)


def _print(kind: str, message: str) -> None:
    # When Python shuts down, the stream may be gone.
    with suppress(Exception):
        click.echo(f"mhpc: {kind}: {message}", err=True)


def _has_no_folder() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - Path.cwd() does the same
    except FileNotFoundError:
        return True
    return False


def _library_being_loaded(error: BaseException) -> str | None:
    """Return the library that failed while it was imported, None if that was not the reason."""
    if isinstance(error, ImportError) and error.name and not error.name.startswith("mhpc"):
        return error.name
    for frame, _ in reversed([*walk_tb(error.__traceback__)]):
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("mhpc"):
            return None
        if frame.f_code.co_name == "<module>" and module != "__main__":
            return module.partition(".")[0]
    return None
