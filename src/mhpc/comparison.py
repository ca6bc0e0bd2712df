"""Methods side by side: `mhpc.compare`."""

import time
from collections.abc import Callable, Iterable, Mapping

from mhpc.api import Readable, as_method, as_taxonomy
from mhpc.data.comparison import CandidateScore, Comparison, Comparisons
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.scorecard import Scorecard
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import LabelPolicy, Policy, Truth, Unknown, Votes
from mhpc.errors import ParameterError
from mhpc.methods.base import Method
from mhpc.methods.memory import check_memory
from mhpc.methods.registry import METHODS, make_grid
from mhpc.parameters import check_count, check_function, check_seed, check_type
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.selection.racing import MIN_INSTANCES, race
from mhpc.steps import encode_votes, evaluate_views, fit_rule, use_all_votes
from mhpc.system.blas import single_threaded_blas
from mhpc.system.display import Progress, silent


def compare(
    votes: Votes | Readable,
    taxonomy: Taxonomy | Readable | None = None,
    methods: str | Iterable[str | Method] | Mapping[str, Method] = (),
    *,
    truth: Truth | Readable | None = None,
    unknown: Unknown = "auto",
    abstain: Iterable[str] = (),
    folds: int = 4,
    seed: int = 0,
    jobs: int | None = None,
    instances: int = MIN_INSTANCES,
    progress: Progress = silent,
    report: Callable[[CandidateScore], None] = lambda score: None,
) -> Comparisons:
    """Compare methods by how well they predict held-out sources, and by truth where it is known.

    Methods are compared on a sample of the instances. It is doubled for those that may be the best,
    until the best is clear or the sample is large; the others keep what they got until then.

    Parameters
    ----------
    votes, taxonomy, unknown, abstain
        As `consolidate` takes them.
    methods : str, iterable of str and methods, or mapping of str to method
        Registered names, for methods with their default parameters; methods with theirs; or methods
        by the names they should have. By default, all registered methods.
    truth : Truth, or anything that `mhpc.read_truth` reads, optional
        True labels to measure the results against, which are then computed for all instances.
    folds : int
        The highest number of folds of the cross-validation.
    seed : int
        Which sources are held out together.
    jobs : int, optional
        How many folds are worked on at the same time; by default one per core. The results are
        the same for any number.
    instances : int
        Instances that all methods are compared on, if there are so many. Methods that learn from
        the answers of many instances do better on more.
    progress : callable
        Called with the name of a stage, how much of it is done, and how much there is.
    report : callable
        Called with the score of a method as soon as it is known, and again if it is measured on
        more instances.

    Examples
    --------
    >>> import mhpc
    >>> garden = mhpc.load_garden()
    >>> methods = ["majority", mhpc.SA(votes="augmented")]
    >>> [each.name for each in compare(garden.votes, garden.taxonomy, methods, jobs=1)]
    ['majority', 'sa']
    """
    candidates = _name_methods(methods)
    folds, seed = check_count("folds", folds, least=2), check_seed(seed)
    instances = check_count("instances", instances, least=1)
    if jobs is not None:
        jobs = check_count("jobs", jobs, least=1)
    check_function("progress", progress)
    check_function("report", report)
    votes = read_votes(votes)
    policy = LabelPolicy.of(unknown, abstain)
    panel = encode_votes(votes, as_taxonomy(taxonomy, votes, policy.abstain), unknown=policy)
    with single_threaded_blas():
        losses = race(
            panel, candidates, n_folds=folds, seed=seed, jobs=jobs, min_instances=instances,
            progress=progress, report=report,
        )  # fmt: skip
        by_name = {candidate.name: candidate for candidate in losses}
        if truth is None:
            return Comparisons(_comparison(name, by_name.get(name)) for name in candidates)
        return _consolidate_each(panel, candidates, by_name, read_truth(truth), policy, progress)


def _name_methods(
    methods: str | Iterable[str | Method] | Mapping[str, Method],
) -> Mapping[str, Method]:
    check_type("methods", methods, Iterable, "a list of methods")
    if isinstance(methods, Mapping) and methods:
        return {str(name): as_method(method) for name, method in methods.items()}
    listed = [methods] if isinstance(methods, str) else list(methods) or list(METHODS)
    candidates: dict[str, Method] = {}
    for method in listed:
        given = method if isinstance(method, str) else as_method(method)
        named = make_grid([given]) if isinstance(given, str) else {given.name: given}
        if twice := candidates.keys() & named.keys():
            raise ParameterError(
                f"method {min(twice)!r} is given twice; give a mapping of names to methods"
            )
        candidates |= named
    return candidates


def _consolidate_each(
    panel: Panel,
    candidates: Mapping[str, Method],
    losses: Mapping[str, CandidateScore],
    truth: Truth,
    unknown: Policy,
    progress: Progress,
) -> Comparisons:
    for method in candidates.values():
        check_memory(method, SinglePartition(panel))
    comparisons: list[Comparison] = []
    for name, method in candidates.items():
        progress(f"consolidating by {name}", len(comparisons), len(candidates))
        start = time.perf_counter()
        scores = use_all_votes(method.consolidate(panel), panel)
        seconds = time.perf_counter() - start
        cards = evaluate_views(scores, fit_rule(None, scores, panel), truth, unknown)
        comparisons.append(_comparison(name, losses.get(name), cards, seconds))
    return Comparisons(comparisons)


def _comparison(
    name: str,
    candidate: CandidateScore | None,
    cards: tuple[Scorecard, ...] = (),
    seconds: float = 0.0,
) -> Comparison:
    """Return a method in a comparison; `seconds` are those beside the cross-validation."""
    seconds += 0.0 if candidate is None else candidate.seconds
    return Comparison(name, candidate, cards, seconds)
