"""A run read again, with the votes that it was made of."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from mhpc.core.choice import Choice, GoldGain, Judged
from mhpc.core.conflicts import Conflict, Conflicts, Confusion, Dispute
from mhpc.core.fingerprint import fingerprint, lasts
from mhpc.core.panel import Panel
from mhpc.core.sources import Share, SourceFacts, Weakness
from mhpc.core.taxonomy import Taxonomy
from mhpc.encode.known import of_known_sources
from mhpc.encode.labels import Unknown
from mhpc.encode.panel import encode
from mhpc.engine.local import with_known
from mhpc.errors import DataError, MhpcWarning, UnreadableError
from mhpc.read.decision import read_decision
from mhpc.read.model import read_model
from mhpc.read.run import read_run
from mhpc.read.run_document import read_run_document
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.result import Result


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
