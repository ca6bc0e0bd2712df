"""From files to a folder and back: run() consolidates into OUT/, load_run() reads OUT/ again."""

import glob
import hashlib
import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mhpc.data.panel import Panel
from mhpc.data.profiles import SourceProfiles
from mhpc.data.scorecard import Scorecard
from mhpc.data.scores import Consolidation
from mhpc.data.summary import Model, RunSummary
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import LabelPolicy, Truth, Votes
from mhpc.engines.base import EncodedVotes, Engine, open_engine
from mhpc.errors import DataError, MhpcWarning, ParameterError, UnreadableError, option
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.registry import make_method
from mhpc.model import HOMES, model_errors, read_model
from mhpc.output import write_document, write_tables
from mhpc.read.files import split_sheet
from mhpc.read.label_map import read_label_map
from mhpc.read.run_folder import (
    RecordedSettings,
    RunDocument,
    read_decision,
    read_run,
    read_run_document,
)
from mhpc.read.taxonomy import read_taxonomy, taxonomy_from_votes
from mhpc.read.truth import read_truth_as
from mhpc.read.votes import read_votes_as
from mhpc.report.html import write_report
from mhpc.report.summary import summarize, versions
from mhpc.result import Result, page_data
from mhpc.settings import SAVED_FILES, RunSettings
from mhpc.steps import encode_votes, evaluate_views, log_scores, make_default_rule, make_model
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
from mhpc.system.parallel import single_threaded_blas

_LOG = logging.getLogger("mhpc")

_CHOOSE_VOTES = option("votes", "FILE")

_FILES = ("votes", "taxonomy", "truth", "gold", "scope", "map")
"""The settings that name files to read."""

