"""An aggregator with the interface of crowd-kit: ``fit_predict`` of ``task, worker, label``.

It needs pandas, not crowd-kit.
"""

from typing import TYPE_CHECKING, Any, Literal, Self

from mhpc.adapters.sklearn import sparse_scores, taxonomy_from
from mhpc.api import consolidate
from mhpc.errors import ParameterError
from mhpc.methods.base import Method
from mhpc.read.votes import read_votes
from mhpc.result import Result
from mhpc.rules.base import Rule

if TYPE_CHECKING:
    import pandas as pd


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
    result_ : Result
        All that `mhpc.consolidate` returns.
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        method: str | Method | None = None,
        rule: Rule | None = None,
        answers: Literal["sets", "single"] = "sets",
    ) -> None:
        if answers not in ("sets", "single"):
            raise ParameterError(f"answers = {answers!r} is not allowed; give sets | single")
        self.taxonomy, self.method, self.rule, self.answers = taxonomy, method, rule, answers

    def fit(self, data: "pd.DataFrame") -> Self:
        """Consolidate a frame with the columns task, worker and label; lists are several labels."""
        rows = data[["task", "worker", "label"]].explode("label")
        # Tasks are numbered, so that their ids come back with their own types.
        number, self._tasks = rows["task"].factorize()
        votes = read_votes({"task": number, "worker": rows["worker"], "label": rows["label"]})
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

    @property
    def labels_(self) -> "pd.Series[Any]":
        """The labels of every task."""
        import pandas as pd

        single = self.answers == "single"
        labels = _single(self.result_) if single else list(self.result_.labels.values())
        return pd.Series(labels, index=self._index(), name="agg_label", dtype=object)

    @property
    def probas_(self) -> "pd.DataFrame":
        """A score for every task and label."""
        import pandas as pd

        labels = pd.Index(list(self.result_.consolidation.taxonomy.labels), name="label")
        return pd.DataFrame.sparse.from_spmatrix(
            sparse_scores(self.result_.consolidation), index=self._index(), columns=labels
        )

    def _index(self) -> Any:
        import pandas as pd

        tasks = [self._tasks[int(number)] for number in self.result_.consolidation.instances]
        return pd.Index(tasks, name="task")


def _single(result: Result) -> list[str | None]:
    """Return the most likely of the deepest labels of every instance, None where it has none."""
    deepest, labels = result.outcome.deepest(), result.consolidation.taxonomy.labels
    single: list[str | None] = []
    for row in range(len(deepest.instances)):
        chosen, score = deepest.labels_of(row)
        single.append(labels[chosen[score.argmax()]] if len(chosen) else None)
    return single
