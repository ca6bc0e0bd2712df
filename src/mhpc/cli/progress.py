"""Progress on standard error, for whatever takes longer than a second."""

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds of silence that nobody minds."""


class StderrProgress:
    """A callable that shows stages: a bar on a terminal, a line a second elsewhere."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stage = ("", 0, 0)
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, stage: str, done: int, most: int) -> None:
        """Note how far a stage is; cheap enough for every iteration."""
        with self._lock:
            self._stage = (stage, done, most)

    def __enter__(self) -> Self:
        self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._ticker.join()
        if self._bar is not None:
            self._bar.stop()

    def _tick(self) -> None:
        began, shown = time.monotonic(), ""
        terminal = sys.stderr.isatty()
        while not self._stop.wait(0.2 if terminal and self._bar else PATIENCE):
            with self._lock:
                stage, done, most = self._stage
            if terminal:
                self._draw(stage, done, most)
            elif (line := _line(stage, done, most)) != shown:
                sys.stderr.write(f"mhpc: {line} ({time.monotonic() - began:.0f} s)\n")
                shown = line

    def _draw(self, stage: str, done: int, most: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(stage, total=None)
            self._bar.start()
        assert self._task is not None  # noqa: S101 - set together with the bar
        self._bar.update(self._task, description=stage, completed=done, total=most or None)


def _line(stage: str, done: int, most: int) -> str:
    return f"{stage}, {done} of at most {most}" if most else stage
