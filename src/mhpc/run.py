"""Run(): files to a folder; load_run(): a folder back to a Result."""

import glob
import hashlib
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from mhpc.api import evaluate_views
from mhpc.data.decision import FittedRule
from mhpc.data.disagreement import ConfusedPair, Disagreement, Disagreements, LabelDispute
from mhpc.data.panel import Panel
from mhpc.data.profiles import Proportion, SourceProfile, Weakness
from mhpc.data.scores import Consolidation
from mhpc.data.selection import CandidateScore, GoldCalibration, Selection
from mhpc.data.summary import Model, RunSummary
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Unknown
from mhpc.engines.base import EncodedVotes, Engine, open_engine
from mhpc.errors import DataError, MhpcWarning, ParameterError, UnreadableError
from mhpc.explanation.queries import find_disagreements
from mhpc.explanation.sources import profile_sources
from mhpc.methods.registry import make_method
from mhpc.methods.scope import effective_scope
from mhpc.model import HOMES, model_errors, read_model, write_model
from mhpc.read.run_folder import read_decision, read_run, read_run_document
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.report.html import write_report
from mhpc.report.page_data import page_data_of
from mhpc.report.summary import run_document, summarize, versions
from mhpc.result import Result
from mhpc.settings import RunSettings
from mhpc.steps import encode_votes, log_scores, make_default_rule
from mhpc.system.checkpoints import CheckpointStore, checkpoint_folder, checkpoint_run
from mhpc.system.display import Progress, silent
from mhpc.system.files import atomic_folder, check_output
from mhpc.system.memory import parse_size, use_memory_budget
from mhpc.system.parallel import single_threaded_blas
from mhpc.write.tables import write_sources, write_taxonomy

State: TypeAlias = tuple[tuple[str, int, int], ...]


def lasts(path: Path) -> bool:
    """Tell whether something can be read once more, as what came through a pipe cannot."""
    return path.is_file() or bool(_several(path))


def fingerprint(path: Path) -> dict[str, Any]:
    """Return the size and the hash of a file, or of those of a folder or pattern together."""
    if not path.is_file():
        parts = [fingerprint(file) for file in _several(path)]
        digests = "".join(part["sha256"] for part in parts)
        return {
            "files": len(parts),
            "bytes": sum(part["bytes"] for part in parts),
            "sha256": hashlib.sha256(digests.encode()).hexdigest(),
        }
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def state_of(path: Path) -> State:
    """Return names, sizes and times of the files behind a path: cheap, and other if one changed."""
    files = [path] if path.is_file() else _several(path)
    return tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files)


def _several(path: Path) -> list[Path]:
    """Return the files that are read where a folder or a pattern is named, by name."""
    if path.is_dir():
        found = [file for file in path.glob("[!._]*") if file.is_file()]
        found = [file for file in found if file.suffix == ".parquet"] or found
    else:
        # A pattern may be absolute, which Path.glob does not take.
        found = [Path(name) for name in glob.iglob(str(path))]  # noqa: PTH207
    return sorted(file for file in found if file.is_file())


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A run's ``run.json``, and its result; scores that the run left out are 0."""

    document: Mapping[str, Any]
    result: Result


def load_run(folder: Path, *, votes: str | None = None, panel: Panel | None = None) -> LoadedRun:
    """Read a run again.

    Parameters
    ----------
    folder : Path
        What ``mhpc consolidate`` wrote.
    votes : str, optional
        Where the votes are now; unless given, where they were.
    panel : Panel, optional
        The votes as they were encoded, where they are at hand; nothing is then read again.
    """
    document = read_run_document(folder)
    consolidation = replace(
        read_run(folder),
        selection=_choice(document.get("selection")),
        fitted=cache(partial(_learnt, folder)) if (folder / "model.npz").is_file() else None,
    )
    if panel is None:
        found = _votes_file(document, folder, votes)
        panel = _panel(document["settings"], found, consolidation.taxonomy)
    if panel.instances.ids != consolidation.instances.ids:
        raise DataError(
            f"the votes have other instances than {folder}; give those that were consolidated with "
            "--votes FILE, or consolidate again"
        )
    decision = read_decision(folder, consolidation.taxonomy, panel.instances, document["decision"])
    sources = tuple(map(_source, document["sources"]))
    return LoadedRun(document, Result(panel, consolidation, decision, sources))


def read_conflicts(folder: Path) -> Disagreements:
    """Return what a run found contested and confused; the votes are not needed for it."""
    found = read_run_document(folder)["conflicts"]
    instances = (
        Disagreement(**{**each, "disputed": tuple(LabelDispute(**one) for one in each["disputed"])})
        for each in found["instances"]
    )
    confusions = (ConfusedPair(**each) for each in found["confusions"])
    return Disagreements(tuple(instances), found["disputed"], tuple(confusions))


