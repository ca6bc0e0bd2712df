"""Checkpoints: finished work that is kept on disk, so that a run that failed can be resumed.

A computation names its stages with `checkpointed`; whether they are kept, and where, is decided by
the caller, with `use_checkpoints`.
"""

import hashlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from mhpc.errors import (
    MhpcWarning,
    UnreadableError,
    option,
    pluralize,
    quote_list,
    spell_arguments,
    warn,
)
from mhpc.system.files import atomic_path

RESUME = f"{option('resume', True, command='consolidate')} continues from what was finished"
"""What is said of a run that can be resumed."""

RESUME_HINT = spell_arguments(RESUME)
"""The note that is added to its error. Python shows notes as they are."""

KEY = "key.json"

MIN_SECONDS = 5.0
"""Seconds of a run after which its stages are kept: earlier ones are repeated as quickly."""

_LOG = logging.getLogger("mhpc")

ResultT = TypeVar("ResultT")


class Checkpointer(Protocol):
    """Keeps the results of stages by their names."""

    def get(self, stage: str) -> Any | None:
        """Return the result of a stage, None if there is none."""

    def put(self, stage: str, result: Any) -> None:
        """Keep the result of a stage, as far as possible."""

    def drop(self, stage: str) -> None:
        """Forget a stage."""


_CHECKPOINTER: ContextVar[Checkpointer | None] = ContextVar("checkpointer", default=None)


@contextmanager
def use_checkpoints(checkpointer: Checkpointer | None) -> Iterator[None]:
    """Keep the stages that finish within the block; with None, keep nothing."""
    before = _CHECKPOINTER.set(checkpointer)
    try:
        yield
    finally:
        _CHECKPOINTER.reset(before)


def checkpointed(stage: str, work: Callable[[], ResultT]) -> ResultT:
    """Return the kept result of a stage, or do its work and keep the result.

    Parameters
    ----------
    stage : str
        Its name. With the settings and inputs of the run it must determine the result.
    work : callable
        Stages within it are part of it, and not kept by themselves.
    """
    checkpointer = _CHECKPOINTER.get()
    if checkpointer is None:
        return work()
    result: ResultT | None = checkpointer.get(stage)
    if result is None:
        with use_checkpoints(None):
            result = work()
        checkpointer.put(stage, result)
    return result


def checkpointed_steps(stage: str, work: Callable[[], ResultT]) -> ResultT:
    """Do as `checkpointed`, and keep the stages within the work until all of it is finished."""
    checkpointer = _CHECKPOINTER.get()
    if checkpointer is None:
        return work()
    result: ResultT | None = checkpointer.get(stage)
    if result is None:
        steps = _Steps(checkpointer)
        with use_checkpoints(steps):
            result = work()
        checkpointer.put(stage, result)
        for step in steps.names:
            checkpointer.drop(step)
    return result


class _Steps:
    """A checkpointer that remembers which stages it was asked for."""

    def __init__(self, checkpointer: Checkpointer) -> None:
        self.checkpointer, self.names = checkpointer, list[str]()

    def get(self, stage: str) -> Any | None:
        self.names.append(stage)
        return self.checkpointer.get(stage)

    def put(self, stage: str, result: Any) -> None:
        self.checkpointer.put(stage, result)

    def drop(self, stage: str) -> None:
        self.checkpointer.drop(stage)


@dataclass(frozen=True)
class CheckpointStore:
    """A folder of finished work, one file per result.

    Attributes
    ----------
    folder : Path
        Made when there is something to keep.
    homes : mapping of str to str
        Methods and rules by name, as ``module:class``: where the types of results are defined.
    """

    folder: Path
    homes: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str) -> Any | None:
        """Return a result; None if it is not there, damaged, or of another version."""
        # Imported here, so that a command which resumes nothing does not load NumPy.
        from mhpc.system.serialization import read_frozen

        path = self._path(name)
        try:
            return read_frozen(path, self.homes) if path.exists() else None
        except UnreadableError:
            return None

    def put(self, name: str, result: Any) -> None:
        """Keep a result.

        Raises
        ------
        OSError, TypeError
            When the disk does not take it; when it contains something that cannot be saved.
        """
        from mhpc.system.serialization import write_frozen

        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(self._path(name)) as path:
            write_frozen(path, result)

    def drop(self, name: str) -> None:
        """Remove a result."""
        self._path(name).unlink(missing_ok=True)

    def is_empty(self) -> bool:
        """Tell whether there is no result."""
        return not any(self.folder.glob("*.npz"))

    def _path(self, name: str) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.npz"


