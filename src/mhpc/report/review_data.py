"""What a reviewer needs on the page: the instances, what sources said, and what to draw."""

import hashlib
from typing import Any

import numpy as np

from mhpc.data.decision import Decision
from mhpc.data.hierarchy import deepest
from mhpc.data.index import draw_order
from mhpc.data.panel import Panel, panel_rows
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.explanation.disagreement import collect_labels, compute_gains, find_even_score
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.numerics.sparse import row_indices, values_at

MAX_DRAWN = 2_000
"""Instances that a page lists because they were drawn at random, if it cannot list all."""


def identify_votes(panel: Panel) -> str:
    """Return a text that is the same for the same votes and taxonomy, with or without gold labels.

    The page keeps the answers of a reviewer under this name.
    """
    answers = np.flatnonzero(~panel.is_gold)
    raw = panel.raw[answers]
    digest = hashlib.blake2b(digest_size=16)
    for ids in (panel.taxonomy.labels, panel.instances, panel.sources.ids[: _n_sources(panel)]):
        digest.update("\0".join(ids).encode() + b"\0\0")
    for numbers in (panel.instance[answers], panel.source[answers], raw.indptr, raw.indices):
        digest.update(np.ascontiguousarray(numbers, dtype=np.int64).data)
    digest.update(np.ascontiguousarray(raw.data, dtype=np.float64).data)
    return digest.hexdigest()


def _n_sources(panel: Panel) -> int:
    """Return the number of sources without that of the gold labels, which is the last."""
    return len(panel.sources) - (panel.gold is not None)


def find_gains(consolidation: Consolidation, decision: Decision) -> FloatArray:
    """Return the expected gain of reviewing every instance, (N,)."""
    if decision.gain is not None:
        return decision.gain
    even_score = find_even_score(decision.parameters)
    return np.concatenate(
        [
            compute_gains(
                consolidation.score[span],
                decision.reason[span],
                decision.taxonomy,
                even_score=even_score,
            )
            for span in instance_blocks(consolidation)
        ]
    )


def list_instances(
    panel: Panel, consolidation: Consolidation, decision: Decision, *, limit: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the instances that a page lists, as columns, and what a reviewer draws from.

    If there are more than `limit`, those with the largest expected gain are listed, and
    `MAX_DRAWN` that were drawn at random from all instances without gold labels.

    Returns
    -------
    instances : dict
        The columns ``id``, ``labels``, ``score``, ``gain`` and ``answers``, the largest gain first,
        and the positions of instances with ``gold`` labels.
    review : dict
        ``random``: positions in these columns, in random order; ``population``: the number of
        instances that they were drawn from.
    """
    ids, gain = panel.instances, find_gains(consolidation, decision)
    known = np.zeros(0, dtype=np.int64) if panel.gold is None else panel.gold.rows
    unknown = np.setdiff1d(np.arange(len(ids)), known)
    drawn = unknown[draw_order(ids.select(unknown))]
    by_gain = np.lexsort((np.arange(len(ids)), -gain))
    if len(ids) > limit:
        drawn = drawn[: min(MAX_DRAWN, limit // 2)]
        others = by_gain[~np.isin(by_gain, drawn)][: limit - len(drawn)]
        by_gain = by_gain[np.isin(by_gain, np.concatenate([drawn, others]))]
    place = np.full(len(ids), -1)
    place[by_gain] = np.arange(len(by_gain))
    labels = deepest(decision.reason[by_gain].astype(bool).astype(float).tocsr(), decision.taxonomy)
    columns = {
        "id": [ids[row] for row in by_gain],
        "labels": [row.tolist() for row in np.split(labels.indices, labels.indptr[1:-1])],
        "score": _lowest_score(
            consolidation, by_gain, row_indices(labels), labels.indices.astype(np.int64)
        ).round(4).tolist(),
        "gain": gain[by_gain].round(4).tolist(),
        "answers": _list_answers(panel, by_gain),
        "gold": place[np.intersect1d(known, by_gain)].tolist(),
    }  # fmt: skip
    return columns, {"random": place[drawn].tolist(), "population": len(unknown)}


def _lowest_score(
    consolidation: Consolidation, instances: IntArray, row: IntArray, label: IntArray
) -> FloatArray:
    """Return the lowest score among the labels of each instance, nan where it has none."""
    lowest = np.full(len(instances), np.inf)
    np.minimum.at(lowest, row, values_at(consolidation.score[instances], row, label))
    return np.where(np.isfinite(lowest), lowest, np.nan)


def _list_answers(panel: Panel, instances: IntArray) -> list[list[list[Any]]]:
    """Return for every instance its answers: source, most specific labels, and scores below 1."""
    order = np.argsort(instances)
    part = panel_rows(panel, instances[order])
    given = collect_labels(part).deepest
    score = values_at(part.augmented, row_indices(given), given.indices)
    answers: list[list[list[Any]]] = [[] for _ in instances]
    for answer in np.flatnonzero(~part.is_gold).tolist():
        span = slice(given.indptr[answer], given.indptr[answer + 1])
        entry: list[Any] = [int(part.source[answer]), given.indices[span].tolist()]
        if (score[span] < 1).any():
            entry.append(score[span].round(4).tolist())
        answers[order[part.instance[answer]]].append(entry)
    return answers