def _votes_file(document: Mapping[str, Any], folder: Path, given: str | None) -> str:
    """Return where the votes are, if they are what the run read."""
    named = given or document["settings"]["votes"]
    if named == "-":
        raise UnreadableError(
            f"{folder} was made of votes that came through a pipe, and does not keep them; say "
            "where they are with --votes FILE"
        )
    if not lasts(Path(named)):
        raise UnreadableError(
            f"{named}, the votes of {folder}, is not there any more; say where it is with "
            "--votes FILE"
        )
    before = document["inputs"].get("votes")
    if before and fingerprint(Path(named))["sha256"] != before["sha256"]:
        raise DataError(
            f"{named} is not what {folder} was made of: its sha256 is another one, so that it has "
            "changed since; give the votes as they were with --votes FILE, or consolidate again"
        )
    return str(named)


def _panel(settings: Mapping[str, Any], votes: str, taxonomy: Taxonomy) -> Panel:
    # What the taxonomy lacked and was grafted is in the run's own.
    unknown: Unknown = "error" if settings["unknown"] == "error" else "drop"
    with warnings.catch_warnings():
        # What was left out was told of when it was.
        warnings.simplefilter("ignore", MhpcWarning)
        found = read_votes(
            votes, columns=settings["columns"], scope=settings["scope"],
            format=settings.get("format"),
        )  # fmt: skip
        gold = read_truth(settings["gold"]) if settings["gold"] else None
        earlier = read_model(Path(settings["apply"])) if settings["apply"] else None
        return encode_votes(
            found, taxonomy, unknown=unknown, gold=gold,
            known_sources=(earlier.sources, earlier.scope) if earlier else None,
        )  # fmt: skip


def _learnt(folder: Path) -> Any:
    return read_model(folder).fitted


def _choice(found: Mapping[str, Any] | None) -> Selection | None:
    if found is None:
        return None
    candidates = tuple(
        CandidateScore(
            **{**each, "specific": tuple(each["specific"]), "closed": tuple(each["closed"])}
        )
        for each in found["candidates"]
    )
    gold = GoldCalibration(**found["gold"]) if found["gold"] else None
    named = {view: tuple(found[view]) for view in ("specific", "closed")}
    return Selection(**{**found, **named, "candidates": candidates, "gold": gold})


def _source(found: Mapping[str, Any]) -> SourceProfile:
    shares = {
        name: Proportion(*(_number(each) for each in found[name]))
        for name in ("accurate", "vague", "wrong")
    }
    errs = tuple(Weakness(**each) for each in found["weaknesses"])
    depth = _number(found["mean_depth"])
    return SourceProfile(**{**found, **shares, "weaknesses": errs, "mean_depth": depth})


def _number(value: float | None) -> float:
    """Return what JSON calls null as what it was."""
    return float("nan") if value is None else value


@dataclass(frozen=True)
class InputFiles:
    """What was there to be read.

    Attributes
    ----------
    prints : mapping of str to mapping
        Sizes and hashes, by what each is to the run.
    states : mapping of Path to State
        By which it is seen that one has changed.
    """

    fingerprints: Mapping[str, dict[str, Any]]
    states: Mapping[Path, State]

    def check_unchanged(self) -> None:
        """Refuse files that somebody wrote to since; one that is gone was read before."""
        for path, before in self.states.items():
            now = state_of(path)
            if now and now != before:
                raise UnreadableError(
                    f"{path} changed while it was read; run again when nobody writes to it"
                )


def fingerprint_inputs(files: Mapping[str, str | None]) -> InputFiles:
    """Return what files hold, of those that are files: by what they are to the run, their paths."""
    there = {name: Path(file) for name, file in files.items() if file and lasts(Path(file))}
    # Looked at before they are read, so that no change meanwhile is missed.
    states = {path: state_of(path) for path in there.values()}
    return InputFiles({name: fingerprint(path) for name, path in there.items()}, states)


def page_data_of_run(
    folder: Path, *, votes: str | None = None, panel: Panel | None = None
) -> dict[str, Any]:
    """Return the facts of a run's report, from its folder and its votes, which are read again.

    Parameters
    ----------
    folder : Path
        What ``mhpc consolidate`` wrote.
    votes : str, optional
        Where the votes are now; unless given, where they were.
    panel : Panel, optional
        The votes as they were encoded, where they are at hand, as at the end of a run.
    """
    found = load_run(folder, votes=votes, panel=panel)
    return page_data_of(found.result, found.document)


_LOG = logging.getLogger("mhpc")

_FILES = ("votes", "taxonomy", "truth", "gold", "scope")
"""The settings that name files to be read."""

_MATTERS = {
    "format", "taxonomy", "taxonomy_format", "method", "parameters", "seed", "columns", "scope",
    "unknown", "memory", "engine",
}  # fmt: skip
"""The settings that what is learnt depends on."""


