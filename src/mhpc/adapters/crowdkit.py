"""An aggregator with the interface of crowd-kit: ``fit_predict`` of ``task, worker, label``.

It needs pandas, not crowd-kit.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Self

from mhpc.adapters.common import decide, predict_scores, sparse_scores, taxonomy_from
from mhpc.api import consolidate
from mhpc.data.decision import Decision, labelled_scores
from mhpc.data.scores import Consolidation
from mhpc.data.votes import Votes
from mhpc.errors import (
    DataError,
    MissingColumnError,
    MissingExtraError,
    ParameterError,
    quote_list,
)
from mhpc.methods.base import Method
from mhpc.parameters import check_choice, check_type
from mhpc.read.votes import read_votes
from mhpc.rules.base import Rule

if TYPE_CHECKING:
    import pandas as pd

if find_spec("pandas") is None:
    raise MissingExtraError("mhpc.adapters.crowdkit needs pandas; pip install 'mhpc[adapters]'")


_COLUMNS = ("task", "worker", "label")


class Consolidator:
    """Aggregate labels from one hierarchy as crowd-kit's classifiers aggregate flat ones.

    Parameters
    ----------
    taxonomy : Taxonomy, or whatever `mhpc.read_taxonomy` takes, optional
        The hierarchy; by default, labels have none.
    method, rule
        As `mhpc.consolidate` takes them.
    answers : "sets" or "single"
        What a task gets: the list of all its labels, ancestors included, as crowd-kit's
        aggregators of several labels give it; or its most likely label among those that have no
        other below them, None where it has none.

    Attributes
    ----------
    labels_ : Series
        What `fit_predict` returns.
    probas_ : DataFrame
        What `fit_predict_proba` returns.
    skills_ : Series
        How reliable workers are, indexed by worker: the share of their most specific labels that
        are in the result.
    result_ : Result
        All that `mhpc.consolidate` returns.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(1, "ann", "rose"), (1, "bob", "rose"), (1, "cid", "bird"), (2, "ann", "bird")]
    >>> data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    >>> model = Consolidator({"flower": ["rose"], "bird": []}, method="majority", answers="single")
    >>> model.fit_predict(data).to_dict()
    {1: 'rose', 2: 'bird'}
    >>> model.skills_.to_dict()
    {'ann': 1.0, 'bob': 1.0, 'cid': 0.0}
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        method: str | Method | None = None,
        rule: str | Rule | None = None,
        answers: Literal["sets", "single"] = "sets",
    ) -> None:
        check_choice("answers", answers, ("sets", "single"))
        self.taxonomy, self.method, self.rule, self.answers = taxonomy, method, rule, answers

    def fit(self, data: "pd.DataFrame") -> Self:
        """Consolidate a frame with the columns task, worker and label; lists are several labels."""
        votes, self._tasks = _read(data)
        self._workers = _workers_by_source(data, votes)
        self.result_ = consolidate(
            votes, taxonomy_from(self.taxonomy, votes), method=self.method, rule=self.rule
        )
        return self

    def fit_predict(self, data: "pd.DataFrame") -> "pd.Series[Any]":
        """Return the labels of every task, a Series named agg_label and indexed by task."""
        return self.fit(data).labels_

    def fit_predict_proba(self, data: "pd.DataFrame") -> "pd.DataFrame":
        """Return a score for every task and label, a frame of sparse columns indexed by task."""
        return self.fit(data).probas_

    def predict(self, data: "pd.DataFrame") -> "pd.Series[Any]":
        """Return the labels of other tasks of the same workers, by what was fitted."""
        scores, tasks = self._score(data)
        return self._labels(scores, decide(self.result_, scores), tasks)

    def predict_proba(self, data: "pd.DataFrame") -> "pd.DataFrame":
        """Return the scores of other tasks of the same workers, by what was fitted."""
        return _probabilities(*self._score(data))

    @property
    def labels_(self) -> "pd.Series[Any]":
        """The labels of every task."""
        return self._labels(self.result_.consolidation, self.result_.decision, self._tasks)

    @property
    def probas_(self) -> "pd.DataFrame":
        """A score for every task and label."""
        return _probabilities(self.result_.consolidation, self._tasks)

    @property
    def skills_(self) -> "pd.Series[Any]":
        """The share of each worker's most specific labels that are in the result."""
        import pandas as pd

        profiles = self.result_.sources
        workers = [self._workers.get(profile.source, profile.source) for profile in profiles]
        skills = [1.0 - profile.wrong.value for profile in profiles]
        return pd.Series(skills, index=pd.Index(workers, name="worker"), name="skill")

    def _score(self, data: "pd.DataFrame") -> tuple[Consolidation, Any]:
        if not hasattr(self, "result_"):
            raise ParameterError("this Consolidator is not fitted; call fit first")
        votes, tasks = _read(data)
        return predict_scores(self.result_, votes), tasks

    def _labels(self, scores: Consolidation, decision: Decision, tasks: Any) -> "pd.Series[Any]":
        import pandas as pd

        single = self.answers == "single"
        labels = _single(scores, decision) if single else list(decision.labels().values())
        return pd.Series(labels, index=_index(scores, tasks), name="agg_label", dtype=object)


