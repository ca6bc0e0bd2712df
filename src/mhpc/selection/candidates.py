"""The candidates that `auto` selects from."""

from collections.abc import Mapping

import numpy as np

from mhpc.data.hierarchy import deepest
from mhpc.data.panel import Panel, PanelPartitions, measure_size
from mhpc.methods.base import BaseMethod
from mhpc.methods.memory import explain_memory
from mhpc.methods.registry import make_method
from mhpc.system.memory import memory_budget

_WEIGHTED = {"source_weights": "learned"}

# Both are in order of preference: of candidates that do equally well, the first is selected.
# Simple methods come first, but with one true label per instance the method that assumes it does.
_LABEL_SETS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "majority": ("majority", _WEIGHTED),
    "dawid-skene": ("dawid-skene", {}),
    "mhpc-local, lam=5": ("mhpc-local", {"lam": 5.0}),
    "mhpc-local, lam=50": ("mhpc-local", {"lam": 50.0}),
    "cross-source, penalty=0.1": ("cross-source", {**_WEIGHTED, "penalty": 0.1}),
    "cross-source, penalty=1": ("cross-source", {**_WEIGHTED, "penalty": 1.0}),
    "channel": ("channel", _WEIGHTED),
}

_ONE_TRUTH: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "one-truth": ("one-truth", {}),
    "dawid-skene": ("dawid-skene", {}),
    "majority": ("majority", _WEIGHTED),
}

_DEFAULTS = {False: ("channel", "majority"), True: ("one-truth", "dawid-skene")}
"""What to use if candidates cannot be compared: methods that make the most of a single answer."""


def make_candidates(*, one_truth: bool) -> dict[str, BaseMethod]:
    """Return all candidates by name, in order of preference.

    Parameters
    ----------
    one_truth : bool
        Whether every instance has one true label, with its ancestors.
    """
    candidates = _ONE_TRUTH if one_truth else _LABEL_SETS
    return {name: make_method(*candidate) for name, candidate in candidates.items()}


def usable_candidates(
    partitions: PanelPartitions, *, one_truth: bool
) -> tuple[dict[str, BaseMethod], tuple[str, ...]]:
    """Return the candidates that fit in memory, and a note for each that was left out.

    Parameters
    ----------
    partitions : PanelPartitions
        What they are to be fitted on.
    one_truth : bool
        Whether every instance has one true label, with its ancestors.
    """
    usable, notes = dict[str, BaseMethod](), list[str]()
    size, budget = measure_size(partitions), memory_budget()
    for name, method in make_candidates(one_truth=one_truth).items():
        needed = method.estimate_memory(size)
        if needed > budget:
            reason = explain_memory(method, size, needed, budget)
            notes.append(f"Candidate {name} was left out: {reason}")
        else:
            usable[name] = method
    return usable, tuple(notes)


def default_candidate(candidates: Mapping[str, BaseMethod], *, one_truth: bool) -> str:
    """Return the name of the candidate to use if candidates cannot be compared."""
    return next(name for name in _DEFAULTS[one_truth] if name in candidates)


def has_one_truth(partitions: PanelPartitions) -> bool:
    """Tell whether no answer contains two labels of which neither implies the other."""
    (several,) = partitions.sum(_has_several_labels)
    return several == 0


def _has_several_labels(panel: Panel) -> tuple[int]:
    return (0 if is_single_label(panel) else 1,)


def is_single_label(panel: Panel) -> bool:
    """Return whether every answer is one label, possibly with its ancestors."""
    return bool((np.diff(deepest(panel.augmented, panel.taxonomy).indptr) <= 1).all())
