"""The stages, top to bottom. Only here, in the CLI and in engines do stages meet."""

import json
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from mhpc.choose.judge import judge
from mhpc.consolidate.grid import grid
from mhpc.consolidate.method import Method
from mhpc.consolidate.registry import METHODS, make_method
from mhpc.consolidate.voices import kinship_of
from mhpc.core.arrays import FloatArray
from mhpc.core.choice import Compared
from mhpc.core.consolidation import Consolidation, Step, scored_cells
from mhpc.core.decision import Decision
from mhpc.core.inspection import Inspection
from mhpc.core.panel import Panel
from mhpc.core.progress import Progress, silent
from mhpc.core.scorecard import Scorecard, View
from mhpc.core.sources import SourceFacts
from mhpc.core.summary import Summary
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.truth import Truth
from mhpc.core.votes import Votes
from mhpc.decide.one_path import OnePath
from mhpc.decide.threshold import Threshold
from mhpc.encode.gold import clamped, with_gold
from mhpc.encode.labels import Unknown
from mhpc.encode.panel import encode
from mhpc.encode.truth import encode_truth
from mhpc.errors import MhpcWarning, ParameterError
from mhpc.evaluate.scorecard import score
from mhpc.explain.inspection import inspection
from mhpc.explain.sources import source_facts
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.report.document import run_document
from mhpc.report.summary import summarise
from mhpc.settings import RunSettings
from mhpc.write.folder import refuse_existing, whole_folder
from mhpc.write.scores import write_scores
from mhpc.write.tables import write_labels, write_sources, write_taxonomy

Rule: TypeAlias = Threshold | OnePath
"""How scores become label sets."""


@dataclass(frozen=True, eq=False)
class Result:
    """Everything that `consolidate` found."""

    panel: Panel
    consolidation: Consolidation
    decision: Decision
    sources: tuple[SourceFacts, ...]

    @property
    def scores(self) -> dict[str, list[str] | FloatArray]:
        """Columns instance, label, score, specific, as in scores.parquet, for any dataframe."""
        found = self.consolidation
        cells = list(scored_cells(found))
        return {
            "instance": [found.instances[i] for part in cells for i in part.row],
            "label": [found.taxonomy.labels[k] for part in cells for k in part.label],
            "score": np.concatenate([part.score for part in cells]),
            "specific": np.concatenate([part.specific for part in cells]),
        }

    @property
    def labels(self) -> dict[str, list[str]]:
        """The label set of every instance, closed under ancestors."""
        return self.decision.labels()

    @property
    def trace(self) -> tuple[Step, ...]:
        """The iterations of the method."""
        return self.consolidation.trace


def consolidate(
    votes: Votes,
    taxonomy: Taxonomy,
    *,
    method: str | Method | None = None,
    rule: Rule | None = None,
    unknown: Unknown = "error",
    instances: Iterable[str] = (),
    gold: Truth | None = None,
    progress: Progress = silent,
) -> Result:
    """Consolidate what sources said into scores, label sets and facts about the sources.

    Parameters
    ----------
    votes, taxonomy
        As `mhpc.read_votes` and `mhpc.read_taxonomy` give them.
    method : str or method, optional
        A registered name, or a method with its parameters: ``mhpc.MHPC(lam=1)``. Unless given,
        ``mhpc.Auto()``, which chooses by foretelling hidden answers.
    rule : Threshold or OnePath, optional
        How scores become label sets; unless given, one path where the method takes it that
        instances have one true label, else a threshold.
    unknown : "error", "drop" or "graft"
        What to do with labels that the taxonomy lacks.
    instances : iterable of str, optional
        Further instances that nobody answered.
    gold : Truth, optional
        Instances whose labels are known: they are taken as they are, and teach what is learnt of
        the others.
    progress : callable, optional
        Told how far the work is.
    """
    panel = encode(votes, taxonomy, unknown=unknown, instances=instances)
    panel = _taught(panel, gold, unknown)
    chosen = method if method is not None and not isinstance(method, str) else make_method(method)
    return _consolidate_panel(panel, chosen, rule, progress)


