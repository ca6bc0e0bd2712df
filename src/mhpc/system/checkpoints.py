"""Checkpointed(): finished stages kept on disk, for runs and experiments alike.

Whoever works says what its stages are; who keeps them, and for whom, it need not know.

Each is a file that appears whole or not at all; what they depend on is in ``key.json``.
"""

import hashlib
import json
import logging
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from mhpc.errors import MhpcWarning, UnreadableError, pluralize, quote_list
from mhpc.system.files import temporary_folder

ResultT = TypeVar("ResultT")

RESUME_HINT = "--resume goes on from what was finished"
"""What an error is noted with that leaves something to go on from."""


class Checkpointer(Protocol):
    """Keeps what stages gave, by their names."""

    def get(self, stage: str) -> Any | None:
        """Return what a stage gave, None if that is not known."""

    def put(self, stage: str, outcome: Any) -> None:
        """Keep what a stage gave, as far as that is possible."""

    def drop(self, stage: str) -> None:
        """Forget a stage, if it is kept."""


_KEEPER: ContextVar[Checkpointer | None] = ContextVar("keeper", default=None)


@contextmanager
def use_checkpoints(keeper: Checkpointer | None) -> Iterator[None]:
    """Let a keeper keep what is finished meanwhile; None: nobody keeps anything."""
    before = _KEEPER.set(keeper)
    try:
        yield
    finally:
        _KEEPER.reset(before)


def checkpointed(stage: str, work: Callable[[], ResultT]) -> ResultT:
    """Return what a stage gave before, or do its work and keep it.

    Parameters
    ----------
    stage : str
        Its name, which with the run's settings and inputs says all that its outcome depends on.
    work : callable
        Stages within it are part of it, and not kept by themselves.
    """
    keeper = _KEEPER.get()
    if keeper is None:
        return work()
    found: ResultT | None = keeper.get(stage)
    if found is None:
        with use_checkpoints(None):
            found = work()
        keeper.put(stage, found)
    return found


def checkpointed_steps(stage: str, work: Callable[[], ResultT]) -> ResultT:
    """Return what `checkpointed` returns; stages within it are kept until all of it is finished."""
    keeper = _KEEPER.get()
    if keeper is None:
        return work()
    found: ResultT | None = keeper.get(stage)
    if found is None:
        steps = _Steps(keeper)
        with use_checkpoints(steps):
            found = work()
        keeper.put(stage, found)
        for step in steps.names:
            keeper.drop(step)
    return found


class _Steps:
    """A keeper that knows which stages it was asked for."""

    def __init__(self, keeper: Checkpointer) -> None:
        self.keeper, self.names = keeper, list[str]()

    def get(self, stage: str) -> Any | None:
        self.names.append(stage)
        return self.keeper.get(stage)

    def put(self, stage: str, outcome: Any) -> None:
        self.keeper.put(stage, outcome)

    def drop(self, stage: str) -> None:
        self.keeper.drop(stage)


_LOG = logging.getLogger("mhpc")

KEY = "key.json"

WORTH = 5.0
"""Seconds of work from which on it is kept: what went before is as quickly done again."""

_OPEN: list["CheckpointStore"] = []
"""What is being kept, for whoever has to say so when a run is interrupted."""


@dataclass(eq=False)
class CheckpointStore:
    """Finished stages, a file each.

    Attributes
    ----------
    folder : Path
        Where they are, made when there is something to keep.
    key : mapping or None
        What they depend on, in parts that have names; None where that cannot be told, so that
        nothing is kept.
    homes : mapping of str to str
        Methods and rules by name, as ``module:class``: where the types of saved stages are defined.
    taken : list of str
        The stages that were not worked on, since they were there.
    began : float
        When work began.
    begun : bool
        Whether the folder is this run's, as it is once the output is.
    """

    folder: Path
    key: Mapping[str, Any] | None
    homes: Mapping[str, str] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    begun: bool = False

    def get(self, stage: str) -> Any | None:
        """Return what a stage gave; None if it is not there, or not whole."""
        path = self._path(stage)
        try:
            outcome = _read(path, self.homes) if path.exists() else None
        except UnreadableError:
            return None
        if outcome is not None:
            _LOG.info("taken from the run before: %s", stage)
            self.taken.append(stage)
        return outcome

    def put(self, stage: str, outcome: Any) -> None:
        """Keep what a stage gave; where that cannot be done the run goes on without."""
        if self.key is None or time.monotonic() - self.began < WORTH:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with temporary_folder(".writing-", inside=self.folder) as beside:
                if not (self.folder / KEY).exists():
                    (beside / KEY).write_text(json.dumps(self.key), encoding="utf-8")
                    (beside / KEY).replace(self.folder / KEY)
                _write(beside / "stage", outcome)
                (beside / "stage").replace(self._path(stage))
        except (OSError, TypeError) as error:
            _LOG.info("%s cannot be kept: %s", stage, error)
            if not self.any:
                self.remove()

    def drop(self, stage: str) -> None:
        """Remove a stage."""
        self._path(stage).unlink(missing_ok=True)

    @property
    def any(self) -> bool:
        """Whether there is something of this run to go on from."""
        return self.begun and any(self.folder.glob("*.npz"))

    def begin(self, *, resume: bool) -> None:
        """Leave what an earlier run kept if it is to be gone on from and fits; else remove it."""
        self.begun = True
        if not resume:
            self.remove()
        elif amiss := self._amiss():
            self.remove()
            warnings.warn(f"{amiss}; this run begins afresh", MhpcWarning, stacklevel=3)

    def _amiss(self) -> str:
        """Say why nothing can be taken of what is kept, or nothing where it can."""
        if self.key is None:
            return "what comes through a pipe may not be what it was in an earlier run"
        try:
            before = json.loads((self.folder / KEY).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            before = None
        if before is None or not self.any:
            return "no finished stage of an earlier run is kept"
        now = json.loads(json.dumps(self.key))
        changed = [name for name in now if before.get(name) != now[name]]
        return f"since the earlier run {quote_list(changed)} changed" if changed else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of stages that were taken."""
        if not self.taken:
            return ()
        return (f"resumed: {pluralize(len(self.taken), 'stage')} taken from an earlier run",)

    def remove(self) -> None:
        """Remove all."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, stage: str) -> Path:
        return self.folder / f"{hashlib.sha256(stage.encode()).hexdigest()[:24]}.npz"


def checkpoint_folder(output: Path) -> Path:
    """Return where the stages of a run into an output are kept."""
    return output.parent / f".{output.name}-kept"


@contextmanager
def checkpoint_run(stages: CheckpointStore) -> Iterator[None]:
    """Keep stages meanwhile, and remove them if all goes well; else what goes wrong says so."""
    _OPEN.append(stages)
    try:
        with use_checkpoints(stages):
            yield
        stages.remove()
    except BaseException as error:
        if stages.any:
            error.add_note(RESUME_HINT)
        raise
    finally:
        _OPEN.remove(stages)


def can_resume() -> bool:
    """Tell whether a run that is ended now leaves something to go on from."""
    return any(stages.any for stages in _OPEN)


def _read(path: Path, homes: Mapping[str, str]) -> Any:
    # Imported where it is used, so that a command which resumes nothing does not load NumPy.
    from mhpc.system.serialization import read_frozen

    return read_frozen(path, homes)


def _write(path: Path, outcome: Any) -> None:
    from mhpc.system.serialization import write_frozen

    write_frozen(path, outcome)
