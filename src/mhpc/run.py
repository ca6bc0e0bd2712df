"""The main job: the stages of a run from files to a folder, on whatever engine."""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mhpc.account import account
from mhpc.consolidate.registry import make_method
from mhpc.core.algebra import one_thread_each
from mhpc.core.consolidation import Consolidation
from mhpc.core.decision import Settled
from mhpc.core.inputs import Inputs, look_at
from mhpc.core.memory import as_bytes, within_memory
from mhpc.core.model import Model
from mhpc.core.parts import labels_per_answer
from mhpc.core.progress import Progress, silent
from mhpc.core.summary import Summary
from mhpc.engine.engine import Held, open_engine
from mhpc.engine.kept import Kept, kept, kept_beside
from mhpc.errors import ParameterError
from mhpc.inquire import conflicts_of, spoken_about
from mhpc.pipeline import facts_of, rule_for, scorecards, tell_found
from mhpc.read.model import read_model
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.report.document import run_document, versions
from mhpc.report.html import write_report
from mhpc.report.summary import summarise
from mhpc.settings import RunSettings
from mhpc.write.folder import refuse_existing, whole_folder
from mhpc.write.model import write_model
from mhpc.write.tables import write_sources, write_taxonomy

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
