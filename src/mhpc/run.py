"""Run(): files to a folder; load_run(): a folder back to a Result."""

import glob
import hashlib
import json
import logging
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from mhpc.api import rule_for, scorecards, tell_found
from mhpc.data.decision import Settled
from mhpc.data.disagreement import Conflict, Conflicts, Confusion, Dispute
from mhpc.data.panel import Panel, labels_per_answer
from mhpc.data.profiles import Share, SourceFacts, Weakness
from mhpc.data.scores import Consolidation
from mhpc.data.selection import Choice, GoldGain, Judged
from mhpc.data.summary import Model, Summary
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Unknown
from mhpc.encoding.gold import of_known_sources
from mhpc.encoding.panel import encode
from mhpc.engines.base import Held, open_engine
from mhpc.engines.local import with_known
from mhpc.errors import DataError, MhpcWarning, ParameterError, UnreadableError
from mhpc.explanation.queries import conflicts_of, spoken_about
from mhpc.explanation.sources import facts_of
from mhpc.methods.registry import make_method
from mhpc.read.run_folder import read_decision, read_run, read_run_document
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.report.html import write_report
from mhpc.report.page_data import account_of
from mhpc.report.summary import run_document, summarise, versions
from mhpc.result import Result
from mhpc.settings import RunSettings
from mhpc.system.checkpoints import Kept, kept, kept_beside
from mhpc.system.display import Progress, silent
from mhpc.system.files import refuse_existing, whole_folder
from mhpc.system.memory import as_bytes, within_memory
from mhpc.system.parallel import one_thread_each
from mhpc.system.serialization import read_model, write_model
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
class Revisited:
    """A run's ``run.json``, and its result; scores that the run left out are 0."""

    document: Mapping[str, Any]
    result: Result


def revisit(folder: Path, *, votes: str | None = None, panel: Panel | None = None) -> Revisited:
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
        choice=_choice(document.get("choice")),
        learnt=cache(partial(_learnt, folder)) if (folder / "model.npz").is_file() else None,
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
    return Revisited(document, Result(panel, consolidation, decision, sources))


def read_conflicts(folder: Path) -> Conflicts:
    """Return what a run found contested and confused; the votes are not needed for it."""
    found = read_run_document(folder)["conflicts"]
    instances = (
        Conflict(**{**each, "disputed": tuple(Dispute(**one) for one in each["disputed"])})
        for each in found["instances"]
    )
    confusions = (Confusion(**each) for each in found["confusions"])
    return Conflicts(tuple(instances), found["disputed"], tuple(confusions))


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
        panel = encode(found, taxonomy, unknown=unknown)
        gold = read_truth(settings["gold"]) if settings["gold"] else None
        panel = with_known(panel, gold, unknown=unknown)
    if settings["apply"]:
        earlier = read_model(Path(settings["apply"]))
        panel = of_known_sources(panel, earlier.sources, earlier.scope)
    return panel


def _learnt(folder: Path) -> Any:
    return read_model(folder).fitted


def _choice(found: Mapping[str, Any] | None) -> Choice | None:
    if found is None:
        return None
    candidates = tuple(
        Judged(**{**each, "specific": tuple(each["specific"]), "closed": tuple(each["closed"])})
        for each in found["candidates"]
    )
    gold = GoldGain(**found["gold"]) if found["gold"] else None
    named = {view: tuple(found[view]) for view in ("specific", "closed")}
    return Choice(**{**found, **named, "candidates": candidates, "gold": gold})


def _source(found: Mapping[str, Any]) -> SourceFacts:
    shares = {
        name: Share(*(_number(each) for each in found[name]))
        for name in ("accurate", "vague", "wrong")
    }
    errs = tuple(Weakness(**each) for each in found["errs"])
    depth = _number(found["mean_depth"])
    return SourceFacts(**{**found, **shares, "errs": errs, "mean_depth": depth})


def _number(value: float | None) -> float:
    """Return what JSON calls null as what it was."""
    return float("nan") if value is None else value


@dataclass(frozen=True)
class Inputs:
    """What was there to be read.

    Attributes
    ----------
    prints : mapping of str to mapping
        Sizes and hashes, by what each is to the run.
    states : mapping of Path to State
        By which it is seen that one has changed.
    """

    prints: Mapping[str, dict[str, Any]]
    states: Mapping[Path, State]

    def refuse_changed(self) -> None:
        """Refuse files that somebody wrote to since; one that is gone was read before."""
        for path, before in self.states.items():
            now = state_of(path)
            if now and now != before:
                raise UnreadableError(
                    f"{path} changed while it was read; run again when nobody writes to it"
                )


