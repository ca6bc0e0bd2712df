"""What the adapters share: taxonomies that may be missing, sparse scores, and prediction."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mhpc.data.decision import Decision
from mhpc.data.panel import Panel
from mhpc.data.scores import Consolidation, scored_cells
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.data.votes import Unknown, Votes
from mhpc.encoding.known_sources import KnownSources
from mhpc.errors import ParameterError
from mhpc.methods.registry import make_method
from mhpc.numerics.arrays import Sparse
from mhpc.numerics.sparse import csr_from_sorted
from mhpc.read.taxonomy import read_taxonomy
from mhpc.result import Result
from mhpc.rules.base import apply_rule
from mhpc.steps import encode_votes, score
from mhpc.system.blas import single_threaded_blas


def taxonomy_from(source: Any, votes: Votes) -> Taxonomy:
    """Return a taxonomy, read if need be; without one, every label of the votes is a root."""
    return build_taxonomy(votes.labels.ids, []) if source is None else read_taxonomy(source)


def sparse_scores(consolidation: Consolidation) -> Sparse:
    """Return the scores above 0, (N, K), without ever storing the others."""
    blocks = list(scored_cells(consolidation))
    row, label, score = (
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("row", "label", "score")
    )
    scores = csr_from_sorted(
        row, label, score, shape=(len(consolidation.instances), len(consolidation.taxonomy))
    )
    scores.eliminate_zeros()
    return scores


def predict_scores(
    result: Result, votes: Votes, *, unknown: Unknown = "error", instances: Iterable[str] = ()
) -> Consolidation:
    """Score the instances of other votes by what the method of a result fitted."""
    before = result.consolidation
    fitted = before.fitted() if before.fitted else None
    if fitted is None:
        raise ParameterError(
            f"{before.method} scores all instances at once and cannot predict others; "
            "use fit_predict, or another method"
        )
    panel = encode_votes(
        votes, before.taxonomy, unknown=unknown, instances=instances,
        known_sources=_known_sources(result.panel),
    )  # fmt: skip
    method = make_method(before.method, before.parameters)
    with single_threaded_blas():
        return score(method, fitted, panel, denial_weights=before.denial_weights)


def _known_sources(panel: Panel) -> KnownSources:
    return KnownSources(panel.sources, panel.scope, has_gold=panel.gold is not None)


def decide(result: Result, scores: Consolidation) -> Decision:
    """Decide on label sets by the rule of a result, as it was fitted."""
    assert result.rule is not None  # noqa: S101 - mhpc.consolidate has fitted one
    return apply_rule(result.rule, scores)
