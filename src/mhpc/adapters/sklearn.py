"""An estimator for scikit-learn.

A row of X is an instance, a column is a source, and a cell is the answer of the source: a label, a
list of labels (empty for "none of these"), or None or nan where the source was not asked.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Self

import numpy as np

from mhpc.adapters.common import decide, predict_scores, sparse_scores, taxonomy_from
from mhpc.api import consolidate, evaluate
from mhpc.data.scores import Consolidation
from mhpc.data.votes import Votes
from mhpc.errors import UnknownLabelError
from mhpc.methods.base import Method
from mhpc.numerics.arrays import Sparse
from mhpc.parameters import check_type
from mhpc.read.frames import is_missing
from mhpc.read.votes import read_votes
from mhpc.rules.base import Rule

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    from mhpc.errors import MissingExtraError

    raise MissingExtraError(
        "mhpc.adapters.sklearn needs scikit-learn; pip install 'mhpc[adapters]'"
    ) from None


class Consolidator(BaseEstimator):  # type: ignore[misc]
    """Consolidate the answers of sources, which are the columns of X.

    Parameters
    ----------
    taxonomy : Taxonomy, or whatever `mhpc.read_taxonomy` takes, optional
        The hierarchy; by default, labels have none.
    method, rule
        As `mhpc.consolidate` takes them.
    unknown : "error", "drop", "nearest" or "ancestor"
        What to do with labels that the taxonomy lacks, as `mhpc.consolidate` takes it.

    Attributes
    ----------
    classes_ : array of str, (K,)
        The ids of the labels: the columns of what is predicted.
    class_names_ : array of str, (K,)
        Their names.
    result_ : Result
        The result for the instances of the fit.
    n_features_in_, feature_names_in_
        The sources.

    Examples
    --------
    >>> X = [["rose", "flower"], ["bird", "bird"]]
    >>> model = Consolidator({"flower": ["rose"], "bird": []}, method="majority").fit(X)
    >>> model.inverse_transform(model.predict(X))
    [('flower',), ('bird',)]
    >>> model.score(X, ["flower", "bird"])
    1.0
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        method: str | Method | None = None,
        rule: str | Rule | None = None,
        unknown: Literal["error", "drop", "nearest", "ancestor"] = "error",
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
        taxonomy = self.result_.consolidation.taxonomy
        self.classes_ = np.array(taxonomy.labels.ids, dtype=object)
        self.class_names_ = np.array(taxonomy.names, dtype=object)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Sparse:
        """Return the label sets of these instances, (n, K), ones in a csr_array."""
        result = self.fit(X).result_
        return _in_order(_ones(result.decision.reason), result.consolidation)

    def predict(self, X: Any) -> Sparse:
        """Return the label sets of any instances, by what was fitted, as `fit_predict` does."""
        scores = self._score(X)
        return _in_order(_ones(decide(self.result_, scores).reason), scores)

    def predict_proba(self, X: Any) -> Sparse:
        """Return the scores of any instances, (n, K), by what was fitted; several may be true."""
        scores = self._score(X)
        return _in_order(sparse_scores(scores), scores)

    def inverse_transform(self, Y: Any) -> list[tuple[str, ...]]:
        """Return label sets, (n, K), as tuples of labels, as MultiLabelBinarizer does."""
        check_is_fitted(self)
        return [tuple(labels or ()) for labels in _label_lists(Y, self.classes_, name="Y")]

    def score(self, X: Any, y: Any) -> float:
        """Return the hierarchical F of the predicted label sets, ancestors included, at most 1.

        It is what suits a hierarchy: a label that is nearly right counts for something. The share
        of sets that are exactly right is ``accuracy_score(Y, model.predict(X))``.

        Parameters
        ----------
        X : array, (n, M)
            Answers, as for `fit`.
        y : sequence of labels or lists of labels, or array or csr_array of 0 and 1, (n, K)
            The true labels; ancestors need not be among them. Instances with None or nan are left
            out. The score is nan if there is nothing to measure.
        """
        scores = self._score(X)
        truth = dict(enumerate(_label_lists(y, self.classes_, name="y")))
        known = {str(row): labels for row, labels in truth.items() if labels is not None}
        decided = decide(self.result_, scores).reason
        try:
            card = evaluate(scores, known, unknown=self.unknown, decided=decided)
        except UnknownLabelError:
            if self.unknown == "error":
                raise
            return float("nan")
        return card["hierarchical_f"]

    def _score(self, X: Any) -> Consolidation:
        check_is_fitted(self)
        votes, rows = self._votes(X, reset=False)
        return predict_scores(self.result_, votes, unknown=self.unknown, instances=rows)

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
    if isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        yield from list(cell) or [None]
    elif not is_missing(cell):
        yield cell


def _label_lists(y: Any, classes: Any, *, name: str) -> list[Any]:
    """Return the labels of every row of indicators, or of every cell; None if they are unknown."""
    check_type(name, y, Iterable, "labels, or an array of 0 and 1")
    if getattr(y, "ndim", 1) == 2:
        rows = y.tocsr() if hasattr(y, "toarray") else np.asarray(y)
        return [classes[np.flatnonzero(_to_row(row))].tolist() for row in rows]
    return [_known_labels(cell) for cell in y]


def _to_row(row: Any) -> Any:
    return row.toarray().ravel() if hasattr(row, "toarray") else row


def _known_labels(cell: Any) -> list[Any] | None:
    labels = list(_labels(cell))
    return None if not labels else [label for label in labels if label is not None]


def _ones(reason: Sparse) -> Sparse:
    ones = reason.astype(np.int8)
    ones.data[:] = 1
    return ones


def _in_order(matrix: Sparse, scores: Consolidation) -> Sparse:
    """Return the rows in the order of X; instances without answers came last."""
    return matrix[np.argsort([int(row) for row in scores.instances])]