def look_at(files: Mapping[str, str | None]) -> Inputs:
    """Return what files hold, of those that are files: by what they are to the run, their paths."""
    there = {name: Path(file) for name, file in files.items() if file and lasts(Path(file))}
    # Looked at before they are read, so that no change meanwhile is missed.
    states = {path: state_of(path) for path in there.values()}
    return Inputs({name: fingerprint(path) for name, path in there.items()}, states)


def account(
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
    found = revisit(folder, votes=votes, panel=panel)
    return account_of(found.result, found.document)


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
) -> Summary:
    """Do the main job, from files to a folder that appears whole or not at all.

    What is finished on the way is kept beside the folder until it is there; with `resume` it is
    taken from a run that ended before, if settings and files are the same.
    """
    refuse_existing(output, force=force)
    inputs = look_at({name: getattr(settings, name) for name in _FILES})
    stages = Kept(kept_beside(output), _key(settings, inputs))
    with within_memory(as_bytes(settings.memory)), one_thread_each(), kept(stages):
        return _run(settings, inputs, stages, output, force, resume, progress)


def _run(
    settings: RunSettings,
    inputs: Inputs,
    stages: Kept,
    output: Path,
    force: bool,
    resume: bool,
    progress: Progress,
) -> Summary:
    seconds: dict[str, float] = {}
    earlier = read_model(Path(settings.apply)) if settings.apply else None
    memory = as_bytes(settings.memory)
    with (
        whole_folder(output, force=force) as folder,
        open_engine(settings.engine, memory=memory) as engine,
    ):
        stages.begin(resume=resume)
        if settings.truth and not engine.whole:
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
        inputs.refuse_changed()
        with _stage("consolidating", seconds, progress):
            if earlier is None:
                method = make_method(settings.method, settings.parameters, seed=settings.seed)
                held = held.for_method(method, folder)
                found = held.learn(method, progress=progress)
                model = _model(held, found, _settled(settings, held, found))
            else:
                found, model = held.apply(earlier, progress=progress), earlier
        tell_found(found)
        with _stage("evaluating", seconds, progress):
            cards = scorecards(found, model.settled, truth, settings.unknown) if truth else ()
        with _stage("writing", seconds, progress):
            write_taxonomy(folder / "taxonomy.csv", held.shape.taxonomy)
            if model.fitted is not None:
                write_model(folder / "model.npz", model)
            scope = spoken_about(held.parts, held.shape)
            counts = held.finish(
                folder, found, model.settled, top=settings.top, scope=scope, progress=progress
            )
            sources = facts_of(held.parts, held.shape, counts)
            conflicts = conflicts_of(held.parts, scope, counts)
            write_sources(folder / "sources.csv", sources)
        found = replace(found, notes=(*found.notes, *stages.notes))
        summary = summarise(found, counts, model.settled, sources, conflicts, cards, seconds)
        document = run_document(settings.model_dump(), inputs.prints, summary)
        (folder / "run.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
        if settings.report:
            progress("reporting", 0, 0)
            # Here the votes are at hand; elsewhere they are read once more.
            write_report(folder, account(folder, panel=held.shape if engine.whole else None))
        if not engine.whole:
            # Workers that took over from others may have read them late.
            inputs.refuse_changed()
    return summary


def _key(settings: RunSettings, inputs: Inputs) -> dict[str, Any] | None:
    """Return what finished stages depend on, by name; None where that comes through a pipe."""
    files = {name: getattr(settings, name) for name in _FILES}
    if any(file == "-" or Path(file).is_fifo() for file in files.values() if file):
        return None
    # Of files it matters what is in them, not where they are.
    return {**settings.model_dump(include=_MATTERS), **inputs.prints, **versions()}


def _settled(settings: RunSettings, held: Held, found: Consolidation) -> Settled:
    rule = rule_for(
        found,
        settings.rule or ("threshold" if settings.threshold else None),
        depth_bias=settings.depth_bias, level=settings.threshold, paths=settings.paths,
    )  # fmt: skip
    return rule.settle(held.seen(found), labels_per_answer=labels_per_answer(held.parts))


def _model(held: Held, found: Consolidation, settled: Settled) -> Model:
    """Return what the run learnt; what it decides by alone where the method keeps nothing."""
    learnt = found.learnt() if found.learnt else None
    sources, scope = held.parts.sources, held.shape.scope
    return Model(found.method, dict(found.parameters), learnt, settled, sources, scope)


@contextmanager
def _stage(name: str, seconds: dict[str, float], progress: Progress) -> Iterator[None]:
    progress(name, 0, 0)
    _LOG.debug("%s", name)
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began
    _LOG.info("%s: done in %.1f s", name, seconds[name])