_FIT_SETTINGS = {
    "format", "taxonomy", "taxonomy_format", "method", "parameters", "seed", "columns", "scope",
    "unknown", "abstain", "memory", "engine", "separator", "score_max", "negative", "map",
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
    inputs = fingerprint_inputs({name: getattr(settings, name) for name in _FILES})
    checkpoints = RunCheckpoints(
        CheckpointStore(checkpoint_folder(output), HOMES),
        _checkpoint_key(settings, inputs),
        min_seconds=checkpoint_after,
    )
    memory = parse_size(settings.memory)
    with (
        use_memory_budget(memory),
        single_threaded_blas(),
        checkpoint_run(checkpoints),
        model_errors(Path(settings.apply)) if settings.apply else nullcontext(),
    ):
        earlier = read_model(Path(settings.apply)) if settings.apply else None
        with (
            atomic_folder(output, force=force) as folder,
            open_engine(settings.engine, memory=memory) as engine,
        ):
            checkpoints.begin(resume=resume)
            if settings.truth and not engine.is_local:
                raise ParameterError(
                    f"{option('truth')} cannot be given with {option('engine', settings.engine)}; "
                    f"measure afterwards with mhpc evaluate {output}"
                )
            return _Run(settings, inputs, engine, folder, progress, earlier, checkpoints).run()


@dataclass(frozen=True, eq=False)
class _Run:
    """One run: what it needs, and how long its stages took."""

    settings: RunSettings
    inputs: "InputFiles"
    engine: Engine
    folder: Path
    progress: Progress
    earlier: Model | None
    checkpoints: RunCheckpoints
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def policy(self) -> LabelPolicy:
        """What to do with labels that are not in the taxonomy."""
        return LabelPolicy(self.settings.unknown, self.settings.abstain)

    def run(self) -> RunSummary:
        """Take all steps, and return what was found."""
        settings, engine = self.settings, self.engine
        with self._stage("reading"):
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
        with self._stage("encoding"):
            encoded = engine.encode(
                votes, taxonomy, unknown=self.policy, gold=gold, earlier=self.earlier,
                progress=self.progress,
            )  # fmt: skip
            del votes
        self.inputs.check_unchanged()
        with self._stage("consolidating"):
            encoded, scores, model = self._score(encoded)
        log_scores(scores)
        with self._stage("evaluating"):
            cards = evaluate_views(scores, model.rule, truth, self.policy) if truth else ()
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

    def _score(self, encoded: EncodedVotes) -> tuple[EncodedVotes, Consolidation, Model]:
        """Fit a method and a rule, or apply those of an earlier run."""
        if self.earlier is not None:
            scores = encoded.apply(self.earlier, progress=self.progress)
            return encoded, scores, _with_denial_weights(self.earlier, scores)
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
        scores = replace(scores, notes=(*scores.notes, *self.checkpoints.notes))
        summary = summarize(
            scores, written.counts, model.rule, written.sources, written.conflicts, cards,
            self.seconds,
        )  # fmt: skip
        write_document(self.folder, self.settings.model_dump(), self.inputs.fingerprints, summary)
        return summary

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self.progress(name, 0, 0)
        _LOG.debug("%s", name)
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start
        _LOG.info("%s: done in %.1f s", name, self.seconds[name])


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


def _checkpoint_key(settings: RunSettings, inputs: "InputFiles") -> dict[str, Any] | None:
    """Return what checkpoints depend on, by name; None if a pipe is read, which has no identity."""
    files = [*settings.vote_paths, *(getattr(settings, name) for name in _FILES[1:])]
    if any(file == "-" or Path(file).is_fifo() for file in files if file):
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
    return _load(Path(folder), votes)


def _load(folder: Path, votes: str | Path | Sequence[str], panel: Panel | None = None) -> Result:
    """Read a run; with a panel, the encoded votes, nothing but its results."""
    document = read_run_document(folder)
    settings = _resolve_files(document.settings, folder)
    scores = read_run(folder)
    table: Votes | None = None
    if panel is None:
        files = _find_votes(document, folder, _as_tuple(votes) or _as_tuple(settings.votes))
        table = _read_again(settings, files)
        # A saved result may have instances without votes.
        further = scores.instances if document.settings.votes in SAVED_FILES else ()
        panel = _encode_again(settings, table, scores.taxonomy, further)
    if panel.instances.ids != scores.instances.ids:
        raise DataError(
            f"the votes have other instances than {folder}; give those that were consolidated with "
            f"{_CHOOSE_VOTES}, or consolidate again"
        )
    model = cache(partial(read_model, folder)) if (folder / "model.npz").is_file() else None
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


def _resolve_files(settings: RecordedSettings, folder: Path) -> RecordedSettings:
    """Find the files that are beside ``run.json``, where `Result.save` puts them."""

    def find(file: str) -> str:
        return str(folder / file) if file in SAVED_FILES else file

    votes = tuple(map(find, _as_tuple(settings.votes)))
    gold = None if settings.gold is None else find(settings.gold)
    return replace(settings, votes=votes, scope=find(settings.scope), gold=gold)


def page_data_of_run(
    folder: Path, *, votes: str | Sequence[str] = (), panel: Panel | None = None
) -> dict[str, Any]:
    """Collect the data of a run's report page; parameters as in `load_run`."""
    return page_data(_load(folder, votes, panel))


def _find_votes(document: RunDocument, folder: Path, files: tuple[str, ...]) -> tuple[str, ...]:
    """Return where the votes are, after checking that they are those of the run."""
    if "-" in files:
        raise UnreadableError(
            f"{folder} was made of votes that came through a pipe, and does not keep them; say "
            f"where they are with {_CHOOSE_VOTES}"
        )
    for file in files:
        if not is_lasting(Path(file)):
            raise UnreadableError(
                f"{file}, the votes of {folder}, is not there any more; say where it is with "
                f"{_CHOOSE_VOTES}"
            )
    recorded = document.inputs.votes
    if recorded and fingerprint_all(files)["sha256"] != recorded.sha256:
        raise DataError(
            f"{files[0]} has changed since {folder} was made of it: its sha256 is another one; "
            f"give the votes as they were with {_CHOOSE_VOTES}, or consolidate again"
        )
    return files


def _as_tuple(paths: str | Path | Sequence[str]) -> tuple[str, ...]:
    return (str(paths),) if isinstance(paths, str | Path) else tuple(paths)


def _read_again(recorded: RecordedSettings, votes: tuple[str, ...]) -> Votes:
    settings = RunSettings(
        votes=votes, taxonomy="-", format=recorded.format, columns=recorded.columns,
        separator=recorded.separator, score_max=recorded.score_max, negative=recorded.negative,
        gold=recorded.gold,
    )  # fmt: skip
    with warnings.catch_warnings():
        # The run itself has warned.
        warnings.simplefilter("ignore", MhpcWarning)
        label_map = read_label_map(recorded.map)
        options = replace(settings.read_options(), label_map=label_map)
        table = read_votes_as(votes, options, scope=recorded.scope)
        gold = _read_known(settings, "gold", label_map)
    return table if gold is None else replace(table, gold=gold)


def _encode_again(
    recorded: RecordedSettings, votes: Votes, taxonomy: Taxonomy, instances: Iterable[str]
) -> Panel:
    # Labels that were added to the taxonomy are in the one that the run wrote.
    unknown = "drop" if recorded.unknown == "graft" else recorded.unknown
    with warnings.catch_warnings():
        # The run itself has warned.
        warnings.simplefilter("ignore", MhpcWarning)
        earlier = read_model(Path(recorded.apply)) if recorded.apply else None
        return encode_votes(
            votes,
            taxonomy,
            unknown=LabelPolicy(unknown, recorded.abstain),
            gold=votes.gold,
            known_sources=(earlier.sources, earlier.scope) if earlier else None,
            instances=instances,
        )


FileState: TypeAlias = tuple[tuple[str, int, int], ...]
"""Name, size and time of every file behind a path."""


@dataclass(frozen=True)
class InputFiles:
    """The files that a run reads.

    Attributes
    ----------
    fingerprints : mapping of str to mapping
        Sizes and hashes, by the setting that names the file.
    states : mapping of Path to FileState
        What shows that a file has changed.
    """

    fingerprints: Mapping[str, dict[str, Any]]
    states: Mapping[Path, FileState]

    def check_unchanged(self) -> None:
        """Refuse files that changed while they were read; one that is gone was read before."""
        for path, before in self.states.items():
            now = _file_state(path)
            if now and now != before:
                raise UnreadableError(
                    f"{path} changed while it was read; run again when nothing writes to it"
                )


def fingerprint_inputs(files: Mapping[str, str | tuple[str, ...] | None]) -> InputFiles:
    """Fingerprint those inputs that are files, given by the settings that name them."""
    named = {name: _as_tuple(paths) for name, paths in files.items() if paths}
    lasting = {
        name: paths
        for name, paths in named.items()
        if all(is_lasting(Path(path)) for path in paths)
    }
    # Before they are read, so that no change is missed.
    files_read = [split_sheet(path)[0] for paths in lasting.values() for path in paths]
    states = {path: _file_state(path) for path in files_read}
    return InputFiles({name: fingerprint_all(paths) for name, paths in lasting.items()}, states)


def fingerprint_all(paths: Sequence[str]) -> dict[str, Any]:
    """Return the size and the hash of one or several inputs; a single one has its own hash."""
    parts = [fingerprint(Path(path)) for path in paths]
    return parts[0] if len(parts) == 1 else _join_fingerprints(parts)


def _join_fingerprints(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    digests = "".join(part["sha256"] for part in parts)
    return {
        "files": len(parts),
        "bytes": sum(part["bytes"] for part in parts),
        "sha256": hashlib.sha256(digests.encode()).hexdigest(),
    }


def is_lasting(path: Path) -> bool:
    """Tell whether a path can be read again, unlike a pipe."""
    path, _ = split_sheet(path)
    return path.is_file() or bool(_list_files(path))


def fingerprint(path: Path) -> dict[str, Any]:
    """Return the size and the hash of a file, or of all files of a folder or pattern together."""
    path, _ = split_sheet(path)
    if not path.is_file():
        return _join_fingerprints([fingerprint(file) for file in _list_files(path)])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _file_state(path: Path) -> FileState:
    files = [path] if path.is_file() else _list_files(path)
    return tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files)


def _list_files(path: Path) -> list[Path]:
    """Return the files that are read where a folder or a pattern is named, by name."""
    if path.is_dir():
        files = [file for file in path.glob("[!._]*") if file.is_file()]
        files = [file for file in files if file.suffix == ".parquet"] or files
    else:
        # A pattern may be absolute, which Path.glob does not take.
        files = [Path(name) for name in glob.iglob(str(path))]  # noqa: PTH207
    return sorted(file for file in files if file.is_file())
