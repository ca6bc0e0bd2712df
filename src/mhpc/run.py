"""From files to a folder and back: run() consolidates into OUT/, load_run() reads OUT/ again."""

import glob
import hashlib
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from mhpc.api import evaluate_views
from mhpc.data.panel import Panel
from mhpc.data.scorecard import Scorecard
from mhpc.data.scores import Consolidation
from mhpc.data.summary import Model, RunSummary
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Unknown
from mhpc.engines.base import EncodedVotes, Engine, open_engine
from mhpc.errors import DataError, MhpcWarning, ParameterError, UnreadableError
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
from mhpc.steps import encode_votes, log_scores, make_default_rule
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
from mhpc.write.tables import write_sources, write_taxonomy

_LOG = logging.getLogger("mhpc")

_FILES = ("votes", "taxonomy", "truth", "gold", "scope")
"""The settings that name files to read."""

_FIT_SETTINGS = {
    "format", "taxonomy", "taxonomy_format", "method", "parameters", "seed", "columns", "scope",
    "unknown", "memory", "engine",
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
                    f"--truth cannot be given with --engine {settings.engine}; measure afterwards: "
                    f"mhpc evaluate {output} --truth {settings.truth}"
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
        with self._stage("encoding"):
            encoded = engine.encode(
                votes, taxonomy, unknown=settings.unknown, gold=gold, earlier=self.earlier,
                progress=self.progress,
            )  # fmt: skip
            del votes
        self.inputs.check_unchanged()
        with self._stage("consolidating"):
            encoded, scores, model = self._score(encoded)
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
        model = Model(
            method=scores.method,
            parameters=dict(scores.parameters),
            fitted=scores.fitted() if scores.fitted else None,
            rule=encoded.fit_rule(rule, scores),
            sources=encoded.partitions.sources,
            scope=encoded.template.scope,
            denial_weights=scores.denial_weights,
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


def _with_denial_weights(model: Model, scores: Consolidation) -> Model:
    """Return the model of an earlier run, which may not have had negative votes to count."""
    if scores.denial_weights is None:
        return model
    return replace(model, denial_weights=scores.denial_weights)


def _checkpoint_key(settings: RunSettings, inputs: "InputFiles") -> dict[str, Any] | None:
    """Return what checkpoints depend on, by name; None if a pipe is read, which has no identity."""
    files = [getattr(settings, name) for name in _FILES]
    if any(file == "-" or Path(file).is_fifo() for file in files if file):
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
        file = _find_votes(document, folder, votes)
        panel = _encode_again(document.settings, file, scores.taxonomy)
    if panel.denials is not None and has_model:
        scores = replace(scores, denial_weights=read_model(folder).denial_weights)
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


def _find_votes(document: RunDocument, folder: Path, votes: str | None) -> str:
    """Return where the votes are, after checking that they are those of the run."""
    file = votes or document.settings.votes
    if file == "-":
        raise UnreadableError(
            f"{folder} was made of votes that came through a pipe, and does not keep them; say "
            "where they are with --votes FILE"
        )
    if not is_lasting(Path(file)):
        raise UnreadableError(
            f"{file}, the votes of {folder}, is not there any more; say where it is with "
            "--votes FILE"
        )
    recorded = document.inputs.votes
    if recorded and fingerprint(Path(file))["sha256"] != recorded.sha256:
        raise DataError(
            f"{file} has changed since {folder} was made of it: its sha256 is another one; give "
            "the votes as they were with --votes FILE, or consolidate again"
        )
    return file


def _encode_again(settings: RecordedSettings, votes: str, taxonomy: Taxonomy) -> Panel:
    # Labels that were added to the taxonomy are in the one that the run wrote.
    unknown: Unknown = "error" if settings.unknown == "error" else "drop"
    with warnings.catch_warnings():
        # The run itself has warned.
        warnings.simplefilter("ignore", MhpcWarning)
        earlier = read_model(Path(settings.apply)) if settings.apply else None
        return encode_votes(
            read_votes(
                votes, columns=settings.columns, scope=settings.scope, format=settings.format
            ),
            taxonomy,
            unknown=unknown,
            gold=read_truth(settings.gold) if settings.gold else None,
            known_sources=(earlier.sources, earlier.scope) if earlier else None,
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


def fingerprint_inputs(files: Mapping[str, str | None]) -> InputFiles:
    """Fingerprint those inputs that are files, given by the settings that name them."""
    paths = {name: Path(file) for name, file in files.items() if file and is_lasting(Path(file))}
    # Before they are read, so that no change is missed.
    states = {path: _file_state(path) for path in paths.values()}
    return InputFiles({name: fingerprint(path) for name, path in paths.items()}, states)


def is_lasting(path: Path) -> bool:
    """Tell whether a path can be read again, unlike a pipe."""
    return path.is_file() or bool(_list_files(path))


def fingerprint(path: Path) -> dict[str, Any]:
    """Return the size and the hash of a file, or of all files of a folder or pattern together."""
    if not path.is_file():
        parts = [fingerprint(file) for file in _list_files(path)]
        digests = "".join(part["sha256"] for part in parts)
        return {
            "files": len(parts),
            "bytes": sum(part["bytes"] for part in parts),
            "sha256": hashlib.sha256(digests.encode()).hexdigest(),
        }
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
