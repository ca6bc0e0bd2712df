"""From files to a folder and back: run() consolidates into OUT/, load_run() reads OUT/ again."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from mhpc.data.panel import Panel
from mhpc.data.profiles import SourceProfiles
from mhpc.data.scorecard import Scorecard
from mhpc.data.scores import Consolidation
from mhpc.data.summary import Model, RunSummary
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import LabelPolicy, Truth, Votes
from mhpc.earlier import (
    CHOOSE_VOTES,
    cannot_update,
    describe_applied,
    find_votes,
    join_earlier,
    resolve_files,
)
from mhpc.encoding.known_sources import KnownSources
from mhpc.engines.base import EncodedVotes, Engine, open_engine
from mhpc.errors import (
    DataError,
    MhpcWarning,
    ParameterError,
    ReadingWarning,
    note_warnings,
    option,
    silence_warnings,
    spell_options,
)
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.registry import make_method
from mhpc.model import HOMES, SavedModel, model_errors, read_model
from mhpc.output import write_document, write_tables
from mhpc.parameters import check_type
from mhpc.read.inputs import InputFiles, fingerprint_inputs, list_paths
from mhpc.read.label_map import read_label_map
from mhpc.read.run_folder import (
    RecordedSettings,
    one_run,
    read_decision,
    read_run,
    read_run_document,
)
from mhpc.read.show import ShowSource, make_show_source
from mhpc.read.taxonomy import read_taxonomy, taxonomy_from_votes
from mhpc.read.truth import read_truth_as
from mhpc.read.votes import read_votes_as
from mhpc.report.html import write_report
from mhpc.report.sentences import describe_rule_sample
from mhpc.report.show import add_show
from mhpc.report.summary import summarize, versions
from mhpc.result import Result, page_data
from mhpc.settings import SAVED_FILES, RunSettings
from mhpc.steps import (
    adapt_model,
    encode_votes,
    evaluate_views,
    known_sources,
    log_scores,
    make_default_rule,
    make_model,
)
from mhpc.system.blas import single_threaded_blas
from mhpc.system.checkpoints import (
    MIN_SECONDS,
    CheckpointStore,
    RunCheckpoints,
    checkpoint_folder,
    checkpoint_run,
)
from mhpc.system.display import Progress, silent
from mhpc.system.files import atomic_folder, check_output
from mhpc.system.memory import parse_size, use_memory_budget

_LOG = logging.getLogger("mhpc")

_FILES = ("votes", "taxonomy", "truth", "gold", "scope", "map")
"""The settings that name files to read."""

_FIT_SETTINGS = {
    "format", "taxonomy", "taxonomy_format", "method", "parameters", "seed", "columns", "scope",
    "unknown", "abstain", "memory", "engine", "separator", "score_max", "negative", "map",
    "apply", "update", "new_sources",
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
    show = make_show_source(settings.show, settings.embed_images)
    if show is not None and settings.report:
        show.check()
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
                    f"{option('truth')} cannot be given with "
                    f"{option('engine', settings.engine, command='consolidate')}; measure "
                    f"afterwards with mhpc evaluate {output} {option('truth', 'FILE')}"
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
    input_notes: list[str] = field(default_factory=list)
    reading_notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def policy(self) -> LabelPolicy:
        """What to do with labels that are not in the taxonomy."""
        return LabelPolicy(self.settings.unknown, self.settings.abstain)

    def run(self) -> RunSummary:
        """Take all steps, and return what was found."""
        settings, engine = self.settings, self.engine
        with self._stage("reading"), self._note_warnings():
            taxonomy = _read_taxonomy(settings)
            label_map = read_label_map(settings.map)
            votes = engine.read(
                settings.votes, replace(settings.read_options(), label_map=label_map),
                scope=settings.scope, folder=self.folder,
            )  # fmt: skip
            truth = _read_known(settings, "truth", label_map)
            gold = _read_known(settings, "gold", label_map) or votes.gold
            if taxonomy is None:
                taxonomy = taxonomy_from_votes(votes, gold, abstain=settings.abstain)
        known = self._known_sources()
        with self._stage("encoding"), self._note_warnings():
            encoded = engine.encode(
                votes, taxonomy, unknown=self.policy, gold=gold, earlier=known,
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
            cards = evaluate_views(scores, model.rule, truth, self.policy) if truth else ()
        summary = self._write(encoded, scores, model, cards)
        if settings.report:
            self.progress("reporting", 0, 0)
            # Where the votes are in this process, they need not be read again.
            panel = encoded.template if engine.is_local else None
            show = make_show_source(settings.show, settings.embed_images)
            write_report(self.folder, page_data_of_run(self.folder, panel=panel, show=show))
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
        scores = replace(scores, notes=(*scores.notes, *notes))
        return scores, _with_denial_weights(model, scores)

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
        fitted_rule = encoded.fit_rule(rule, scores)
        return encoded, scores, make_model(scores, fitted_rule, encoded.template)

    def _write(
        self,
        encoded: EncodedVotes,
        scores: Consolidation,
        model: Model,
        cards: tuple[Scorecard, ...],
    ) -> RunSummary:
        with self._stage("writing"):
            write_results = partial(
                encoded.write_results, scores=scores, rule=model.rule, top=self.settings.top,
                progress=self.progress,
            )  # fmt: skip
            written = write_tables(
                self.folder, encoded.partitions, encoded.template, model, write_results
            )
        sampled: Iterable[str] = ()
        if not self.settings.apply:
            sampled = describe_rule_sample(model.rule.parameters, written.counts.instances)
        scores = replace(scores, notes=(*scores.notes, *sampled, *self.checkpoints.notes))
        summary = summarize(
            scores, written.counts, model.rule, written.sources, written.conflicts, cards,
            self.seconds,
        )  # fmt: skip
        summary = replace(
            summary,
            input_notes=tuple(self.input_notes),
            technical_notes=(*summary.technical_notes, *self.reading_notes),
        )
        write_document(self.folder, self.settings.model_dump(), self.inputs.fingerprints, summary)
        return summary

    @contextmanager
    def _note_warnings(self) -> Iterator[None]:
        """Keep what is said about the input, for who reads the result but not the terminal."""
        noted: list[MhpcWarning] = []
        try:
            with note_warnings() as noted:
                yield
        finally:
            for each in noted:
                note = _without_folders(each, self.settings)
                self.input_notes.append(note)
                if isinstance(each, ReadingWarning):
                    self.reading_notes.append(note)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self.progress(name, 0, 0)
        _LOG.debug("%s", name)
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start
        _LOG.info("%s: done in %.1f s", name, self.seconds[name])


def _without_folders(message: object, settings: RunSettings) -> str:
    """Return a message in which files are named without their folders, which concern nobody."""
    text = spell_options(message)
    for file in (path for name in _FILES for path in list_paths(getattr(settings, name))):
        text = text.replace(file, Path(file).name)
    return text


def _read_taxonomy(settings: RunSettings) -> Taxonomy | None:
    if settings.taxonomy is None:
        return None
    return read_taxonomy(
        settings.taxonomy, columns=settings.columns_of("taxonomy"), format=settings.taxonomy_format
    )


def _read_known(
    settings: RunSettings, table: Literal["truth", "gold"], label_map: Mapping[str, str]
) -> Truth | None:
    path = settings.truth if table == "truth" else settings.gold
    options = replace(settings.read_options(table), label_map=label_map)
    return read_truth_as(path, options) if path else None


def _with_denial_weights(model: Model, scores: Consolidation) -> Model:
    """Return the model of an earlier run, which may not have had negative votes to count."""
    if scores.denial_weights is None:
        return model
    return replace(model, denial_weights=scores.denial_weights)


def _checkpoint_key(settings: RunSettings, inputs: InputFiles) -> dict[str, Any] | None:
    """Return what checkpoints depend on, by name; None if a pipe is read, which has no identity."""
    files = [file for name in _FILES for file in list_paths(getattr(settings, name))]
    if any(file == "-" or Path(file).is_fifo() for file in files):
        return None
    # The content of a file matters, not its place.
    return {**settings.model_dump(include=_FIT_SETTINGS), **inputs.fingerprints, **versions()}


def load_run(folder: str | Path, *, votes: str | Path | Sequence[str] = ()) -> Result:
    """Read the result of a run, or a saved result, with its votes.

    Parameters
    ----------
    folder : path
        What ``mhpc consolidate`` or `Result.save` wrote.
    votes : path or sequence of paths, optional
        Where the votes are now; by default, where they were.

    Returns
    -------
    Result
        Scores that were not kept, by ``--top`` or `top`, are 0.

    Examples
    --------
    >>> import tempfile, mhpc
    >>> votes = [("photo-1", "ann", "bee"), ("photo-1", "bob", "ant")]
    >>> result = mhpc.consolidate(votes, ["ant", "bee"], method="majority")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(folder + "/OUT")
    ...     mhpc.load_run(folder + "/OUT").labels == result.labels
    True
    """
    check_type("folder", folder, (str, Path), "the folder of a run")
    return _load(Path(folder), votes)


def _load(folder: Path, votes: str | Path | Sequence[str], panel: Panel | None = None) -> Result:
    """Read a run; with a panel, the encoded votes, nothing but its results."""
    with one_run(folder):
        return _read_result(folder, votes, panel)


def _read_result(folder: Path, votes: str | Path | Sequence[str], panel: Panel | None) -> Result:
    document = read_run_document(folder)
    settings = resolve_files(document.settings, folder)
    scores = read_run(folder)
    table: Votes | None = None
    if panel is None:
        files = find_votes(document, folder, list_paths(votes))
        table = _read_again(settings, files)
        # A saved result may have instances without votes.
        further = scores.instances if document.settings.votes in SAVED_FILES else ()
        panel = _encode_again(settings, table, scores.taxonomy, further, folder)
    if panel.instances.ids != scores.instances.ids:
        raise DataError(
            f"the votes have other instances than {folder}; give those that were consolidated with "
            f"{CHOOSE_VOTES}, or consolidate again"
        )
    model = SavedModel(folder) if (folder / "model.npz").is_file() else None
    if model is not None:
        scores = replace(scores, fitted=partial(_fitted, model))
        if panel.denials is not None:
            scores = replace(scores, denial_weights=model().denial_weights)
    summary = document.summary
    decision = read_decision(folder, scores.taxonomy, panel.instances, summary.decision)
    return Result(
        panel, scores, decision, SourceProfiles(summary.sources), votes=table,
        policy=LabelPolicy(settings.unknown, settings.abstain), model=model,
        document=document.content,
    )  # fmt: skip


def _fitted(model: Callable[[], Model]) -> FittedMethod:
    fitted: FittedMethod = model().fitted
    return fitted


def page_data_of_run(
    folder: Path,
    *,
    votes: str | Sequence[str] = (),
    panel: Panel | None = None,
    show: ShowSource | None = None,
) -> dict[str, Any]:
    """Collect the data of a run's report page; parameters as in `load_run`."""
    facts = page_data(_load(folder, votes, panel))
    return facts if show is None else add_show(facts, show.read(facts["instances"]["id"]))


