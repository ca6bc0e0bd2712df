"""Votes that a model of an earlier run is applied to: sources are numbered as in that run."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from mhpc.data.denials import renumber_sources
from mhpc.data.index import UNKNOWN, Index
from mhpc.data.panel import Panel
from mhpc.data.votes import EncodedTruth, NewSources
from mhpc.errors import DataError, MhpcWarning, option, pluralize, quote_list, suggest, warn
from mhpc.numerics.arrays import IntArray, Sparse


@dataclass(frozen=True, eq=False)
class KnownSources:
    """The sources of an earlier run, and what to do with others.

    Attributes
    ----------
    index : Index
        The sources, in the order in which the model knows them.
    scope : csr_array, (M, K), or None
        Their scope, as in `Panel`.
    has_gold : bool
        Whether the last of them is not a source, but gives the gold labels of that run.
    new : "error", "ignore" or "prior"
        What to do with sources that are not among them.
    """

    index: Index
    scope: Sparse | None = None
    has_gold: bool = False
    new: NewSources = "error"

    @property
    def names(self) -> Index:
        """The sources without that of gold labels."""
        return Index(self.index.ids[:-1]) if self.has_gold else self.index

    def find_new(self, sources: Index) -> tuple[str, ...]:
        """Return the sources of votes that the earlier run does not have."""
        names = self.names
        return tuple(source for source in sources if source not in names)


def align_sources(panel: Panel, known: KnownSources) -> Panel:
    """Renumber the sources of a panel as in an earlier run, and use their scope.

    New sources, if they count, come after the known ones, and gold labels last. Labels that the
    earlier taxonomy did not have are in the scope of every source.
    """
    own = panel.sources if panel.gold is None else Index(panel.sources.ids[:-1])
    new = known.find_new(own)
    if new:
        _check_new(new, own, known)
    names = Index((*known.names, *(new if known.new == "prior" else ())))
    position = names.locate(own)
    has_gold = known.has_gold or panel.gold is not None
    sources = _append_gold(names, known, panel) if has_gold else names
    # Gold labels are the answers of the last source, before and after.
    source = np.append(position, len(names))[panel.source]
    order = np.lexsort((source, panel.instance))
    order = order[source[order] != UNKNOWN]
    return replace(
        panel,
        sources=sources,
        instance=panel.instance[order],
        source=source[order],
        raw=panel.raw[order],
        augmented=panel.augmented[order],
        scope=_extend_scope(known, len(sources), len(panel.taxonomy)),
        gold=_no_gold(len(panel.taxonomy)) if has_gold and panel.gold is None else panel.gold,
        abstained=renumber_sources(panel.abstained, position),
        denials=renumber_sources(panel.denials, position),
    )


def _check_new(new: tuple[str, ...], own: Index, known: KnownSources) -> None:
    if known.new == "error":
        raise DataError(
            f"source {new[0]!r} has no answers in the earlier run{suggest(new[0], known.names)} "
            f"({pluralize(len(new), 'such source')} in all); correct it, or leave the answers of "
            f"new sources out with {option('new_sources', 'ignore')}, or count each as an average "
            f"source with {option('new_sources', 'prior')}"
        )
    if len(new) == len(own) and known.new == "ignore":
        raise DataError(
            f"no source of these votes has answers in the earlier run (they have {new[0]!r}, it "
            f"has {known.index[0]!r}), so that nothing is left with "
            f"{option('new_sources', 'ignore')}; are the names the same?"
        )
    if known.new == "ignore":
        warn(
            f"{pluralize(len(new), 'source')} without answers in the earlier run left out: "
            f"{quote_list(new)}",
            MhpcWarning,
            stacklevel=5,
        )


def _append_gold(names: Index, known: KnownSources, panel: Panel) -> Index:
    name = known.index[-1] if known.has_gold else panel.sources[-1]
    while name in names:
        name += "*"
    return Index((*names, name))


def _extend_scope(known: KnownSources, n_sources: int, n_labels: int) -> Sparse | None:
    """Return the scope with new sources and labels, where nothing is known: all can give all."""
    if known.scope is None:
        return None
    rows = _rows_of_known(known, n_sources)
    n_known, n_old = known.scope.shape
    # The row after those of the earlier run is that of a source with all labels.
    everything = sparse.csr_array(np.ones((1, n_old)))
    scope = sparse.vstack([known.scope, everything], format="csr")[
        np.where(rows == UNKNOWN, n_known, rows)
    ]
    if n_labels == n_old:
        return scope
    new_labels = sparse.csr_array(np.ones((n_sources, n_labels - n_old)))
    return sparse.hstack([scope, new_labels], format="csr")


def _rows_of_known(known: KnownSources, n_sources: int) -> IntArray:
    rows = np.full(n_sources, UNKNOWN, dtype=np.int64)
    n_names = len(known.names)
    rows[:n_names] = np.arange(n_names)
    return rows


def _no_gold(n_labels: int) -> EncodedTruth:
    """Return gold labels of no instance."""
    nothing = sparse.csr_array((0, n_labels))
    return EncodedTruth(np.zeros(0, dtype=np.int64), nothing, nothing)
