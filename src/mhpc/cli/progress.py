"""Progress on standard error, for stages that take longer than a second."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from mhpc.system.display import PER_CENT, escape_control

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Display: TypeAlias = Literal["auto", "bar", "plain", "none"]
"""A bar, plain lines, or nothing; auto: a bar on a terminal, plain lines elsewhere."""

SECONDS_BETWEEN_LINES = 1.0
"""The time between two lines, and before the first one."""

SECONDS_BETWEEN_REPEATS = 30.0
"""The time after which a line is printed again though no step was done: the command is at work."""

_SECONDS_BETWEEN_FRAMES = 0.2
"""The time between two updates of a bar."""


class StderrProgress:
    """A callable that shows the progress of stages on standard error.

    Parameters
    ----------
    display : "auto", "bar", "plain" or "none"
        A bar, at most one line per `interval`, or nothing.
    interval : float
        Seconds between two lines, and before anything is shown.
    repeat : float
        Seconds after which the line of a stage without new steps is printed again.
    """

    def __init__(
        self,
        display: Display = "auto",
        *,
        interval: float = SECONDS_BETWEEN_LINES,
        repeat: float = SECONDS_BETWEEN_REPEATS,
    ):
        self._display = _resolve(display)
        self._interval, self._repeat = interval, repeat
        self._lock = threading.Lock()
        self._stage = Stage("", 0, 0, 0.0, 0)
        self._lines: list[str] = []
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, stage: str, done: int, most: int) -> None:
        """Record the progress of a stage; cheap enough to call in every iteration."""
        with self._lock:
            self._stage = self._stage.advance(stage, done, most, time.monotonic())

    def write(self, line: str) -> None:
        """Show a line that stays, above the bar if there is one; nothing in the first `interval`.

        What is finished sooner than that needs no such lines.
        """
        with self._lock:
            self._lines.append(escape_control(line))

    def __enter__(self) -> Self:
        if self._display != "none":
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._display != "none":
            self._ticker.join()
        if self._bar is not None:
            self._bar.stop()

    def _tick(self) -> None:
        last, printed = ("", ""), 0.0
        while not self._stop.wait(_SECONDS_BETWEEN_FRAMES if self._bar else self._interval):
            with self._lock:
                stage, lines, self._lines = self._stage, self._lines, []
            for line in lines:
                self._print(line)
            if not stage.name:
                continue
            if self._display == "bar":
                self._draw(stage)
                continue
            current, now = (stage.name, stage.format_count()), time.monotonic()
            if current != last or now - printed >= self._repeat:
                self._print(format_line(stage, now))
                last, printed = current, now

    def _print(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(f"mhpc: {line}", markup=False, highlight=False, emoji=False)
        else:
            sys.stderr.write(f"mhpc: {line}\n")
            sys.stderr.flush()

    def _draw(self, stage: "Stage") -> None:
        if self._bar is None:
            self._bar = _make_bar()
            self._task = self._bar.add_task("", total=None, count="", pace="")
            self._bar.start()
        assert self._task is not None  # noqa: S101 - set together with the bar
        self._bar.update(
            self._task,
            description=stage.name,
            completed=stage.done,
            total=stage.most or None,
            count=stage.format_count(short=True),
            pace=format_pace(stage, time.monotonic()),
        )


@contextmanager
def show_stage(name: str, display: Display) -> Iterator[None]:
    """Show a single stage of unknown length as long as the block lasts."""
    with StderrProgress(display) as progress:
        progress(name, 0, 0)
        yield


@dataclass(frozen=True)
class Stage:
    """The progress of a stage.

    Attributes
    ----------
    name : str
        The name of the stage.
    done, most : int
        The steps that are done, and the largest number there can be; 0 if it is not known.
    began : float
        The time at which it began.
    first : int
        The steps that were done at that time.
    """

    name: str
    done: int
    most: int
    began: float
    first: int

    def advance(self, name: str, done: int, most: int, now: float) -> "Stage":
        """Return the same stage with more steps done, or the beginning of another stage."""
        if name == self.name and most == self.most and done >= self.done:
            return Stage(name, done, most, self.began, self.first)
        return Stage(name, done, most, now, done)

    def format_count(self, *, short: bool = False) -> str:
        """Return the steps done and in total, per cent as such; nothing if that is not known."""
        if not self.most:
            return ""
        if self.most == PER_CENT:
            return f"{self.done} %"
        return f"{self.done:,}{'/' if short else ' of at most '}{self.most:,}"

    def rate(self, now: float) -> float | None:
        """Return the steps per second since the stage began, if any are done."""
        steps, seconds = self.done - self.first, now - self.began
        return steps / seconds if self.most and steps > 0 and seconds > 0 else None

    def seconds_left(self, now: float) -> float | None:
        """Return how long the rest takes at the same rate."""
        rate = self.rate(now)
        return None if rate is None else max(self.most - self.done, 0) / rate


def format_line(stage: Stage, now: float) -> str:
    """Return a stage as a line: its name, the steps done, the time elapsed and left."""
    text = ", ".join(part for part in (stage.name, stage.format_count()) if part)
    left = stage.seconds_left(now)
    ending = "" if left is None else f", {format_duration(left)} left"
    return f"{text} ({format_duration(now - stage.began)}{ending})"


def format_pace(stage: Stage, now: float) -> str:
    """Return the text beside a bar: the rate and the time left, or the time elapsed."""
    rate, left = stage.rate(now), stage.seconds_left(now)
    if rate is None or left is None:
        return format_duration(now - stage.began)
    time_left = f"{format_duration(left)} left"
    if stage.most == PER_CENT:
        return time_left
    speed = f"{rate:,.0f}/s" if rate >= 1 else f"{1 / rate:,.1f} s each"
    return f"{speed}, {time_left}"


def format_duration(seconds: float) -> str:
    """Return a time as ``8 s``, ``2 min 5 s`` or ``3 h 20 min``."""
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    minutes, rest = divmod(total, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


def _resolve(display: Display) -> Display:
    if display != "auto":
        return display
    return "bar" if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else "plain"


def _make_bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    # Names of methods may contain brackets, which are not markup.
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TextColumn("{task.fields[pace]}"),
    )
    # --progress bar shows a bar even where rich does not detect a terminal.
    console = Console(stderr=True, force_terminal=True)
    return Progress(*columns, console=console, transient=True)
