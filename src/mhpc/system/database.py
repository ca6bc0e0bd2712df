"""DuckDB: connections that load no extensions, quoting, and errors in plain words."""

import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from mhpc.errors import UnwritableError, quote_list
from mhpc.system.files import OPEN_FOLDERS, temporary_root
from mhpc.system.memory import database_memory, process_memory
from mhpc.system.parallel import usable_cores

_CLOSED = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
}
"""The name or content of a file must not make DuckDB fetch and load an extension."""

_NO_REMOTE_FILES = {"async_threads": 0}
"""Threads that wait for remote files; without any there, they only take memory."""


@contextmanager
def database(*, threads: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a new database in memory until the end of the block; by default it uses all cores.

    Where the memory of this process is limited, it uses fewer, and less memory.

    What does not fit into memory goes to a folder of its own among the system's temporary files,
    which DuckDB makes when it needs it and removes when the connection is closed. Its default is
    ``.tmp`` in the current folder.
    """
    folder = _reserve_folder()
    config: dict[str, Any] = {
        **_CLOSED,
        **_NO_REMOTE_FILES,
        "temp_directory": "" if folder is None else str(folder),
    }
    if process_memory() is not None:
        # DuckDB does not know of such limits.
        config["memory_limit"] = f"{database_memory(0)}B"
        threads = threads or usable_cores()
    if threads is not None:
        config["threads"] = threads
    try:
        if folder is not None:
            # Until the end, a signal that cannot wait for it removes the folder.
            OPEN_FOLDERS[folder] = []
        with duckdb.connect(config=config) as connection:
            connection.execute("SET enable_progress_bar = false")
            yield connection
    except (RuntimeError, duckdb.Error) as error:
        _check_interrupt(error)
        raise
    finally:
        if folder is not None:
            OPEN_FOLDERS.pop(folder, None)


_IN_A_CALLBACK = re.compile(
    r"([A-Z][A-Za-z ]* Error: )?(counting|reading|exporting|offering) [^\n]* failed: "
    r"KeyboardInterrupt:\s*"
)
"""What DuckDB says of an interrupt while it asks a dataframe or an Arrow table for its content."""


def _check_interrupt(error: Exception) -> None:
    """Raise what a signal handler of Python raises, of which DuckDB makes an error of its own."""
    # The message of another error may quote a file, and so these words.
    first_line, *others = str(error).strip().splitlines() or [""]
    is_raised = first_line.startswith("Traceback") and others[-1:] == ["KeyboardInterrupt:"]
    if first_line == "Query interrupted" or is_raised or _IN_A_CALLBACK.fullmatch(str(error)):
        raise KeyboardInterrupt from None


def _reserve_folder() -> Path | None:
    """Return the name of a temporary folder; None if the system has none, and nothing can spill."""
    try:
        return temporary_root() / f"mhpc-{os.urandom(8).hex()}"
    except OSError:
        return None


_REASONS = (
    (
        r"Expected Number of Columns: (?P<header>\d+) Found: (?P<cells>\d+)",
        "{row} has {cells} cells where the header has {header}",
    ),
    (
        r"converting column \"(?P<column>.*)\"\. Could not convert string \"(?P<cell>.*)\" to",
        "column {column!r} has {cell!r}, which is not a number",
    ),
    (r"unterminated quote", "{row} opens a quote that does not end with its cell"),
    (r"Maximum line size", "a line is longer than can be read; is a quote left open?"),
    (r"(?i)invalid unicode|invalid utf-?8", "not UTF-8 text; save the file as UTF-8"),
    (r"state machine", "not CSV; are its line ends mixed, or is a quote out of place?"),
)
"""Messages of DuckDB, and how a person would say it."""

_MAX_CELL = 60
"""Characters of a cell or column name that a message shows."""


def identifier(name: str) -> str:
    """Return SQL for a name."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return SQL for a text."""
    return "'" + text.replace("'", "''") + "'"


def one_file(path: Path) -> str:
    """Return SQL for the name of a file: to DuckDB a bare ``votes[1].csv`` is ``votes1.csv``."""
    return literal(re.sub(r"[*?\[]", r"[\g<0>]", str(path)))


def some_files(paths: Iterable[Path]) -> str:
    """Return SQL for a list of files."""
    return f"[{', '.join(map(one_file, paths))}]"


def text_lines(path: Path, compression: str, *, longest: int = 1 << 21) -> str:
    """Return SQL for a relation with the lines of a text file, its only column ``line``."""
    return (
        f"read_csv({one_file(path)}, compression='{compression}', auto_detect=false, "
        f"header=false, delim='\x01', quote='', escape='', strict_mode=false, "
        f"max_line_size={longest}, "
        "hive_partitioning=false, columns={'line': 'VARCHAR'})"
    )


def rows_of_parquet(path: Path) -> int:
    """Return how many rows a Parquet file says it has; 0 where it is none, or damaged."""
    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            return 0
    try:
        with database() as connection:
            counts = connection.execute(
                f"SELECT num_rows FROM parquet_file_metadata([{one_file(path)}])"
            ).fetchall()
        return sum(rows for (rows,) in counts)
    except duckdb.Error:
        # Reading the file will say what is wrong with it.
        return 0


def reason(error: duckdb.Error) -> str:
    """Return where and what an error is, to follow the name of a file in a message.

    Raises
    ------
    MemoryError
        When memory ran out, which is not a fault of the file.
    """
    _check_interrupt(error)
    text = str(error)
    if isinstance(error, duckdb.OutOfMemoryException) and _disk_error(text) is None:
        raise MemoryError(text)
    place = re.search(r"on Line: (\d+)\nOriginal Line: (.*)", text)
    where = f", line {int(place[1]):,}" if place else ""
    row = quote_list([place[2].strip()]) if place else "a row"
    for pattern, message in _REASONS:
        if match := re.search(pattern, text):
            words = {name: _shorten(value) for name, value in match.groupdict().items()}
            return f"{where}: {message.format(row=row, **words)}"
    lines = [line for line in text.splitlines() if not re.search(r"(on|Original) Line: ", line)]
    # What kind of error it is to DuckDB does not help the user.
    message = re.sub(r"^([A-Za-z][\w ]* )?Error: ", "", " ".join(lines[:1]))
    return f"{where}: {message[:200]}"


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_CELL else f"{text[: _MAX_CELL - 1]}…"


_DISK_FULL = {
    r"No space left|max_temp_directory_size": errno.ENOSPC,
    r"quota": errno.EDQUOT,
    r"File too large": errno.EFBIG,
}
"""What DuckDB says when the disk is full, temporary files included."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of DuckDB that writes to a path into errors of Python.

    Raises
    ------
    OSError, MemoryError, UnwritableError
        When the disk is full; when memory ran out; when the path cannot be written for another
        reason.
    """
    try:
        yield
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        text = str(error)
        if (number := _disk_error(text)) is not None:
            raise OSError(number, os.strerror(number), str(path)) from None
        if isinstance(error, duckdb.OutOfMemoryException):
            raise MemoryError(text) from None
        raise UnwritableError(f"{path} cannot be written: {' '.join(text.split())}") from None


def _disk_error(text: str) -> int | None:
    """Return the number of the error if the disk is full, None otherwise."""
    matches = (
        number for pattern, number in _DISK_FULL.items() if re.search(pattern, text, re.IGNORECASE)
    )
    return next(matches, None)
