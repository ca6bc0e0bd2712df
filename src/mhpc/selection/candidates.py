"""What there is to choose from."""

from collections.abc import Mapping

from mhpc.data.panel import Panel, PanelPartitions
from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import TooLargeError
from mhpc.methods.base import BaseMethod
from mhpc.methods.one_truth import fits
from mhpc.methods.registry import make_method

_LOCAL = {
    "votes": "each", "n_neighbors": 30, "anchor_weight": "answers", "sigma": None, "fill_strength": 0.3,
    "max_iter": 0, "source_weights": "learned",
}  # fmt: skip
"""mpc-u past the paper: a local graph with the reach of the data, smoothing that gives way to
evidence, what sources left open filled in by popularity, kin heard as one voice."""

_INDEPENDENT = {"source_weights": "learned"}

# Both are in the order of preference among equals: simple ones first, but where no answer holds two
# labels first the one that knows it.
_SETS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "majority": ("majority", _INDEPENDENT),
    "dawid-skene": ("dawid-skene", {}),
    "mpc-u, local, lam=5": ("mpc-u", {**_LOCAL, "lam": 5.0}),
    "mpc-u, local, lam=50": ("mpc-u", {**_LOCAL, "lam": 50.0}),
    "cross-source, penalty=0.1": ("cross-source", {**_INDEPENDENT, "penalty": 0.1}),
    "cross-source, penalty=1": ("cross-source", {**_INDEPENDENT, "penalty": 1.0}),
    "channel": ("channel", _INDEPENDENT),
}

_ONE: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "one-truth": ("one-truth", {}),
    "dawid-skene": ("dawid-skene", {}),
    "majority": ("majority", _INDEPENDENT),
}

UNJUDGED = {"sets": ("channel", "majority"), "one": ("one-truth", "dawid-skene")}
"""What is taken where nothing can be judged: the first there is of those that say most from one
answer."""


def candidates_for(one_truth: bool, *, that_learn: bool = False) -> Mapping[str, BaseMethod]:
    """Return methods by name; where no answer holds two labels, those that know one truth.

    With `that_learn`, those only that can conclude on instances they did not learn from.
    """
    listed = _ONE if one_truth else _SETS
    made = {name: make_method(method, given) for name, (method, given) in listed.items()}
    return {name: method for name, method in made.items() if method.learns or not that_learn}


def candidates_in(
    taxonomy: Taxonomy, one_truth: bool, *, that_learn: bool = False
) -> tuple[Mapping[str, BaseMethod], tuple[str, ...]]:
    """Return the candidates that memory allows with these labels, and why others were left out."""
    fitting, notes = dict[str, BaseMethod](), list[str]()
    for name, method in candidates_for(one_truth, that_learn=that_learn).items():
        try:
            method.check_label_memory(taxonomy)
        except TooLargeError as error:
            notes.append(f"{name} was not tried: {error}")
        else:
            fitting[name] = method
    return fitting, tuple(notes)


def unjudged(one_truth: bool, candidates: Mapping[str, BaseMethod]) -> str:
    """Return the name of the candidate to take where nothing can be judged."""
    return next(name for name in UNJUDGED["one" if one_truth else "sets"] if name in candidates)


def one_truth_in(parts: PanelPartitions) -> bool:
    """Tell whether no answer holds two labels of which neither implies the other."""
    (several,) = parts.sum(_several)
    return several == 0


def _several(panel: Panel) -> tuple[int]:
    return (0 if fits(panel) else 1,)