def run(
    settings: RunSettings,
    *,
    output: Path,
    force: bool = False,
    resume: bool = False,
    progress: Progress = silent,
    open_engine: Callable[..., AbstractContextManager[Engine]] = open_engine,
) -> RunSummary:
    """Do the main job, from files to a folder that appears whole or not at all.

    What is finished on the way is kept beside the folder until it is there; with `resume` it is
    taken from a run that ended before, if settings and files are the same.
    """
    check_output(output, force=force)
    inputs = fingerprint_inputs({name: getattr(settings, name) for name in _FILES})
    stages = CheckpointStore(checkpoint_folder(output), _key(settings, inputs), HOMES)
    with (
        use_memory_budget(parse_size(settings.memory)),
        single_threaded_blas(),
        checkpoint_run(stages),
    ):
        with model_errors(Path(settings.apply)) if settings.apply else nullcontext():
            engine = open_engine(settings.engine, memory=parse_size(settings.memory))
            return _run(settings, inputs, stages, output, force, resume, progress, engine)


def _run(
    settings: RunSettings,
    inputs: InputFiles,
    stages: CheckpointStore,
    output: Path,
    force: bool,
    resume: bool,
    progress: Progress,
    opening: AbstractContextManager[Engine],
) -> RunSummary:
    seconds: dict[str, float] = {}
    earlier = read_model(Path(settings.apply)) if settings.apply else None
    with atomic_folder(output, force=force) as folder, opening as engine:
        stages.begin(resume=resume)
        if settings.truth and not engine.is_local:
            raise ParameterError(
                f"--truth cannot be given with --engine {settings.engine}; measure afterwards: "
                f"mhpc evaluate {output} --truth {settings.truth}"
            )
        with _stage("reading", seconds, progress):
            taxonomy = read_taxonomy(settings.taxonomy, format=settings.taxonomy_format)
            votes = engine.read(
                settings.votes, columns=settings.columns, scope=settings.scope, folder=folder,
                format=settings.format,
            )  # fmt: skip
            truth = read_truth(settings.truth) if settings.truth else None
            gold = read_truth(settings.gold) if settings.gold else votes.gold
        with _stage("encoding", seconds, progress):
            held = engine.encode(
                votes, taxonomy, unknown=settings.unknown, gold=gold, earlier=earlier,
                progress=progress,
            )  # fmt: skip
            del votes
        inputs.check_unchanged()
        with _stage("consolidating", seconds, progress):
            if earlier is None:
                method = make_method(settings.method, settings.parameters, seed=settings.seed)
                held = held.place_for(method, folder)
                found = held.fit_and_score(method, progress=progress)
                model = _model(held, found, _settled(settings, held, found))
            else:
                found, model = held.apply(earlier, progress=progress), earlier
        log_scores(found)
        with _stage("evaluating", seconds, progress):
            cards = evaluate_views(found, model.rule, truth, settings.unknown) if truth else ()
        with _stage("writing", seconds, progress):
            write_taxonomy(folder / "taxonomy.csv", held.template.taxonomy)
            if model.fitted is not None:
                write_model(folder, model)
            scope = effective_scope(held.partitions, held.template)
            counts = held.write_results(
                folder, found, model.rule, top=settings.top, scope=scope, progress=progress
            )
            sources = profile_sources(held.partitions, held.template, counts)
            conflicts = find_disagreements(held.partitions, scope, counts)
            write_sources(folder / "sources.csv", sources)
        found = replace(found, notes=(*found.notes, *stages.notes))
        summary = summarize(found, counts, model.rule, sources, conflicts, cards, seconds)
        document = run_document(settings.model_dump(), inputs.fingerprints, summary)
        (folder / "run.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
        if settings.report:
            progress("reporting", 0, 0)
            # Here the votes are at hand; elsewhere they are read once more.
            write_report(
                folder, page_data_of_run(folder, panel=held.template if engine.is_local else None)
            )
        if not engine.is_local:
            # Workers that took over from others may have read them late.
            inputs.check_unchanged()
    return summary


def _key(settings: RunSettings, inputs: InputFiles) -> dict[str, Any] | None:
    """Return what finished stages depend on, by name; None where that comes through a pipe."""
    files = {name: getattr(settings, name) for name in _FILES}
    if any(file == "-" or Path(file).is_fifo() for file in files.values() if file):
        return None
    # Of files it matters what is in them, not where they are.
    return {**settings.model_dump(include=_MATTERS), **inputs.fingerprints, **versions()}


def _settled(settings: RunSettings, held: EncodedVotes, found: Consolidation) -> FittedRule:
    rule = make_default_rule(
        found,
        settings.rule or ("threshold" if settings.threshold else None),
        depth_bias=settings.depth_bias, threshold=settings.threshold, paths=settings.paths,
    )  # fmt: skip
    return held.fit_rule(rule, found)


def _model(held: EncodedVotes, found: Consolidation, settled: FittedRule) -> Model:
    """Return what the run learnt; what it decides by alone where the method keeps nothing."""
    learnt = found.fitted() if found.fitted else None
    sources, scope = held.partitions.sources, held.template.scope
    return Model(found.method, dict(found.parameters), learnt, settled, sources, scope)


@contextmanager
def _stage(name: str, seconds: dict[str, float], progress: Progress) -> Iterator[None]:
    progress(name, 0, 0)
    _LOG.debug("%s", name)
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began
    _LOG.info("%s: done in %.1f s", name, seconds[name])
