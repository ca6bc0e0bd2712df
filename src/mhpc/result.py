"""Result: what `mhpc.consolidate` returns, and how it becomes a dataframe, a file or a folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mhpc.accuracy import decide_held_out, estimate_others, predict_sets
from mhpc.data.accuracy import Accuracy
from mhpc.data.contributions import SourceContributions
from mhpc.data.decision import Decision, FittedRule, LabelledScores, labelled_scores
from mhpc.data.disagreement import MAX_RANKED, Disagreements, select_recorded
from mhpc.data.items import Items
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.profiles import SourceProfiles
from mhpc.data.scores import Consolidation, Step, Top, scored_cells
from mhpc.data.summary import Model, RunSummary
from mhpc.data.votes import EncodedTruth, LabelPolicy, Votes
from mhpc.engines.local import write_results
from mhpc.errors import DataError
from mhpc.explanation.contributions import QUICK, measure_contributions
from mhpc.explanation.items import find_items
from mhpc.explanation.queries import find_conflicts, find_disagreements
from mhpc.explanation.sources import count_run
from mhpc.explanation.without_sources import SetPredictor
from mhpc.methods.scope import with_inferred_scope
from mhpc.model import errors_of
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.output import write_document, write_tables
from mhpc.parameters import check_choice, check_count, check_type
from mhpc.report.html import render_page
from mhpc.report.page_data import make_page_data
from mhpc.report.sentences import describe_result
from mhpc.report.summary import run_document, summarize
from mhpc.settings import RunSettings
from mhpc.steps import make_model
from mhpc.system.blas import single_threaded_blas
from mhpc.system.caching import cached_property
from mhpc.system.display import Progress, escape_control, silent
from mhpc.system.files import atomic_file, atomic_folder
from mhpc.write.formats import RUN_CONTENTS, Content
from mhpc.write.tables import Library, make_frame, make_table, write_csv, write_file, write_votes

DEFAULT_TOP = 20
"""How many labels per instance are kept in scores.parquet, as on the command line."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What `mhpc.consolidate` found.

    Attributes
    ----------
    panel : Panel
        The encoded votes.
    consolidation : Consolidation
        The scores, and how the method computed them.
    decision : Decision
        The label sets, and the rule that decided on them.
    sources : SourceProfiles
        How much each source answers, how reliable it is, and whom it resembles.
    votes : Votes or None
        The votes as they were read, with their gold labels, for `save`.
    policy : LabelPolicy
        What was done with labels that the taxonomy lacks.
    rule : FittedRule or None
        The rule that decided on the label sets; None if the result was loaded.
    model : callable or None
        Returns what was fitted, if the result was loaded.
    document : mapping or None
        The ``run.json`` that the result was loaded from.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"photo-1": {"ann": "bee", "bob": "bee", "cid": "ant"}, "photo-2": {"ann": "ant"}}
    >>> result = mhpc.consolidate(votes, {"insect": ["bee", "ant"]}, method="majority")
    >>> result
    Result(majority: 4 labels of 2 instances, 3 sources)
    >>> result.labels
    {'photo-1': ['insect', 'bee'], 'photo-2': ['insect', 'ant']}
    """

    panel: Panel
    consolidation: Consolidation
    decision: Decision
    sources: SourceProfiles
    votes: Votes | None = None
    policy: LabelPolicy = field(default_factory=LabelPolicy)
    rule: FittedRule | None = None
    model: Callable[[], Model] | None = None
    document: Mapping[str, Any] | None = None

    @property
    def scores(self) -> dict[str, list[str] | FloatArray]:
        """Columns instance, label, score, specific, as in scores.parquet, for any dataframe."""
        scores, blocks = self.consolidation, list(scored_cells(self.consolidation))
        return {
            "instance": [scores.instances[i] for block in blocks for i in block.row],
            "label": [scores.taxonomy.labels[k] for block in blocks for k in block.label],
            "score": np.concatenate([block.score for block in blocks]),
            "specific": np.concatenate([block.specific for block in blocks]),
        }

    @property
    def labels(self) -> dict[str, list[str]]:
        """The label set of every instance, closed under ancestors."""
        return self.decision.labels()

    @property
    def items(self) -> dict[str, list[str] | FloatArray | IntArray]:
        """The columns of items.csv, one row per instance, for any dataframe.

        The most specific labels of an instance and their paths, the probability of the least
        certain of them, how much a review is expected to improve them (review_priority), the
        number of sources, and the share of them that agree.
        """
        return {
            name: column.tolist() if column.dtype == object else column
            for name, column in self._items.columns.items()
        }

    @cached_property
    def _items(self) -> Items:
        return find_items(self.panel, self.consolidation, self.decision)

    @property
    def trace(self) -> tuple[Step, ...]:
        """The iterations of the method."""
        return self.consolidation.trace

    @cached_property
    def outcome(self) -> LabelledScores:
        """The scores and the label sets, as formats take them."""
        return labelled_scores(self.consolidation, self.decision.reason)

    def to_frame(self, what: Content = "labels", *, library: Library = "pandas") -> Any:
        """Return a dataframe.

        Parameters
        ----------
        what : "labels", "scores", "wide", "items", "sources" or "conflicts"
            One row per label of an instance; one row per score; one row per instance, with the
            score of every label, or with its labels joined; one row per source; or one row per
            disputed label, the instances to review first at the top.
        library : "pandas", "polars" or "pyarrow"
            Must be installed.
        """
        return make_frame(make_table(self._content(what), what), library)

    def _content(self, what: Content) -> Any:
        """Return the part of the result that a table is made of."""
        check_choice("what", what, RUN_CONTENTS)
        if what == "items":
            return self._items
        if what == "sources":
            return self.sources
        return self._conflicts(len(self.panel.instances)) if what == "conflicts" else self.outcome

    def _conflicts(self, limit: int) -> Disagreements:
        return find_conflicts(self.panel, self.consolidation, self.decision, limit=limit, pairs=0)

    def write(
        self,
        target: str | Path,
        *,
        format: str | None = None,  # noqa: A002 - what readers call it too
        what: Content = "labels",
        **parameters: Any,
    ) -> None:
        """Write the result to a file for another tool, completely or not at all.

        Parameters
        ----------
        target : path or "-"
            An existing file is replaced; ``-`` is standard output.
        format : str, optional
            As in ``mhpc convert --to``; by default, according to the name of the file.
        what : "labels", "scores", "wide", "items", "sources" or "conflicts"
            What to write, as for `to_frame`; ``cafa`` holds scores.
        **parameters
            Parameters of the format, such as ``model_version="mhpc"``.
        """
        content = self._content(what)
        if content is self.outcome:
            disputed = select_recorded(self._conflicts(MAX_RANKED).instances)
            content = replace(content, review_order=tuple(case.instance for case in disputed))
        write_file(target, content, what, format=format, parameters=parameters)

    def save(self, folder: str | Path, *, force: bool = False, top: Top = DEFAULT_TOP) -> None:
        """Write the folder that ``mhpc consolidate`` writes, completely or not at all.

        `mhpc.load_run` and all commands read it. Since votes may be in memory only, they are
        written too, to ``votes.parquet``, and gold labels and scopes to ``gold.csv`` and
        ``scope.csv``: the folder can be moved, and ``mhpc consolidate --config OUT/run.json``
        repeats what it holds.

        Parameters
        ----------
        folder : path
            The folder, which is made.
        force : bool
            Whether to replace the output of an earlier run.
        top : int or "all"
            How many labels of each instance to keep in ``scores.parquet``.
        """
        if self.votes is None:
            raise DataError(
                "this result does not have its votes; save one of mhpc.consolidate or mhpc.load_run"
            )
        check_type("folder", folder, (str, Path), "the path of a folder")
        check_type("force", force, bool, "True or False")
        if not isinstance(top, str) or top != "all":
            top = check_count("top", top, least=1)
        with single_threaded_blas(), atomic_folder(Path(folder), force=force) as unfinished:
            settings = _write_inputs(unfinished, self.votes)
            results = partial(
                write_results, panel=self.panel, scores=self.consolidation, rule=self.decision,
                top=top,
            )  # fmt: skip
            written = write_tables(
                unfinished, SinglePartition(self.panel), self.panel, self._model(), results
            )
            summary = summarize(
                self.consolidation, written.counts, self.decision, written.sources,
                written.conflicts, (), {},
            )  # fmt: skip
            write_document(unfinished, {**self._settings(), **settings, "top": top}, {}, summary)

    def report(self, target: str | Path = "report.html") -> None:
        """Write the page that ``mhpc report`` writes: one file to look at and to share.

        Parameters
        ----------
        target : path
            An existing file is replaced.
        """
        check_type("target", target, (str, Path), "the path of a file")
        page = render_page(page_data(self))
        with atomic_file(target) as file:
            file.write(page.encode())

    @cached_property
    def summary(self) -> RunSummary:
        """What was found: counts, the decision, the sources and the instances to review."""
        panel = with_inferred_scope(self.panel)
        counts = count_run(panel, self.consolidation, self.decision, limit=MAX_RANKED)
        conflicts = find_disagreements(SinglePartition(panel), panel.scope, counts)
        return summarize(self.consolidation, counts, self.decision, self.sources, conflicts, (), {})

    def _model(self) -> Model | None:
        if self.model is not None:
            return self.model()
        if self.rule is None:
            return None
        return make_model(self.consolidation, self.rule, self.panel)

    @property
    def predictor(self) -> SetPredictor:
        """What decides on the label sets of other answers, by what was fitted here."""
        model = self._model()
        if model is None or model.fitted is None:
            raise DataError(
                "this result has no model to predict with; use one of mhpc.consolidate, or the "
                "folder of a run with its model.npz"
            )
        return SetPredictor(model.fitted, model.rule, self.consolidation)

    def _settings(self) -> dict[str, Any]:
        """Return the settings of a run that gives this result."""
        scores = self.consolidation
        settings = RunSettings(
            votes="votes.parquet", taxonomy="taxonomy.csv", unknown=self.policy.unknown,
            abstain=self.policy.abstain,
            method=scores.method, parameters=dict(scores.parameters),
            **_rule_settings(self.decision),
        )  # fmt: skip
        return settings.model_dump()

    def __repr__(self) -> str:
        return (
            f"Result({self.consolidation.method}: {self.decision.reason.nnz} labels of "
            f"{len(self.panel.instances)} instances, {len(self.sources)} sources)"
        )

    def __str__(self) -> str:
        return "\n".join(map(escape_control, describe_result(self.summary)))

    def _repr_html_(self) -> str:
        return self.sources._repr_html_() + self.decision._repr_html_()


def page_data(result: Result) -> dict[str, Any]:
    """Collect what the report page of a result shows."""
    document = result.document or run_document(result._settings(), {}, result.summary)
    gold, accuracy = result.panel.gold, None
    with errors_of(result.model):
        if gold is not None and gold.is_random is not None and gold.is_random.any():
            accuracy = measure_accuracy(result, gold)
        return make_page_data(
            result.panel, result.consolidation, result.decision, result.sources, document,
            accuracy=accuracy,
            contributions=_measure_quickly(result),
        )  # fmt: skip


def _measure_quickly(result: Result) -> SourceContributions | None:
    """Measure what sources are worth with little effort, if there are several and a model."""
    model = result._model()
    if len(result.sources) < 2 or model is None or model.fitted is None:
        return None
    return measure_contributions(result.predictor, result.panel, result.sources, effort=QUICK)


def measure_accuracy(
    result: Result, truth: EncodedTruth, *, progress: Progress = silent
) -> Accuracy:
    """Estimate how accurate the label sets of instances are whose labels are not known.

    Parameters
    ----------
    result : Result
        The result. Instances with gold labels are decided again without their own.
    truth : EncodedTruth
        The true labels of instances drawn at random.
    progress : callable
        Called with the name of the stage, how much of it is done, and how much there is.
    """
    panel, scores, gold = result.panel, result.consolidation, result.panel.gold
    decided = predict_sets(scores, result.decision.reason)
    if gold is None:
        return estimate_others(decided, scores, truth)
    if np.isin(truth.rows, gold.rows).any():
        rule = result.rule or (result.model().rule if result.model else None)
        with single_threaded_blas():
            decided = decide_held_out(panel, scores, decided, rule, progress=progress)
    return estimate_others(decided, scores, truth, gold=gold.rows)


def _write_inputs(folder: Path, votes: Votes) -> dict[str, Any]:
    """Write votes with all that belongs to them, and return the settings that name the files."""
    write_votes(folder / "votes.parquet", votes)
    settings: dict[str, Any] = {"votes": "votes.parquet", "scope": votes.scope, "gold": None}
    if votes.gold is not None:
        gold, settings["gold"] = votes.gold, "gold.csv"
        labels = (*gold.labels.ids, None)
        rows = zip(gold.instance.tolist(), gold.label.tolist(), strict=True)
        header: tuple[str, ...] = ("instance", "label")
        drawn: list[tuple[str, ...]] = [()] * len(gold.instances)
        if gold.is_random is not None:
            header = (*header, "drawn")
            drawn = [("random",) if each else ("gain",) for each in gold.is_random]
        write_csv(
            folder / "gold.csv",
            header,
            ((gold.instances[i], labels[k], *drawn[i]) for i, k in rows),
        )
    if isinstance(votes.scope, Mapping):
        settings["scope"] = "scope.csv"
        write_csv(
            folder / "scope.csv",
            ("source", "label"),
            ((source, label) for source, labels in votes.scope.items() for label in labels),
        )
    return settings


def _rule_settings(decision: Decision) -> dict[str, Any]:
    """Return the settings by which a rule decides in the same way."""
    parameters = decision.parameters
    settings: dict[str, Any] = {"rule": decision.rule}
    settings["depth_bias"] = parameters.get("depth_bias", 0.0)
    if parameters.get("threshold_from") == "given":
        # This threshold has been shifted by the bias.
        settings |= {"threshold": parameters["threshold"], "depth_bias": 0.0}
    elif "min_probability" in parameters or "min_score" in parameters:
        settings["threshold"] = parameters.get("min_probability", parameters.get("min_score"))
    if decision.rule == "top-paths":
        settings["paths"] = parameters.get("paths")
    return settings
