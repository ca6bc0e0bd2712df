"""What an attack is: files in a folder, and commands with their streams, limits and signals."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TIME_LIMIT = 60.0
"""Seconds after which a command hangs."""


@dataclass(frozen=True)
class Step:
    """One command.

    Attributes
    ----------
    words : sequence of str
        The arguments of ``mhpc``.
    outputs : sequence of str
        Patterns of what it may create or change if it succeeds, relative to the folder.
    stdin, stdout, stderr : str
        The states of the streams; see `stress.faults.server`. ``file:NAME`` is a file in the
        folder.
    limits : mapping of str to int
        Resource limits by their names in `resource`, such as ``RLIMIT_AS``.
    environment : mapping of str to str
        Variables to set.
    fresh : bool
        Whether to start a new interpreter. Otherwise the command is a fork of one that has
        imported everything, which is much quicker, but has its streams and limits set late.
    signal : (number, seconds), optional
        A signal to send after some time.
    kill_at_move : int, optional
        The move of a file or folder before which the process kills itself, where two folders cannot
        be exchanged in one step.
    timeout : float, optional
        Seconds after which this command hangs, if not `TIME_LIMIT`.
    check : callable, optional
        Yields what is wrong with a success, from the folder and standard output.
    """

    words: Sequence[str]
    outputs: Sequence[str] = ()
    stdin: str = "null"
    stdout: str = "captured"
    stderr: str = "captured"
    limits: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = False
    signal: tuple[int, float] | None = None
    kill_at_move: int | None = None
    timeout: float | None = None
    check: Callable[[Path, str], Iterator[str]] | None = None


@dataclass(frozen=True)
class Attack:
    """A fault in words, and the commands that meet it, in order."""

    fault: str
    steps: Sequence[Step]


@dataclass(frozen=True)
class End:
    """How a command ended.

    Attributes
    ----------
    status : int
        The exit code; minus the number of the signal that ended it.
    hung : bool
        Whether it was killed because it took too long.
    stdout, stderr : str
        What it wrote, if that was captured.
    left : sequence of int
        Processes that it left running.
    """

    status: int
    hung: bool
    stdout: str
    stderr: str
    left: Sequence[int] = ()
