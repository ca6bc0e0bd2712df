"""The interface of crowd-kit: a dataframe in, a Series out."""

import pytest

from mhpc.errors import ParameterError
from tests.fixtures.build import GARDEN

pd = pytest.importorskip("pandas", reason="pandas is not installed")

from mhpc.adapters.crowdkit import Consolidator  # noqa: E402

DATA = pd.DataFrame(
    [
        (10, "ann", "monarda"),
        (10, "bob", ["flower", "monarda"]),
        (7, "ann", "finch"),
        (7, "bob", "bird"),
        (7, "cid", "bird"),
        (8, "ann", []),
        (9, "ann", ["finch", "oak"]),
        (9, "bob", ["finch", "oak"]),
        (9, "cid", "oak"),
    ],
    columns=["task", "worker", "label"],
)


def test_a_series_of_label_sets_is_indexed_by_task() -> None:
    labels = Consolidator(GARDEN, method="majority").fit_predict(DATA)
    assert labels.name == "agg_label"
    assert labels.index.name == "task"
    assert labels.to_dict() == {
        10: ["plant", "flower", "monarda"],
        7: ["animal", "bird"],
        8: [],
        9: ["plant", "tree", "oak", "animal", "bird", "finch"],
    }


def test_single_answers_are_the_deepest_labels() -> None:
    labels = Consolidator(GARDEN, method="majority", answers="single").fit_predict(DATA)
    assert labels.to_dict() == {10: "monarda", 7: "bird", 8: None, 9: "oak"}


def test_probabilities_are_a_frame_of_tasks_and_labels() -> None:
    model = Consolidator(GARDEN, method="majority")
    probabilities = model.fit_predict_proba(DATA)
    assert probabilities.index.tolist() == [10, 7, 8, 9]
    assert probabilities.columns.tolist() == list(GARDEN.labels)
    assert probabilities.loc[10, "monarda"] == 1.0
    assert probabilities.loc[7, "finch"] == pytest.approx(1 / 3)
    assert probabilities.sparse.density < 1
    assert model.labels_.loc[7] == ["animal", "bird"]


def test_without_a_hierarchy_labels_are_flat() -> None:
    flat = pd.DataFrame({"task": ["t", "t", "t"], "worker": [1, 2, 3], "label": ["a", "a", "b"]})
    labels = Consolidator(method="majority", answers="single").fit_predict(flat)
    assert labels.to_dict() == {"t": "a"}


def test_an_unknown_kind_of_answers_is_refused() -> None:
    with pytest.raises(ParameterError, match="give sets | single"):
        Consolidator(answers="one")  # type: ignore[arg-type]


def test_other_tasks_are_predicted_by_what_was_fitted() -> None:
    model = Consolidator(GARDEN, method="majority").fit(DATA)
    assert model.predict(DATA).to_dict() == model.labels_.to_dict()
    new = pd.DataFrame(
        [("x", "bob", "oak"), ("x", "ann", "tree"), ("y", "cid", ["finch", "oak"])],
        columns=["task", "worker", "label"],
    )
    labels = model.predict(new)
    assert labels.name == "agg_label"
    assert labels.to_dict() == {
        "x": ["plant", "tree"], "y": ["plant", "tree", "oak", "animal", "bird", "finch"],
    }  # fmt: skip
    probabilities = model.predict_proba(new)
    assert probabilities.loc["x", "oak"] == 0.5
    assert probabilities.index.tolist() == ["x", "y"]
    # What was fitted stays.
    assert model.labels_.index.tolist() == [10, 7, 8, 9]


def test_tasks_are_predicted_only_after_a_fit() -> None:
    with pytest.raises(ParameterError, match="not fitted; call fit first"):
        Consolidator(GARDEN).predict(DATA)


def test_skills_are_indexed_by_worker_with_its_own_type() -> None:
    data = DATA.assign(worker=DATA["worker"].map({"ann": 3, "bob": 1, "cid": 2}))
    skills = Consolidator(GARDEN, method="majority").fit(data).skills_
    assert (skills.name, skills.index.name) == ("skill", "worker")
    # Ann gave monarda, finch (rejected), finch and oak; the others only what is in the result.
    assert skills.to_dict() == {3: pytest.approx(2 / 3), 1: 1.0, 2: 1.0}


def test_workers_that_are_the_same_text_are_one() -> None:
    data = pd.DataFrame(
        {"task": [1, 2], "worker": pd.Series([1, "1"], dtype=object), "label": ["oak", "finch"]}
    )
    assert Consolidator(GARDEN, method="majority").fit(data).skills_.to_dict() == {"1": 1.0}


def test_the_rule_may_be_named() -> None:
    labels = Consolidator(GARDEN, method="majority", rule="one-path").fit_predict(DATA)
    assert labels.loc[9] == ["plant", "tree", "oak"]