def _read(data: "pd.DataFrame") -> tuple[Votes, Any]:
    """Read votes; tasks are numbered, so that their ids come back with their own types."""
    _check(data)
    rows = data[list(_COLUMNS)].explode("label")
    number, tasks = rows["task"].factorize()
    columns = {"task": number, "worker": rows["worker"], "label": rows["label"]}
    return read_votes(columns), tasks


def _check(data: "pd.DataFrame") -> None:
    """Raise an error if a column is missing or repeated, or a task or worker has no id."""
    import pandas as pd

    check_type("data", data, pd.DataFrame, "a frame with the columns task, worker and label")
    names = list(data.columns)
    for name in _COLUMNS:
        if names.count(name) != 1:
            raise MissingColumnError(
                f"data has {names.count(name) or 'no'} columns {name!r}; it needs one each of "
                f"{quote_list(_COLUMNS)}"
            )
    for name in ("task", "worker"):
        try:
            number, _ = data[name].factorize()
        except TypeError:
            raise DataError(f"data: column {name!r} has lists or mappings; give ids") from None
        if (number < 0).any():
            raise DataError(
                f"data: row {int((number < 0).argmax()) + 1:,} has no {name}; every row needs one"
            )


def _workers_by_source(data: "pd.DataFrame", votes: Votes) -> dict[str, Any]:
    """Return workers with their own types by the ids that sources have as text."""
    workers = data["worker"].drop_duplicates().tolist()
    # Both are in order of first appearance. Two workers may be the same text, as 1 and "1".
    is_one_to_one = len(workers) == len(votes.sources)
    return dict(zip(votes.sources, workers, strict=True)) if is_one_to_one else {}


def _probabilities(scores: Consolidation, tasks: Any) -> "pd.DataFrame":
    import pandas as pd

    labels = pd.Index(list(scores.taxonomy.labels), name="label")
    return pd.DataFrame.sparse.from_spmatrix(
        sparse_scores(scores), index=_index(scores, tasks), columns=labels
    )


def _index(scores: Consolidation, tasks: Any) -> Any:
    import pandas as pd

    return pd.Index([tasks[int(number)] for number in scores.instances], name="task")


def _single(scores: Consolidation, decision: Decision) -> list[str | None]:
    """Return the most likely of the deepest labels of every instance, None where it has none."""
    deepest = labelled_scores(scores, decision.reason).deepest()
    single: list[str | None] = []
    for row in range(len(deepest.instances)):
        chosen, score = deepest.labels_of(row)
        single.append(scores.taxonomy.labels[chosen[score.argmax()]] if len(chosen) else None)
    return single
