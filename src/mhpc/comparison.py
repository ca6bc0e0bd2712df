"""Methods side by side: judged without truth, and measured where it is known."""

import time
from collections.abc import Iterable, Mapping

from mhpc.choose.judge import judge
from mhpc.consolidate.grid import grid
from mhpc.consolidate.method import Method
from mhpc.consolidate.registry import METHODS
from mhpc.core.algebra import one_thread_each
from mhpc.core.choice import Compared, Judged
from mhpc.core.panel import Panel
from mhpc.core.progress import Progress, silent
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.truth import Truth
from mhpc.core.votes import Votes
from mhpc.encode.labels import Unknown
from mhpc.encode.panel import encode
from mhpc.pipeline import scorecards, settled_for


def compare(
    votes: Votes,
    taxonomy: Taxonomy,
    methods: Iterable[str] | Mapping[str, Method] = (),
    *,
    truth: Truth | None = None,
    unknown: Unknown = "error",
    folds: int = 4,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress = silent,
) -> tuple[Compared, ...]:
    """Judge methods by how well they foretell hidden answers; measure them where truth is known.

    Parameters
    ----------
    votes, taxonomy, unknown
        As `consolidate` takes them.
    methods : iterable of str, or mapping of str to method
        Registered names, which stand for methods as they come; or methods with any parameters, by
        the names they are to have. None: all as they come.
    truth : Truth, optional
        To measure the results against; it changes none.
    folds : int
        How many times a part of the answers is hidden, at most.
    seed : int
        Which answers are hidden together.
    jobs : int
        Processes that try methods side by side.
    progress : callable
        Told how far the work is.
    """
    candidates = methods if isinstance(methods, Mapping) else grid(methods or METHODS)
    panel = encode(votes, taxonomy, unknown=unknown)
    with one_thread_each():
        judged = judge(panel, candidates, count=folds, seed=seed, jobs=jobs, progress=progress)
        return _measured(panel, candidates, judged, truth, unknown, progress)


def _measured(
    panel: Panel,
    candidates: Mapping[str, Method],
    judged: Iterable[Judged],
    truth: Truth | None,
    unknown: Unknown,
    progress: Progress,
) -> tuple[Compared, ...]:
    by_name = {each.name: each for each in judged}
    found: list[Compared] = []
    for name, method in candidates.items():
        progress(f"consolidating by {name}", len(found), len(candidates))
        began = time.perf_counter()
        result = method.consolidate(panel)
        seconds = time.perf_counter() - began
        cards = scorecards(result, settled_for(result, panel), truth, unknown) if truth else ()
        found.append(Compared(name, by_name.get(name), cards, seconds))
    return tuple(found)