def _read_again(recorded: RecordedSettings, votes: tuple[str, ...]) -> Votes:
    settings = RunSettings(
        votes=votes, taxonomy="-", format=recorded.format, columns=recorded.columns,
        separator=recorded.separator, score_max=recorded.score_max, negative=recorded.negative,
        gold=recorded.gold,
    )  # fmt: skip
    with silence_warnings():
        # The run itself has warned.
        label_map = read_label_map(recorded.map)
        options = replace(settings.read_options(), label_map=label_map)
        table = read_votes_as(votes, options, scope=recorded.scope)
        gold = _read_known(settings, "gold", label_map)
    return table if gold is None else replace(table, gold=gold)


def _encode_again(
    recorded: RecordedSettings,
    votes: Votes,
    taxonomy: Taxonomy,
    instances: Iterable[str],
    folder: Path,
) -> Panel:
    # Labels that were added to the taxonomy are in the one that the run wrote.
    unknown = "drop" if recorded.unknown == "graft" else recorded.unknown
    with silence_warnings():
        # The run itself has warned.
        known = None
        if recorded.apply or recorded.update:
            # The model that the run wrote knows the sources that were new as well.
            known = known_sources(read_model(folder), recorded.new_sources)
        return encode_votes(
            votes,
            taxonomy,
            unknown=LabelPolicy(unknown, recorded.abstain),
            gold=votes.gold,
            known_sources=known,
            instances=instances,
        )
