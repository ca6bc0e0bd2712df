"""A run told in full: the facts of its report."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mhpc.core.arrays import FloatArray, IntArray
from mhpc.core.conflicts import Contested
from mhpc.core.entries import values_at
from mhpc.core.hierarchy import deepest
from mhpc.core.panel import Panel
from mhpc.core.parts import Whole, draw
from mhpc.explain.confrontations import Confrontations, confusions
from mhpc.inquire import CONFUSIONS, confronted, explain_some, within_scope
from mhpc.pipeline import counted
from mhpc.report.facts import Agreement, Listed, Material, facts
from mhpc.result import Result
from mhpc.revisit import revisit

EXPLAINED = 200
"""Contested instances that are explained."""

LISTED = 10_000
"""Instances that are listed."""

SOURCES = 60
"""Sources whose agreement is shown."""


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


def account_of(result: Result, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a report on a result; `document` is what ``run.json`` says of it."""
    panel = within_scope(result.panel)
    found = counted(panel, result.consolidation, result.decision, most=LISTED)
    met = confronted(Whole(panel), panel.scope)
    ranked = panel.instances.locate(found.contested.ids)
    first = ranked[:EXPLAINED]
    order = np.argsort(first)
    explained = explain_some(result, first[order])
    by_rank = np.argsort(order)
    return facts(
        Material(
            document=document,
            taxonomy=panel.taxonomy,
            found=found,
            sources=result.sources,
            agreement=agreement(met, found.by_source[0][: len(result.sources)]),
            confusions=confusions(met, panel.taxonomy, most=CONFUSIONS),
            looked_at=met.instances,
            explained=tuple(explained[at] for at in by_rank),
            listed=_listed(result, found.contested, ranked),
        )
    )


def agreement(met: Confrontations, answers: FloatArray) -> Agreement:
    """Return how often the sources with most answers agree; with itself each always does."""
    sources = np.sort(np.argsort(-answers, kind="stable")[:SOURCES])
    common, agreed = (
        (half + half.T).tocsr()[sources][:, sources].toarray() for half in (met.common, met.agreed)
    )
    share = np.full(common.shape, np.nan)
    np.divide(agreed, common, out=share, where=common > 0)
    own = answers[sources]
    common[np.diag_indices(len(sources))] = own
    share[np.diag_indices(len(sources))] = np.where(own > 0, 1.0, np.nan)
    return Agreement(sources, share, common)


def _listed(result: Result, contested: Contested, ranked: IntArray) -> Listed:
    """Return a line for the most contested instances, then for some of the others or all."""
    rest = np.setdiff1d(np.arange(len(result.panel.instances)), ranked)
    room = max(LISTED - len(ranked), 0)
    if len(rest) > room:
        lots = draw(result.panel.instances.part(rest))
        rest = np.sort(rest[np.argsort(lots, kind="stable")[:room]])
    at = np.concatenate([ranked, rest])
    chosen = result.decision.reason[at].astype(bool).astype(float).tocsr()
    lowest = deepest(chosen, result.panel.taxonomy)
    row = np.repeat(np.arange(len(at)), np.diff(lowest.indptr))
    return Listed(
        ids=tuple(result.panel.instances[i] for i in at),
        labels=tuple(
            tuple(each.tolist()) for each in np.split(lowest.indices, lowest.indptr[1:-1])
        ),
        score=_lowest(result, at, row, lowest.indices.astype(np.int64)),
        gain=np.concatenate([contested.gain, np.zeros(len(rest))]),
    )


def _lowest(result: Result, at: IntArray, row: IntArray, label: IntArray) -> FloatArray:
    """Return the lowest score among the given labels of each instance, nan where it has none."""
    score = values_at(result.consolidation.score[at], row, label)
    found = np.full(len(at), np.inf)
    np.minimum.at(found, row, score)
    return np.where(np.isfinite(found), found, np.nan)
