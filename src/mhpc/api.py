"""The verbs of the package: consolidate, evaluate, explain, inspect, simulate."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, get_args

from scipy.sparse import csr_array, issparse

from mhpc.data.disagreement import Disagreements, Explanation, Strategy
from mhpc.data.scorecard import Scorecard, View
from mhpc.data.scores import Consolidation
from mhpc.data.summary import Inspection
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import (
    LabelPolicy,
    NewSources,
    Truth,
    Unknown,
    Votes,
)
from mhpc.earlier import check_earlier, join_result, load_model
from mhpc.encoding.gold import encode_truth
from mhpc.errors import ParameterError, silence_warnings
from mhpc.explanation.inspection import inspect_panel
from mhpc.explanation.queries import explain_instance, find_conflicts
from mhpc.methods.base import Method
from mhpc.methods.registry import make_method
from mhpc.metrics.scorecard import score
from mhpc.model import SavedModel, errors_of
from mhpc.numerics.arrays import Sparse
from mhpc.parameters import (
    check_choice,
    check_count,
    check_function,
    check_id,
    check_seed,
    check_text,
    check_type,
    show_value,
    to_texts,
)
from mhpc.read.run_folder import one_run, read_labels, read_run
from mhpc.read.taxonomy import read_taxonomy, taxonomy_from_votes
from mhpc.read.truth import read_gold, read_truth
from mhpc.read.votes import read_votes
from mhpc.result import Result
from mhpc.rules.base import Rule, apply_rule
from mhpc.rules.registry import make_rule
from mhpc.run import load_run
from mhpc.simulation import sources as simulation
from mhpc.simulation.sources import Profile
from mhpc.steps import (
    adapt_model,
    apply_model,
    encode_votes,
    fit_and_score,
    fit_rule,
    known_sources,
    log_scores,
    profile,
)
from mhpc.system.blas import single_threaded_blas
from mhpc.system.display import Progress, silent
from mhpc.system.memory import parse_size, use_memory_budget

Readable: TypeAlias = Any
"""A path, a dataframe, a mapping, a list, or our own object: what `mhpc.read_votes`,
`mhpc.read_taxonomy` and `mhpc.read_truth` read."""


def consolidate(
    votes: Votes | Readable,
    taxonomy: Taxonomy | Readable | None = None,
    *,
    method: str | Method | None = None,
    rule: str | Rule | None = None,
    unknown: Unknown = "auto",
    abstain: Iterable[str] = (),
    instances: Iterable[str] = (),
    gold: Truth | Readable | None = None,
    apply: Result | str | Path | None = None,
    new_sources: NewSources = "error",
    update: Result | None = None,
    memory: str | int | None = None,
    progress: Progress = silent,
) -> Result:
    """Consolidate the votes of many sources into scores, label sets and source profiles.

    Parameters
    ----------
    votes, taxonomy
        As `mhpc.read_votes` and `mhpc.read_taxonomy` return them, or anything that they read.
        Without a taxonomy, one is made from the labels of the votes, which may be paths.
    method : str or method, optional
        A registered name, or a method with its parameters: ``mhpc.MHPC(lam=1)``. By default
        ``mhpc.Auto()``, which combines several methods into one probability.
    rule : str or Rule, optional
        How scores become label sets: ``"expected-f"``, ``"threshold"``, ``"min-probability"``,
        ``"one-path"`` or ``"top-paths"``, or a rule with its parameters, such as
        ``mhpc.ExpectedF(depth_bias=1)`` or ``mhpc.TopPaths(paths=2)``. By default one path
        where the method assumes one true label per instance, expected F where scores are
        probabilities, else a threshold.
    unknown : "auto", "error", "drop", "graft", "nearest" or "ancestor"
        What to do with labels that the taxonomy lacks in any spelling: drop them if they have at
        most 5 % of the votes and refuse them otherwise; refuse them; drop them; add them to the
        taxonomy; or take the most similar label, or the deepest known one of a path.
    abstain : iterable of str
        Words that mean "asked, but did not know", besides ``abstain``, ``unknown``, ``n/a`` and the
        like (`mhpc.data.spelling.ABSTAIN_WORDS`).
    instances : iterable of str, optional
        Further instances, which no source answered.
    gold : Truth, or anything that `mhpc.read_truth` reads, optional
        Instances whose labels are known, best drawn at random. They keep these labels. From five
        instances on, ``auto`` calibrates its probabilities on them; ``dawid-skene`` and
        ``one-truth`` learn from them how good sources are. By default, the instances that the file
        of the votes marks as known.
    apply : Result or path, optional
        An earlier result, or the folder of a run: its model scores these votes, and its rule
        decides. Nothing is fitted, and taxonomy, method, rule and gold are those of that run.
    new_sources : "error", "ignore" or "prior"
        What to do, with `apply`, with sources that the earlier run does not know: refuse them,
        leave their answers out, or count each as reliable as the known ones are on average.
    update : Result, optional
        An earlier result to learn from together with these votes, by its taxonomy and method: as
        if all votes had been consolidated at once.
    memory : str or int, optional
        Bytes that may be used, or a text such as "6GB"; by default half of what is free. Scores
        that do not fit are computed when they are needed.
    progress : callable, optional
        Called with the name of a stage, how much of it is done, and how much there is.

    Examples
    --------
    >>> votes = {"photo-1": {"ann": "bee", "bob": ["bee", "ant"]}, "photo-2": {"ann": "ant"}}
    >>> taxonomy = {"insect": ["bee", "ant"], "plant": []}
    >>> consolidate(votes, taxonomy, gold={"photo-2": "ant"}, rule="one-path").labels
    {'photo-1': ['insect', 'bee'], 'photo-2': ['insect', 'ant']}
    """
    check_function("progress", progress)
    votes = read_votes(votes)
    check_earlier(
        apply, update, new_sources, taxonomy=taxonomy, method=method,
        **({"rule": rule, "gold": gold} if apply is not None else {}),
    )  # fmt: skip
    if gold is not None:
        votes = replace(votes, gold=read_gold(gold))
    policy = LabelPolicy.of(unknown, abstain)
    with use_memory_budget(parse_size(memory)), single_threaded_blas(), _errors_of_earlier(apply):
        if apply is not None:
            model, taxonomy = load_model(apply)
            panel = encode_votes(
                votes, taxonomy, unknown=policy, instances=instances, gold=votes.gold,
                known_sources=known_sources(model, new_sources),
            )  # fmt: skip
            model = adapt_model(model, panel, taxonomy=taxonomy)
            scores, fitted_rule = apply_model(model, panel, progress=progress), model.rule
        else:
            if update is not None:
                votes, taxonomy, method = join_result(update, votes)
            panel = encode_votes(
                votes, as_taxonomy(taxonomy, votes, policy.abstain), unknown=policy,
                instances=instances, gold=votes.gold,
            )  # fmt: skip
            scores = fit_and_score(as_method(method), panel, progress=progress)
            fitted_rule = fit_rule(_as_rule(rule), scores, panel)
        decision = apply_rule(fitted_rule, scores)
        sources = profile(panel, scores, decision)
    log_scores(scores)
    return Result(panel, scores, decision, sources, votes=votes, policy=policy, rule=fitted_rule)


def evaluate(
    result: Result | Consolidation | str | Path,
    truth: Truth | Readable,
    *,
    view: View = "closed",
    unknown: Unknown = "error",
    decided: Sparse | None = None,
) -> Scorecard:
    """Measure scores and label sets on the instances whose true labels are known.

    Parameters
    ----------
    result : Result, Consolidation or path
        What to measure; a path is that of the folder of a run.
    truth : Truth, or anything that `mhpc.read_truth` reads
        The true labels.
    view : "closed" or "specific"
        Measure scores against all true labels with their ancestors, or against the deepest ones.
    unknown : "error", "drop", "graft", "nearest" or "ancestor"
        What to do with labels and instances of the truth that the result does not know, as in
        `consolidate`. Only ``"error"`` refuses instances; ``"graft"`` drops labels.
    decided : csr_array, (N, K), optional
        An entry where an instance has a label; by default, the label sets of the Result.

    Examples
    --------
    >>> votes = [("photo-1", "ann", "bee"), ("photo-1", "bob", "bee"), ("photo-2", "ann", "ant")]
    >>> result = consolidate(votes, ["ant", "bee", "wasp"], method="majority")
    >>> evaluate(result, {"photo-1": "bee", "photo-2": ["ant", "wasp"]})["micro_precision"]
    1.0
    """
    check_choice("view", view, get_args(View))
    check_type("result", result, (Result, Consolidation, str, Path), "a Result, or a run's folder")
    if isinstance(result, str | Path):
        with one_run(Path(result)):
            scores = read_run(Path(result))
            decided = read_labels(Path(result), scores) if decided is None else decided
    else:
        scores = result.consolidation if isinstance(result, Result) else result
    if decided is None and isinstance(result, Result):
        decided = result.decision.reason
    if decided is not None:
        decided = _as_label_sets(decided, scores)
    encoded = encode_truth(read_truth(truth), scores.taxonomy, scores.instances, unknown=unknown)
    return score(scores, encoded, view=view, decided=decided)


def _as_label_sets(decided: Sparse, scores: Consolidation) -> Sparse:
    """Return label sets of the caller as a csr_array; refuse what is not one of all instances."""
    shape = len(scores.instances), len(scores.taxonomy)
    if not issparse(decided) or decided.shape != shape:
        raise ParameterError(
            f"decided = {show_value(decided)} is not allowed; give a sparse array of "
            f"{shape[0]} x {shape[1]}, a row per instance and a column per label"
        )
    return csr_array(decided, dtype=bool)


def explain(result: Result | str | Path, instance: str, label: str | None = None) -> Explanation:
    """Explain why an instance has a label: who supports or contradicts it, and to what effect.

    Parameters
    ----------
    result : Result or path
        As `mhpc.consolidate` returns it, or the folder of a run.
    instance : str
        The id of the instance.
    label : str, optional
        An id, or a name or path that only one label has. By default all labels that are chosen or
        disputed.

    Examples
    --------
    >>> votes = [("photo-1", "ann", "bee"), ("photo-1", "bob", "bee"), ("photo-1", "cid", "ant")]
    >>> result = consolidate(votes, ["ant", "bee"], method="majority")
    >>> [stance.stance for stance in explain(result, "photo-1", "bee").labels[0].stances]
    ['direct', 'direct', 'against']
    """
    loaded = _as_result(result)
    instance = check_id("instance", instance, "the id of an instance")
    check_text("label", label)
    with errors_of(loaded.model), single_threaded_blas():
        return explain_instance(
            loaded.panel, loaded.consolidation, loaded.decision, instance, label
        )


def conflicts(
    result: Result | str | Path, *, top: int = 50, strategy: Strategy = "gain", seed: int = 0
) -> Disagreements:
    """Return the instances that a person should review first, and the labels that sources confuse.

    Parameters
    ----------
    result : Result or path
        As `mhpc.consolidate` returns it, or the folder of a run.
    top : int
        How many instances, and pairs of labels, to return at most.
    strategy : "gain", "random" or "mixed"
        The instances with the largest expected gain first; a random sample of all instances without
        gold labels, for `mhpc.estimate_accuracy`; or by turns one of each.
    seed : int
        Which random sample; the same seed gives the same one.

    Examples
    --------
    >>> votes = [("photo-1", "ann", "bee"), ("photo-1", "bob", "ant"), ("photo-2", "ann", "ant")]
    >>> result = consolidate(votes, ["ant", "bee"], method="majority")
    >>> [each.instance for each in conflicts(result).instances]
    ['photo-1']
    """
    result = _as_result(result)
    check_choice("strategy", strategy, get_args(Strategy))
    top, seed = check_count("top", top), check_seed(seed)
    with errors_of(result.model), single_threaded_blas():
        return find_conflicts(
            result.panel, result.consolidation, result.decision, limit=top, strategy=strategy,
            seed=seed,
        )  # fmt: skip


def _as_result(result: Result | str | Path) -> Result:
    check_type("result", result, (Result, str, Path), "a Result, or the folder of a run")
    return result if isinstance(result, Result) else load_run(result)


def _errors_of_earlier(earlier: Result | str | Path | None) -> AbstractContextManager[None]:
    if isinstance(earlier, Result):
        return errors_of(earlier.model)
    return errors_of(None if earlier is None else SavedModel(Path(earlier)))


def as_method(method: str | Method | None) -> Method:
    """Return a method that is given by its name, or as it is."""
    if method is None or isinstance(method, str):
        return make_method(method)
    if isinstance(method, type) or not (hasattr(method, "name") and hasattr(method, "consolidate")):
        raise ParameterError(
            f"method = {show_value(method)} is not allowed; give the name of a method, or a method "
            "with its parameters, such as mhpc.MHPC(lam=1)"
        )
    return method


def _as_rule(rule: str | Rule | None) -> Rule | None:
    if isinstance(rule, str):
        return make_rule(rule)
    if rule is not None:
        check_type("rule", rule, Rule, "the name of a rule, or one such as mhpc.ExpectedF()")
    return rule


def inspect(
    votes: Votes | Readable,
    taxonomy: Taxonomy | Readable | None = None,
    *,
    unknown: Unknown = "auto",
    abstain: Iterable[str] = (),
) -> Inspection:
    """Summarize votes before they are consolidated.

    The summary has coverage, depth, disagreement, labels that the taxonomy lacks or that are
    understood although they are written differently, and sources that never answer.

    Parameters
    ----------
    votes, taxonomy, unknown, abstain
        As `consolidate` takes them. No label is refused or added to the taxonomy: ``"auto"``,
        ``"error"`` and ``"graft"`` list such labels as unknown, as ``"drop"`` does.

    Examples
    --------
    >>> inspect([("photo-1", "ann", "bee"), ("photo-1", "bob", "wsp")], ["bee", "wasp"])
    Inspection(1 answer of 2 sources on 1 instance, 1 unknown label)
    """
    votes = read_votes(votes)
    policy = LabelPolicy.of(unknown, abstain)
    taxonomy = as_taxonomy(taxonomy, votes, policy.abstain)
    if policy.unknown in ("auto", "error", "graft"):
        policy = replace(policy, unknown="drop")
    with silence_warnings():
        # What happens to labels is part of the summary.
        panel = encode_votes(votes, taxonomy, unknown=policy)
    return inspect_panel(votes, taxonomy, panel, policy)


def simulate(
    truth: Truth | Readable,
    taxonomy: Taxonomy | Readable,
    sources: Sequence[Profile],
    *,
    seed: int = 0,
    names: Sequence[str] | None = None,
) -> Votes:
    """Return the simulated votes of sources with the given profiles (Algorithm 2 of the paper).

    Every source draws p_V and p_N for every true label. The label is replaced by its parent as
    long as p_V > specificity ** level; above a root it is lost. Then, if p_N > accuracy, it is
    replaced by a label drawn from its siblings and itself. An answer that loses all its labels is
    "none of these".

    Parameters
    ----------
    truth : Truth, or anything that `mhpc.read_truth` reads
        The labels to corrupt, usually the most specific ones.
    taxonomy : Taxonomy, or anything that `mhpc.read_taxonomy` reads
        Of several parents, one is drawn at random.
    sources : sequence of Profile
        One profile per source.
    seed : int
        The same seed gives the same votes.
    names : sequence of str, optional
        Ids of the sources; ``s1``, ``s2``, … unless given.

    Examples
    --------
    >>> truth = {"photo-1": "bee", "photo-2": "ant"}
    >>> simulate(truth, {"insect": ["bee", "ant"]}, [Profile(accuracy=0.9)] * 3, seed=1)
    Votes(6 votes of 3 sources on 2 instances)
    """
    check_type("sources", sources, Sequence, "a list of mhpc.Profile")
    for source in sources:
        check_type("sources", source, Profile, "a list of mhpc.Profile")
    if names is not None:
        names = to_texts("names", names)
    return simulation.simulate(
        read_truth(truth), read_taxonomy(taxonomy), sources, seed=seed, names=names
    )


def as_taxonomy(taxonomy: Any, votes: Votes, abstain: Iterable[str]) -> Taxonomy:
    """Read a taxonomy; without one, make it from the labels of the votes."""
    if taxonomy is None:
        return taxonomy_from_votes(votes, votes.gold, abstain=abstain)
    return read_taxonomy(taxonomy)
