"""From files to a folder and back: run() consolidates into OUT/, load_run() reads OUT/ again."""

import json
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from mhpc.api import evaluate_views
from mhpc.data.panel import Panel
from mhpc.data.scorecard import Scorecard
from mhpc.data.scores import Consolidation
from mhpc.data.summary import Model, RunSummary
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Unknown, join_votes
from mhpc.earlier import cannot_update, describe_applied, find_votes, join_earlier
from mhpc.encoding.known_sources import KnownSources
from mhpc.engines.base import EncodedVotes, Engine, open_engine
from mhpc.errors import DataError, MhpcWarning, ParameterError
from mhpc.explanation.queries import find_disagreements
from mhpc.explanation.sources import profile_sources
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.registry import make_method
from mhpc.methods.scope import effective_scope
from mhpc.model import HOMES, model_errors, read_model, write_model
from mhpc.read.run_folder import (
    RecordedSettings,
    RunDocument,
    read_decision,
    read_run,
    read_run_document,
)
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.report.html import write_report
from mhpc.report.page_data import make_page_data
from mhpc.report.summary import run_document, summarize, versions
from mhpc.result import Result
from mhpc.settings import RunSettings
from mhpc.steps import (
    adapt_model,
    encode_votes,
    known_sources,
    log_scores,
    make_default_rule,
)
from mhpc.system.checkpoints import (
    MIN_SECONDS,
    CheckpointStore,
    RunCheckpoints,
    checkpoint_folder,
    checkpoint_run,
)
from mhpc.system.display import Progress, silent
from mhpc.system.files import atomic_folder, check_output
from mhpc.system.inputs import InputFiles, fingerprint_inputs, list_paths
from mhpc.system.memory import parse_size, use_memory_budget
from mhpc.system.parallel import single_threaded_blas
from mhpc.write.tables import write_sources, write_taxonomy

_LOG = logging.getLogger("mhpc")

_FILES = ("votes", "taxonomy", "truth", "gold", "scope")
"""The settings that name files to read."""

_FIT_SETTINGS = {
    "format", "taxonomy", "taxonomy_format", "method", "parameters", "seed", "columns", "scope",
    "unknown", "memory", "engine", "apply", "update", "new_sources",
}  # fmt: skip
"""The settings that fitting depends on."""


def run(
    settings: RunSettings,
    *,
    output: Path,
    force: bool = False,
    resume: bool = False,
    progress: Progress = silent,
    checkpoint_after: float = MIN_SECONDS,
    open_engine: Callable[..., AbstractContextManager[Engine]] = open_engine,
) -> RunSummary:
    """Consolidate votes from files into a folder, which appears complete or not at all.

    Parameters
    ----------
    settings : RunSettings
        Which files, which method, which rule.
    output : Path
        The folder.
    force : bool
        Whether to replace the output of an earlier run.
    resume : bool
        Whether to use the checkpoints of a run that failed, if its settings and files are the same.
    progress : callable
        Called with the name of a stage, how much of it is done, and how much there is.
    checkpoint_after : float
        Stages that finish earlier, in seconds, are not kept for a run that resumes.
    open_engine : callable
        Opens the engine that the settings name; pass another one to change its limits.
    """
    check_output(output, force=force)
    notes: tuple[str, ...] = ()
    if settings.update:
        settings, notes = join_earlier(settings)
    inputs = fingerprint_inputs({name: getattr(settings, name) for name in _FILES})
    checkpoints = RunCheckpoints(
        CheckpointStore(checkpoint_folder(output), HOMES),
        _checkpoint_key(settings, inputs),
        min_seconds=checkpoint_after,
    )
    memory, folder = parse_size(settings.memory), settings.apply or settings.update
    with (
        use_memory_budget(memory),
        single_threaded_blas(),
        checkpoint_run(checkpoints),
        model_errors(Path(folder)) if folder else nullcontext(),
    ):
        earlier = read_model(Path(folder)) if folder else None
        with (
            atomic_folder(output, force=force) as new_folder,
            open_engine(settings.engine, memory=memory) as engine,
        ):
            checkpoints.begin(resume=resume)
            if settings.truth and not engine.is_local:
                raise ParameterError(
                    f"--truth cannot be given with --engine {settings.engine}; measure afterwards: "
                    f"mhpc evaluate {output} --truth {settings.truth}"
                )
            return _Run(
                settings, inputs, engine, new_folder, progress, earlier, checkpoints, notes
            ).run()


