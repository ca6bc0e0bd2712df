"""Progress on standard error, for whatever takes longer than a second."""

import os
import sys
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Show: TypeAlias = Literal["auto", "bar", "plain", "none"]
"""A bar, lines, or nothing; auto: a bar on a terminal, lines elsewhere."""

PATIENCE = 1.0
"""Seconds of silence that nobody minds."""

_REDRAW = 0.2
"""Seconds between two looks of a bar."""


@dataclass(frozen=True)
class Stage:
    """How far a stage is, and when and from where it set out."""

    name: str
    done: int
    most: int
    began: float
    first: int

    def then(self, name: str, done: int, most: int, now: float) -> "Stage":
        """Return the same stage further on, or the beginning of another one."""
        if name == self.name and most == self.most and done >= self.done:
            return Stage(name, done, most, self.began, self.first)
        return Stage(name, done, most, now, done)

    def count(self) -> str:
        """Return the steps done of all; nothing where nobody knows how many there are."""
        return f"{self.done:,} of at most {self.most:,}" if self.most else ""

    def rate(self, now: float) -> float | None:
        """Return the steps a second since the stage began, where some are done."""
        steps, seconds = self.done - self.first, now - self.began
        return steps / seconds if self.most and steps > 0 and seconds > 0 else None

    def seconds_left(self, now: float) -> float | None:
        """Return how long the rest takes if it goes on like this."""
        rate = self.rate(now)
        return None if rate is None else max(self.most - self.done, 0) / rate


class StderrProgress:
    """A callable that shows stages: a bar on a terminal, a line a second at most elsewhere."""

    def __init__(self, show: Show = "auto") -> None:
        self._show = _resolved(show)
        self._lock = threading.Lock()
        self._stage = Stage("", 0, 0, 0.0, 0)
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, stage: str, done: int, most: int) -> None:
        """Note how far a stage is; cheap enough for every iteration."""
        with self._lock:
            self._stage = self._stage.then(stage, done, most, time.monotonic())

    def __enter__(self) -> Self:
        if self._show != "none":
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._show != "none":
            self._ticker.join()
        if self._bar is not None:
            self._bar.stop()

    def _tick(self) -> None:
        shown: tuple[str, str] | None = None
        while not self._stop.wait(_REDRAW if self._bar else PATIENCE):
            with self._lock:
                stage = self._stage
            if not stage.name:
                continue
            if self._show == "bar":
                self._draw(stage)
            elif (told := (stage.name, stage.count())) != shown:
                sys.stderr.write(f"mhpc: {line(stage, time.monotonic())}\n")
                sys.stderr.flush()
                shown = told

    def _draw(self, stage: Stage) -> None:
        if self._bar is None:
            self._bar = _new_bar()
            self._task = self._bar.add_task("", total=None, count="", pace="")
            self._bar.start()
        assert self._task is not None  # noqa: S101 - set together with the bar
        now = time.monotonic()
        self._bar.update(
            self._task,
            description=stage.name,
            completed=stage.done,
            total=stage.most or None,
            count=f"{stage.done:,}/{stage.most:,}" if stage.most else "",
            pace=pace(stage, now),
        )


def line(stage: Stage, now: float) -> str:
    """Return a stage as a line: its name, the steps done, the time since it began and to go."""
    told = ", ".join(part for part in (stage.name, stage.count()) if part)
    left = stage.seconds_left(now)
    rest = "" if left is None else f", {duration(left)} left"
    return f"{told} ({duration(now - stage.began)}{rest})"


def pace(stage: Stage, now: float) -> str:
    """Return what stands beside a bar: the rate and the time left, or the time since it began."""
    rate, left = stage.rate(now), stage.seconds_left(now)
    if rate is None or left is None:
        return duration(now - stage.began)
    each = f"{rate:,.0f}/s" if rate >= 1 else f"{1 / rate:,.1f} s each"
    return f"{each}, {duration(left)} left"


def duration(seconds: float) -> str:
    """Return a time as people say it: ``8 s``, ``2 min 5 s``, ``3 h 20 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


def _resolved(show: Show) -> Show:
    if show != "auto":
        return show
    return "bar" if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else "plain"


def _new_bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    # Names of methods may hold brackets, which are no markup.
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TextColumn("{task.fields[pace]}"),
    )
    # Whoever asks for a bar gets one, even where rich sees no terminal.
    console = Console(stderr=True, force_terminal=True)
    return Progress(*columns, console=console, transient=True)