def evaluate(
    result: Result | Consolidation,
    truth: Truth,
    *,
    view: View = "closed",
    unknown: Unknown = "error",
) -> Scorecard:
    """Measure scores against a truth; instances without a known truth do not count."""
    if view not in ("closed", "specific"):
        raise ParameterError(f"view = {view!r} is not allowed; give closed | specific")
    found = result.consolidation if isinstance(result, Result) else result
    known = encode_truth(truth, found.taxonomy, found.instances, unknown=unknown)
    return score(found, known, view=view)


def inspect(votes: Votes, taxonomy: Taxonomy) -> Inspection:
    """Return coverage, depth, conflict, unknown labels and silent sources of votes."""
    with warnings.catch_warnings():
        # What is left out here is listed in the result.
        warnings.simplefilter("ignore", MhpcWarning)
        panel = encode(votes, taxonomy, unknown="drop")
    return inspection(votes, taxonomy, panel)


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
    judged = {
        each.name: each
        for each in judge(panel, candidates, count=folds, seed=seed, jobs=jobs, progress=progress)
    }
    found: list[Compared] = []
    for name, method in candidates.items():
        progress(f"consolidating by {name}", len(found), len(candidates))
        began = time.perf_counter()
        result = method.consolidate(panel)
        seconds = time.perf_counter() - began
        cards = _scorecards(result, truth, unknown) if truth else ()
        found.append(Compared(name, judged.get(name), cards, seconds))
    return tuple(found)


def run(
    settings: RunSettings, *, output: Path, force: bool = False, progress: Progress = silent
) -> Summary:
    """Do the main job, from files to a folder that appears whole or not at all."""
    refuse_existing(output, force=force)
    method = make_method(settings.method, settings.parameters, seed=settings.seed)
    seconds: dict[str, float] = {}
    with _stage("reading", seconds, progress):
        taxonomy = read_taxonomy(settings.taxonomy)
        votes = read_votes(settings.votes, columns=settings.columns, scope=settings.scope)
        truth = read_truth(settings.truth) if settings.truth else None
        gold = read_truth(settings.gold) if settings.gold else None
    with _stage("encoding", seconds, progress):
        panel = encode(votes, taxonomy, unknown=settings.unknown)
        panel = _taught(panel, gold, settings.unknown)
    with _stage("consolidating", seconds, progress):
        rule = Threshold(level=settings.threshold) if settings.threshold else None
        result = _consolidate_panel(panel, method, rule, progress)
    with _stage("evaluating", seconds, progress):
        cards = _scorecards(result.consolidation, truth, settings.unknown) if truth else ()
    with whole_folder(output, force=force) as folder, _stage("writing", seconds, progress):
        write_taxonomy(folder / "taxonomy.csv", panel.taxonomy)
        write_scores(folder / "scores.parquet", result.consolidation, top=settings.top)
        write_labels(folder / "labels.csv", result.decision, result.consolidation)
        write_sources(folder / "sources.csv", result.sources)
        summary = summarise(
            panel, result.consolidation, result.decision, result.sources, cards, seconds
        )
        document = run_document(settings.model_dump(), summary)
        (folder / "run.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    return summary


def _consolidate_panel(
    panel: Panel, method: Method, rule: Rule | None, progress: Progress
) -> Result:
    consolidation = clamped(method.consolidate(panel, progress=progress), panel.gold)
    rule = rule or (OnePath() if consolidation.one_truth else Threshold())
    decision = rule.decide(consolidation, labels_per_answer=panel.labels_per_answer)
    facts = source_facts(panel, decision, kinship_of(panel))
    return Result(panel, consolidation, decision, facts if panel.gold is None else facts[:-1])


def _taught(panel: Panel, gold: Truth | None, unknown: Unknown) -> Panel:
    if gold is None:
        return panel
    return with_gold(panel, encode_truth(gold, panel.taxonomy, panel.instances, unknown=unknown))


def _scorecards(found: Consolidation, truth: Truth, unknown: Unknown) -> tuple[Scorecard, ...]:
    views: tuple[View, ...] = ("closed", "specific")
    known = encode_truth(truth, found.taxonomy, found.instances, unknown=unknown)
    return tuple(score(found, known, view=view) for view in views)


@contextmanager
def _stage(name: str, seconds: dict[str, float], progress: Progress) -> Iterator[None]:
    progress(name, 0, 0)
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began