@dataclass(frozen=True, eq=False)
class _Run:
    """One run: what it needs, and how long its stages took."""

    settings: RunSettings
    inputs: InputFiles
    engine: Engine
    folder: Path
    progress: Progress
    earlier: Model | None
    checkpoints: RunCheckpoints
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self) -> RunSummary:
        """Take all steps, and return what was found."""
        settings, engine = self.settings, self.engine
        with self._stage("reading"):
            taxonomy = read_taxonomy(settings.taxonomy, format=settings.taxonomy_format)
            votes = engine.read(
                settings.votes, columns=settings.columns, scope=settings.scope,
                folder=self.folder, format=settings.format,
            )  # fmt: skip
            truth = read_truth(settings.truth) if settings.truth else None
            gold = read_truth(settings.gold) if settings.gold else votes.gold
        known = self._known_sources()
        with self._stage("encoding"):
            encoded = engine.encode(
                votes, taxonomy, unknown=settings.unknown, gold=gold, earlier=known,
                progress=self.progress,
            )  # fmt: skip
            new_sources = () if known is None else known.find_new(votes.sources)
            del votes
        self.inputs.check_unchanged()
        with self._stage("consolidating"):
            if self.earlier is None:
                encoded, scores, model = self._fit(encoded)
            else:
                scores, model = self._apply(self.earlier, encoded, len(taxonomy), new_sources)
        scores = replace(scores, notes=(*scores.notes, *self.notes))
        log_scores(scores)
        with self._stage("evaluating"):
            cards = evaluate_views(scores, model.rule, truth, settings.unknown) if truth else ()
        summary = self._write(encoded, scores, model, cards)
        if settings.report:
            self.progress("reporting", 0, 0)
            # Where the votes are in this process, they need not be read again.
            panel = encoded.template if engine.is_local else None
            write_report(self.folder, page_data_of_run(self.folder, panel=panel))
        if not engine.is_local:
            # A worker that took over from another may have read the files late.
            self.inputs.check_unchanged()
        return summary

    def _known_sources(self) -> KnownSources | None:
        """Return the sources of the run that is applied or updated."""
        if self.earlier is None:
            return None
        return known_sources(
            self.earlier, "prior" if self.settings.update else self.settings.new_sources
        )

    def _apply(
        self, earlier: Model, encoded: EncodedVotes, n_labels: int, new_sources: tuple[str, ...]
    ) -> tuple[Consolidation, Model]:
        """Score by the model of an earlier run, updated if that is asked for, and its rule."""
        model = adapt_model(earlier, encoded.template, n_labels=n_labels)
        if self.settings.update:
            fitted = model.fitted.update(encoded.partitions)
            if fitted is None:
                raise cannot_update(self.settings.update, model.method)
            model = replace(model, fitted=fitted)
        scores = encoded.apply(model, progress=self.progress)
        notes = describe_applied(self.settings, new_sources)
        return replace(scores, notes=(*scores.notes, *notes)), model

    def _fit(self, encoded: EncodedVotes) -> tuple[EncodedVotes, Consolidation, Model]:
        """Fit a method and a rule."""
        settings = self.settings
        method = make_method(settings.method, settings.parameters, seed=settings.seed)
        encoded = encoded.place_for(method, self.folder)
        scores = encoded.fit_and_score(method, progress=self.progress)
        rule = make_default_rule(
            scores,
            settings.rule or ("threshold" if settings.threshold else None),
            depth_bias=settings.depth_bias, threshold=settings.threshold, paths=settings.paths,
        )  # fmt: skip
        model = Model(
            method=scores.method,
            parameters=dict(scores.parameters),
            fitted=scores.fitted() if scores.fitted else None,
            rule=encoded.fit_rule(rule, scores),
            sources=encoded.partitions.sources,
            scope=encoded.template.scope,
            has_gold=encoded.template.gold is not None,
        )
        return encoded, scores, model

    def _write(
        self,
        encoded: EncodedVotes,
        scores: Consolidation,
        model: Model,
        cards: tuple[Scorecard, ...],
    ) -> RunSummary:
        folder, partitions, template = self.folder, encoded.partitions, encoded.template
        with self._stage("writing"):
            write_taxonomy(folder / "taxonomy.csv", template.taxonomy)
            if model.fitted is not None:
                write_model(folder, model)
            scope = effective_scope(partitions, template)
            counts = encoded.write_results(
                folder, scores, model.rule, top=self.settings.top, scope=scope,
                progress=self.progress,
            )  # fmt: skip
            sources = profile_sources(partitions, template, counts)
            conflicts = find_disagreements(partitions, scope, counts)
            write_sources(folder / "sources.csv", sources)
        scores = replace(scores, notes=(*scores.notes, *self.checkpoints.notes))
        summary = summarize(scores, counts, model.rule, sources, conflicts, cards, self.seconds)
        document = run_document(self.settings.model_dump(), self.inputs.fingerprints, summary)
        (folder / "run.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
        return summary

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self.progress(name, 0, 0)
        _LOG.debug("%s", name)
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start
        _LOG.info("%s: done in %.1f s", name, self.seconds[name])


def _checkpoint_key(settings: RunSettings, inputs: InputFiles) -> dict[str, Any] | None:
    """Return what checkpoints depend on, by name; None if a pipe is read, which has no identity."""
    files = [file for name in _FILES for file in list_paths(getattr(settings, name))]
    if any(file == "-" or Path(file).is_fifo() for file in files):
        return None
    # The content of a file matters, not its place.
    return {**settings.model_dump(include=_FIT_SETTINGS), **inputs.fingerprints, **versions()}


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """The ``run.json`` of a run, and its result; scores that ``--top`` left out are 0."""

    document: RunDocument
    result: Result


def load_run(folder: Path, *, votes: str | None = None, panel: Panel | None = None) -> LoadedRun:
    """Read a run again, with its votes.

    Parameters
    ----------
    folder : Path
        What ``mhpc consolidate`` wrote.
    votes : str, optional
        Where the votes are now; by default, where they were.
    panel : Panel, optional
        The encoded votes, if they are at hand; nothing is then read again.
    """
    document = read_run_document(folder)
    has_model = (folder / "model.npz").is_file()
    scores = replace(
        read_run(folder), fitted=cache(partial(_read_fitted, folder)) if has_model else None
    )
    if panel is None:
        files = find_votes(document, folder, votes)
        panel = _encode_again(document.settings, files, scores.taxonomy, folder)
    if panel.instances.ids != scores.instances.ids:
        raise DataError(
            f"the votes have other instances than {folder}; give those that were consolidated with "
            "--votes FILE, or consolidate again"
        )
    summary = document.summary
    decision = read_decision(folder, scores.taxonomy, panel.instances, summary.decision)
    return LoadedRun(document, Result(panel, scores, decision, summary.sources))


def page_data_of_run(
    folder: Path, *, votes: str | None = None, panel: Panel | None = None
) -> dict[str, Any]:
    """Collect the data of a run's report page; parameters as in `load_run`."""
    loaded = load_run(folder, votes=votes, panel=panel)
    result = loaded.result
    return make_page_data(
        result.panel, result.consolidation, result.decision, result.sources,
        loaded.document.content,
    )  # fmt: skip


def _read_fitted(folder: Path) -> FittedMethod:
    fitted: FittedMethod = read_model(folder).fitted
    return fitted


def _encode_again(
    settings: RecordedSettings, votes: tuple[str, ...], taxonomy: Taxonomy, folder: Path
) -> Panel:
    # Labels that were added to the taxonomy are in the one that the run wrote.
    unknown: Unknown = "error" if settings.unknown == "error" else "drop"
    with warnings.catch_warnings():
        # The run itself has warned.
        warnings.simplefilter("ignore", MhpcWarning)
        tables = [
            read_votes(file, columns=settings.columns, scope=settings.scope, format=settings.format)
            for file in votes
        ]
        known = None
        if settings.apply or settings.update:
            # The model that the run wrote knows the sources that were new as well.
            known = known_sources(read_model(folder), settings.new_sources)
        return encode_votes(
            join_votes(tables),
            taxonomy,
            unknown=unknown,
            gold=read_truth(settings.gold) if settings.gold else None,
            known_sources=known,
        )
