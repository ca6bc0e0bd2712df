"""What there is to choose from."""

from collections.abc import Mapping

from mhpc.consolidate.method import Method
from mhpc.consolidate.one_truth import fits
from mhpc.consolidate.registry import make_method
from mhpc.core.panel import Panel

_LOCAL = {
    "votes": "each", "neighbours": 30, "shrink": "answers", "sigma": None, "fill": 0.3,
    "max_iter": 0, "sources": "independent",
}  # fmt: skip
"""mpc-u past the paper: a local graph with the reach of the data, smoothing that gives way to
evidence, what sources left open filled in by popularity, kin heard as one voice."""

_INDEPENDENT = {"sources": "independent"}

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

UNJUDGED = {"sets": "channel", "one": "one-truth"}
"""What is taken where nothing can be judged: the methods that say most from one answer."""


def candidates_for(panel: Panel) -> Mapping[str, Method]:
    """Return methods by name; where no answer holds two labels, those that know one truth."""
    listed = _ONE if fits(panel) else _SETS
    return {name: make_method(method, given) for name, (method, given) in listed.items()}


def unjudged(panel: Panel) -> str:
    """Return the name of the candidate to take where nothing can be judged."""
    return UNJUDGED["one" if fits(panel) else "sets"]
