"""``model.npz``: what a run fitted, saved for ``--apply``, for ``explain`` and for Dask workers."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mhpc.data.summary import Model
from mhpc.errors import MhpcError, UnreadableError
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.registry import METHODS
from mhpc.read.run_folder import identify_run, one_run
from mhpc.rules.registry import RULES
from mhpc.system.caching import cached_property
from mhpc.system.files import restore_folder
from mhpc.system.serialization import read_frozen, write_frozen

HOMES: Mapping[str, str] = MappingProxyType({**METHODS, **RULES})
"""Where the types that a saved file may contain are defined: name to ``module:class``."""

_FILE = "model.npz"


def write_model(folder: Path, model: Model) -> None:
    """Write the model of a run; equal models give equal files."""
    write_frozen(folder / _FILE, model, timed=False)


def read_model(folder: Path) -> Model:
    """Read the model of a run; nothing in the file is executed."""
    path = folder / _FILE
    restore_folder(folder)
    if not path.is_file():
        raise UnreadableError(
            f"{folder} holds no model.npz; give the folder of a run that mhpc consolidate wrote"
        )
    model = read_frozen(path, HOMES)
    if not (
        isinstance(model, Model)
        and (model.fitted is None or isinstance(model.fitted, FittedMethod))
        and hasattr(model.rule, "decide")
    ):
        raise UnreadableError(f"{path} is damaged: it holds no model; consolidate again")
    return model


class SavedModel:
    """The model of a run folder, read when it is first called for.

    A pickle or a copy contains the model itself, since the folder may be elsewhere by then. If it
    is already, the copy has no model either, and says so when it is called for.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._identity = identify_run(folder)

    def __call__(self) -> Model:
        """Return the model."""
        return self._model

    @cached_property
    def _model(self) -> Model:
        with one_run(self.folder, identity=self._identity):
            return read_model(self.folder)

    def __getstate__(self) -> dict[str, Any]:
        with suppress(MhpcError, OSError):
            self()
        return dict(self.__dict__)


@contextmanager
def model_errors(folder: Path) -> Iterator[None]:
    """Report what goes wrong while a saved model is used as damage of its file.

    Types are checked when the file is read. Whether arrays fit each other only shows when
    something is computed from them.
    """
    try:
        yield
    except (MhpcError, OSError, MemoryError):
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise UnreadableError(
            f"{folder / _FILE} is damaged: {reason}; consolidate again"
        ) from error


def errors_of(model: object) -> AbstractContextManager[None]:
    """Return `model_errors` of the folder of a `SavedModel`; any other model is as it was made."""
    return model_errors(model.folder) if isinstance(model, SavedModel) else nullcontext()