@dataclass(eq=False)
class RunCheckpoints:
    """The finished stages of a run, for a run that resumes it.

    Attributes
    ----------
    store : CheckpointStore
        Where they are.
    key : mapping or None
        What they depend on, in named parts; None where that is unknown, so that nothing is kept.
    min_seconds : float
        Stages that finish earlier after the start are not kept.
    start : float
        When the run started.
    owned : bool
        Whether the folder belongs to this run, as it does once the output does.
    resumed : list of str
        The stages that were taken from an earlier run.
    """

    store: CheckpointStore
    key: Mapping[str, Any] | None
    min_seconds: float = MIN_SECONDS
    start: float = field(default_factory=time.monotonic)
    owned: bool = False
    resumed: list[str] = field(default_factory=list)

    def begin(self, *, resume: bool) -> None:
        """Remove the stages of an earlier run, unless it is resumed and depends on the same."""
        self.owned = True
        if not resume:
            self.remove()
        elif obstacle := self._find_obstacle():
            self.remove()
            warn(f"{obstacle}; this run starts from scratch", MhpcWarning, stacklevel=3)

    def get(self, stage: str) -> Any | None:
        """Return the result of a stage, None if there is none."""
        result = self.store.get(stage)
        if result is not None:
            _LOG.info("taken from the earlier run: %s", stage)
            self.resumed.append(stage)
        return result

    def put(self, stage: str, result: Any) -> None:
        """Keep the result of a stage; where that is impossible, the run continues without."""
        if self.key is None or time.monotonic() - self.start < self.min_seconds:
            return
        try:
            self.store.folder.mkdir(parents=True, exist_ok=True)
            if not (self.store.folder / KEY).exists():
                with atomic_path(self.store.folder / KEY) as path:
                    path.write_text(json.dumps(self.key), encoding="utf-8")
            self.store.put(stage, result)
        except (OSError, TypeError) as error:
            _LOG.info("no checkpoint of %s: %s", stage, error)
            if not self.can_resume():
                self.remove()

    def drop(self, stage: str) -> None:
        """Remove a stage."""
        self.store.drop(stage)

    def remove(self) -> None:
        """Remove all stages."""
        shutil.rmtree(self.store.folder, ignore_errors=True)

    def can_resume(self) -> bool:
        """Tell whether this run, if it ended now, could be resumed."""
        return self.owned and not self.store.is_empty()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about stages that were not computed."""
        if not self.resumed:
            return ()
        return (f"resumed: {pluralize(len(self.resumed), 'stage')} taken from an earlier run",)

    def _find_obstacle(self) -> str:
        """Say why the stages of the earlier run cannot be used; empty if they can."""
        if self.key is None:
            return "what comes through a pipe may not be what it was in an earlier run"
        try:
            before = json.loads((self.store.folder / KEY).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            before = None
        if before is None or self.store.is_empty():
            return "no finished stage of an earlier run is kept"
        now = json.loads(json.dumps(self.key))
        changed = [name for name in now if before.get(name) != now[name]]
        return f"since the earlier run {quote_list(changed)} changed" if changed else ""


def checkpoint_folder(output: Path) -> Path:
    """Return where the checkpoints of a run into an output are."""
    return output.parent / f".{output.name}-kept"


_RUNNING: list[RunCheckpoints] = []
"""The checkpoints of the runs of this process, for the message about an interrupt."""


@contextmanager
def checkpoint_run(checkpoints: RunCheckpoints) -> Iterator[None]:
    """Keep the stages of a run, and remove them at its end; errors say that it can be resumed."""
    _RUNNING.append(checkpoints)
    try:
        with use_checkpoints(checkpoints):
            yield
        checkpoints.remove()
    except BaseException as error:
        if checkpoints.can_resume():
            error.add_note(RESUME_HINT)
        raise
    finally:
        _RUNNING.remove(checkpoints)


def can_resume() -> bool:
    """Tell whether a run of this process, if it ended now, could be resumed."""
    return any(checkpoints.can_resume() for checkpoints in _RUNNING)
