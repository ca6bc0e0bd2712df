"""An estimator for scikit-learn.

A row of X is an instance, a column is a source, and a cell is the answer of the source: a label, a
list of labels (empty for "none of these"), or None or nan where the source was not asked.
"""

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np

from mhpc.api import consolidate
from mhpc.data.scores import Consolidation, scored_cells
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.data.votes import Votes
from mhpc.encoding.known_sources import KnownSources
from mhpc.errors import ParameterError
from mhpc.methods.base import Method
from mhpc.methods.registry import make_method
from mhpc.numerics.arrays import Sparse
from mhpc.numerics.sparse import csr_from_sorted
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.votes import read_votes
from mhpc.rules.base import Rule, apply_rule
from mhpc.steps import encode_votes, fit_rule, score


def taxonomy_from(source: Any, votes: Votes) -> Taxonomy:
    """Return a taxonomy, read if need be; without one, every label of the votes is a root."""
    if source is None:
        return build_taxonomy(votes.labels.ids, [])
    return source if isinstance(source, Taxonomy) else read_taxonomy(source)


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


try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    from mhpc.errors import MissingExtraError

    raise MissingExtraError(
        "mhpc.adapters.sklearn needs scikit-learn; pip install mhpc[adapters]"
    ) from None


class Consolidator(BaseEstimator):  # type: ignore[misc]
    """Consolidate the answers of sources, which are the columns of X.

    Parameters
    ----------
    taxonomy : Taxonomy, or whatever `mhpc.read_taxonomy` takes, optional
        The hierarchy; by default, labels have none.
    method, rule
        As `mhpc.consolidate` takes them.
    unknown : "error" or "drop"
        What to do with labels that the taxonomy lacks.

    Attributes
    ----------
    classes_ : array of str, (K,)
        The labels: the columns of what is predicted.
    result_ : Result
        The result for the instances of the fit.
    n_features_in_, feature_names_in_
        The sources.
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        method: str | Method | None = None,
        rule: Rule | None = None,
        unknown: Literal["error", "drop"] = "error",
    ) -> None:
        self.taxonomy = taxonomy
        self.method = method
        self.rule = rule
        self.unknown = unknown

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the method to X and consolidate X; `y` is there for pipelines and not used."""
        votes, rows = self._votes(X, reset=True)
        self.result_ = consolidate(
            votes, taxonomy_from(self.taxonomy, votes), method=self.method, rule=self.rule,
            unknown=self.unknown, instances=rows,
        )  # fmt: skip
        self.classes_ = np.array(self.result_.consolidation.taxonomy.labels.ids, dtype=object)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Sparse:
        """Return the label sets of these instances, (n, K), ones in a csr_array."""
        result = self.fit(X).result_
        return _in_order(_ones(result.decision.reason), result.consolidation)

    def predict(self, X: Any) -> Sparse:
        """Return the label sets of any instances, by what was fitted, as `fit_predict` does."""
        scores = self._score(X)
        rule = fit_rule(self.rule, self.result_.consolidation, self.result_.panel)
        return _in_order(_ones(apply_rule(rule, scores).reason), scores)

    def predict_proba(self, X: Any) -> Sparse:
        """Return the scores of any instances, (n, K), by what was fitted; several may be true."""
        scores = self._score(X)
        return _in_order(sparse_scores(scores), scores)

    def _score(self, X: Any) -> Consolidation:
        check_is_fitted(self)
        votes, rows = self._votes(X, reset=False)
        before = self.result_.consolidation
        fitted = before.fitted() if before.fitted else None
        if fitted is None:
            raise ParameterError(
                f"{before.method} scores all instances at once and cannot predict others; "
                "use fit_predict, or another method"
            )
        panel = encode_votes(
            votes, before.taxonomy, unknown=self.unknown, instances=rows,
            known_sources=self._known_sources(),
        )  # fmt: skip
        return score(make_method(before.method, before.parameters), fitted, panel)

    def _known_sources(self) -> KnownSources:
        panel = self.result_.panel
        return KnownSources(panel.sources, panel.scope, has_gold=panel.gold is not None)

    def _votes(self, X: Any, *, reset: bool) -> tuple[Votes, list[str]]:
        cells = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        sources = [str(name) for name in getattr(self, "feature_names_in_", range(cells.shape[1]))]
        rows = [
            (str(row), sources[column], label)
            for (row, column), cell in np.ndenumerate(cells)
            for label in _labels(cell)
        ]
        instance, source, label = zip(*rows, strict=True) if rows else ((), (), ())
        votes = read_votes({"instance": instance, "source": source, "label": label})
        return votes, [str(row) for row in range(len(cells))]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _labels(cell: Any) -> Iterator[Any]:
    """Yield the labels of a cell: None for "none of these", nothing if the source was not asked."""
    if isinstance(cell, list | tuple | set | frozenset):
        yield from cell or [None]
    elif cell is not None and cell == cell:
        yield cell


def _ones(reason: Sparse) -> Sparse:
    ones = reason.astype(np.int8)
    ones.data[:] = 1
    return ones


def _in_order(matrix: Sparse, scores: Consolidation) -> Sparse:
    """Return the rows in the order of X; instances without answers came last."""
    return matrix[np.argsort([int(row) for row in scores.instances])]
