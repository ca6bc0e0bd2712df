"""What a method fits: enough to score any instances from their answers."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from mhpc.data.combination import Combination
from mhpc.data.index import UNKNOWN
from mhpc.data.panel import Panel, PanelPartitions
from mhpc.data.profiles import BySource
from mhpc.data.scores import Scores, Step
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.parameters import registered

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class SourceChange:
    """How the sources of a model become those of the votes that it is applied to.

    Attributes
    ----------
    origin : int array, (n,)
        The position in the model of each source of the votes, increasing; -1 for a new source.
    averaged : int array
        The sources of the model that a new source is the average of.
    """

    origin: IntArray
    averaged: IntArray

    def locate(self, source: IntArray) -> IntArray:
        """Return the new positions of sources of the model, all of which are kept."""
        position = np.zeros(max(int(self.origin.max(initial=UNKNOWN)) + 1, 1), dtype=np.int64)
        kept = np.flatnonzero(self.origin != UNKNOWN)
        position[self.origin[kept]] = kept
        return np.asarray(position[source])

    def average_without(self, sources: IntArray) -> "SourceChange":
        """Return the change with some sources left out of the average, unless they are all."""
        others = np.setdiff1d(self.averaged, sources)
        return replace(self, averaged=others if len(others) else self.averaged)

    def extend(self, rows: FloatArray, new: float | None) -> FloatArray:
        """Return an array with one row per source of the votes."""
        extended = rows[self.origin]
        if new is None:
            extended[self.origin == UNKNOWN] = rows[self.averaged].mean(axis=0)
        else:
            extended[self.origin == UNKNOWN] = new
        return extended


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedMethod:
    """What a method estimated from all answers: enough to score any instances from their answers.

    Attributes
    ----------
    trace, converged, threshold, is_probability, one_truth, combination, notes
        As in `Consolidation`.

    Notes
    -----
    A subclass is a frozen dataclass. Its class argument `saved_as` is its name in ``model.npz``,
    ``METHOD.fitted``; without it, a fitted method cannot be saved. Arrays with one row per source
    are marked by `mhpc.data.profiles.BySource`, in it and in the dataclasses that it consists of.
    """

    trace: tuple[Step, ...] = ()
    converged: bool = True
    threshold: float | None = None
    is_probability: bool = False
    one_truth: bool = False
    combination: Combination | None = None
    notes: tuple[str, ...] = ()

    def __init_subclass__(cls, *, saved_as: str = "", **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if saved_as:
            registered(saved_as)(cls)

    def predict(self, panel: Panel) -> Scores:
        """Return the scores of the panel's instances; 0 for instances without an answer."""
        raise NotImplementedError

    def count_computed(self, n_labels: int) -> int:
        """Return for how many of all labels scores are computed, which is what a block costs."""
        return n_labels

    def update(self, partitions: PanelPartitions) -> "FittedMethod | None":
        """Return what a fit to the earlier answers and to further ones together would return.

        None if the method is not a function of sums over instances: it must then be fitted to all
        answers again. No instance may have answers in both.
        """
        return None

    def with_sources(self, sources: SourceChange) -> Self:
        """Return the model for other sources: a new one is as reliable as the known ones are."""
        return _change_fields(self, sources)


def _change_fields(value: Value, sources: SourceChange) -> Value:
    """Extend the marked arrays of a dataclass and of the dataclasses in it."""
    types = get_type_hints(type(value), include_extras=True)
    changed = {
        item.name: _change(getattr(value, item.name), types[item.name], sources)
        for item in fields(value)  # type: ignore[arg-type]
    }
    own = {item.name: getattr(value, item.name) for item in fields(value)}  # type: ignore[arg-type]
    changed = {name: new for name, new in changed.items() if new is not own[name]}
    return replace(value, **changed) if changed else value  # type: ignore[type-var]


def _change(value: Any, kind: Any, sources: SourceChange) -> Any:
    marks = get_args(kind) if get_origin(kind) is Annotated else ()
    mark = next((each for each in marks if isinstance(each, BySource)), None)
    if value is None:
        return None
    if mark is not None:
        return _extend(value, mark, sources)
    if isinstance(value, FittedMethod):
        return value.with_sources(sources)
    return _change_fields(value, sources) if is_dataclass(value) else value


def _extend(array: FloatArray | Sparse, mark: BySource, sources: SourceChange) -> Any:
    if not sparse.issparse(array):
        return sources.extend(np.asarray(array), mark.new)
    if mark.pairs:
        return _extend_pairs(array, sources)
    # Few rows are new; the others are taken as they are.
    new = np.full((1, array.shape[1]), mark.new)
    stacked = sparse.vstack([array, sparse.csr_array(new)], format="csr")
    return stacked[np.where(sources.origin == UNKNOWN, array.shape[0], sources.origin)]


def _extend_pairs(matrix: Sparse, sources: SourceChange) -> Sparse:
    """Return a matrix of sources x sources, in which new ones have no entries."""
    entries, n = matrix.tocoo(), len(sources.origin)
    cells = (sources.locate(entries.row), sources.locate(entries.col))
    return sparse.csr_array((entries.data, cells), shape=(n, n))
