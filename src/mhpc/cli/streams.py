"""Standard streams that may be closed, full, or without a reader.

Python reports such a stream late, at exit, or not at all, and gives the number of a closed stream
to the next file that is opened. Here the three numbers are always taken, a write fails at once with
an error that names the stream, and what cannot be written is not tried again at exit.
"""

import errno
import io
import os
import select
import sys
from contextlib import suppress
from typing import Any

from mhpc.errors import FailedWriteError

STDIN, STDOUT, STDERR = range(3)


def guard_streams() -> None:
    """Replace the standard streams of this process by ones that fail in plain words.

    Data that cannot be written to standard output are an error, unless the reader has gone away:
    then the process ends with success. Messages that cannot be written are dropped.
    """
    closed = reserve_streams()
    encoding, errors = "utf-8", "strict"
    if sys.stdout is None or _is_file(sys.stdout):
        # Tables are read as UTF-8, so they are written as UTF-8, whatever the locale is.
        sys.stdout = _open(_Output(STDOUT, closed=STDOUT in closed), sys.stdout, encoding, errors)
    if sys.stderr is None or _is_file(sys.stderr):
        if sys.stderr is not None:
            encoding = sys.stderr.encoding
        raw = _Messages(STDERR, closed=STDERR in closed)
        sys.stderr = _open(raw, sys.stderr, encoding, "backslashreplace")


def reserve_streams() -> set[int]:
    """Let the numbers of closed streams lead nowhere, and return those numbers.

    Otherwise the next file that is opened would get the number, and with it the messages of
    libraries. Standard input cannot be read then, and standard output cannot be written.

    A number that a library took while it was imported stays with that library: libffi, for one,
    keeps a file open. Python knows since its start that the stream was closed.
    """
    modes = {STDIN: os.O_WRONLY, STDOUT: os.O_RDONLY, STDERR: os.O_WRONLY}
    streams = (sys.stdin, sys.stdout, sys.stderr)
    closed = {number for number, stream in enumerate(streams) if stream is None}
    for number, mode in modes.items():
        try:
            os.fstat(number)
        except OSError:
            closed.add(number)
            # The lowest free number is given out, and lower ones are taken by now.
            os.set_inheritable(os.open(os.devnull, mode), True)
    return closed


def flush_output() -> None:
    """Write what is buffered, while an error can still be reported."""
    if sys.stdout is not None:
        sys.stdout.flush()


def flush_output_quietly() -> None:
    """Write what is buffered as far as possible, after an error that is reported instead."""
    with suppress(OSError, ValueError, SystemExit):
        flush_output()


class _Stream(io.FileIO):
    """A standard stream that ignores all data after a failure."""

    def __init__(self, number: int, *, closed: bool) -> None:
        if closed:  # The number may be that of another file by now.
            number = os.open(os.devnull, os.O_RDONLY)
        super().__init__(number, "wb", closefd=False)
        self._reason = "it is closed" if closed else ""
        self._failed = False

    def write(self, data: Any, /) -> int:
        size = memoryview(data).nbytes
        if self._failed:
            return size
        try:
            while (written := super().write(data)) is None:
                # The stream does not block, and its reader is slow.
                select.select([], [self], [])
        except OSError as error:
            self._failed = True
            self._handle(error)
            return size
        return written

    def _handle(self, error: OSError) -> None:
        """Report that a write failed."""
        raise NotImplementedError


class _Output(_Stream):
    """Standard output: data that are lost are an error, unless nobody reads them."""

    def _handle(self, error: OSError) -> None:
        if error.errno in (errno.EPIPE, errno.ECONNRESET):
            # Not an OSError: click and rich would exit with 1.
            raise SystemExit(0)
        raise FailedWriteError(
            f"standard output cannot be written: {self._reason or error.strerror}"
        ) from None


class _Messages(_Stream):
    """Standard error: messages that cannot be written are dropped."""

    def _handle(self, error: OSError) -> None:
        pass


def _is_file(stream: object) -> bool:
    """Return whether a stream is Python's own; a Windows console, for example, is not."""
    if not isinstance(stream, io.TextIOWrapper):
        return False
    return type(getattr(stream.buffer, "raw", stream.buffer)) is io.FileIO


def _open(raw: _Stream, old: object, encoding: str, errors: str) -> io.TextIOWrapper:
    line_buffering = isinstance(raw, _Messages)
    if isinstance(old, io.TextIOWrapper):
        old.flush()
        errors = old.errors or errors
        line_buffering = old.line_buffering or old.write_through
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=line_buffering)
