"""The interface of scikit-learn, checked by scikit-learn's own battery."""

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from mhpc.errors import MhpcWarning, ParameterError, UnknownLabelError
from tests.fixtures.build import GARDEN

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from mhpc.adapters.sklearn import Consolidator  # noqa: E402

X = np.array(
    [
        ["monarda", "flower", None],
        ["finch", "bird", ["bird", "finch"]],
        [None, None, None],
        [[], "oak", "tree"],
    ],
    dtype=object,
)
"""Four instances and three sources; the third instance has no answer."""


def label_sets(predicted: Any, labels: Any) -> list[list[str]]:
    return [[str(labels[k]) for k in row.nonzero()[0]] for row in predicted.toarray()]


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        # The checks pass random numbers, each of which becomes a label; most occur once.
        Consolidator(method="sa", unknown="drop"),
        Consolidator(method="cross-source", unknown="drop"),
    ]
)
def test_scikit_learns_own_checks_pass(estimator: Any, check: Callable[[Any], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_a_row_is_an_instance_and_a_column_a_label() -> None:
    model = Consolidator(GARDEN, method="majority")
    predicted = model.fit_predict(X)
    assert predicted.shape == (4, len(GARDEN))
    assert model.classes_.tolist() == list(GARDEN.labels)
    assert label_sets(predicted, model.classes_) == [
        ["plant", "flower"],
        ["animal", "bird", "finch"],
        [],
        ["plant", "tree"],
    ]


def test_a_fitted_estimator_predicts_other_instances() -> None:
    model = Consolidator(GARDEN, method="majority").fit(X)
    predicted = model.predict(X)
    assert (predicted != model.fit_predict(X)).nnz == 0
    single = model.predict(X[1:2])
    assert label_sets(single, model.classes_) == [["animal", "bird", "finch"]]
    scores = model.predict_proba(X)
    assert scores.shape == (4, len(GARDEN))
    assert scores[[2]].nnz == 0


def test_columns_of_a_frame_are_the_sources() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["ann", "bob", "cid"])
    model = Consolidator(GARDEN, method="majority").fit(frame)
    assert set(model.result_.panel.sources) == {"ann", "bob", "cid"}
    assert model.feature_names_in_.tolist() == ["ann", "bob", "cid"]


def test_parameters_can_be_read_set_and_cloned() -> None:
    columns = {"label": ["tree", "oak"], "parent": [None, "tree"]}
    model = Consolidator(columns, method="majority")
    assert clone(model).get_params() == model.get_params()
    classes = clone(Consolidator(GARDEN)).fit(X).classes_
    assert classes.tolist() == list(GARDEN.labels)
    assert model.set_params(method="sa").get_params()["method"] == "sa"


def test_it_can_be_the_last_step_of_a_pipeline_and_be_pickled() -> None:
    pipeline = make_pipeline("passthrough", Consolidator(GARDEN, method="majority"))
    expected = Consolidator(GARDEN, method="majority").fit_predict(X)
    assert (pipeline.fit_predict(X) != expected).nnz == 0
    restored = pickle.loads(pickle.dumps(pipeline))  # noqa: S301 - our own
    assert (restored.predict(X) != expected).nnz == 0


def test_one_truth_predicts_the_instances_of_the_fit_as_fit_predict_does() -> None:
    model = Consolidator(GARDEN, method="one-truth")
    expected = model.fit_predict(X)
    assert (model.predict(X) != expected).nnz == 0


def test_unknown_labels_are_refused_unless_they_are_to_be_dropped() -> None:
    with pytest.raises(UnknownLabelError, match="'daisy'"):
        Consolidator(GARDEN).fit(np.array([["daisy", "oak"]], dtype=object))


Y = [["monarda"], ["finch"], [], "oak"]
"""The true labels of the four instances."""


def test_the_score_is_the_hierarchical_f_of_the_label_sets() -> None:
    model = Consolidator(GARDEN, method="majority").fit(X)
    # Predicted: plant, flower; animal, bird, finch; none; plant, tree. True: with their ancestors
    # 3 + 3 + 0 + 3 labels, of which all 7 predicted ones are true.
    precision, recall = 7 / 7, 7 / 9
    expected = 2 * precision * recall / (precision + recall)
    assert model.score(X, Y) == pytest.approx(expected)
    indicators = np.array([[label in row for label in model.classes_] for row in Y], dtype=int)
    assert model.score(X, indicators) == pytest.approx(expected)
    assert model.score(X, scipy.sparse.csr_array(indicators)) == pytest.approx(expected)


def test_instances_without_a_known_truth_are_not_measured() -> None:
    model = Consolidator(GARDEN, method="majority").fit(X)
    assert model.score(X, [None, "finch", np.nan, None]) == 1.0


def test_a_truth_of_unknown_labels_is_refused_or_measures_nothing() -> None:
    with pytest.raises(UnknownLabelError):
        Consolidator(GARDEN, method="majority").fit(X).score(X, ["daisy"] * 4)
    model = Consolidator(GARDEN, method="majority", unknown="drop").fit(X)
    with pytest.warns(MhpcWarning):
        assert np.isnan(model.score(X, ["daisy"] * 4))


def test_label_sets_are_turned_into_labels_as_binarizers_do() -> None:
    model = Consolidator(GARDEN, method="majority").fit(X)
    expected = [("plant", "flower"), ("animal", "bird", "finch"), (), ("plant", "tree")]
    assert model.inverse_transform(model.predict(X)) == expected
    assert model.inverse_transform(model.predict(X).toarray()) == expected


def test_classes_have_names() -> None:
    taxonomy = {"label": ["1", "2"], "parent": [None, "1"], "name": ["tree", "oak"]}
    model = Consolidator(taxonomy, method="majority", rule="one-path").fit([["1", "2"], ["2", "2"]])
    assert model.classes_.tolist() == ["1", "2"]
    assert model.class_names_.tolist() == ["tree", "oak"]


@pytest.mark.parametrize("wrong", [7, None, object(), 0.5])
def test_what_is_no_list_of_labels_is_refused_by_name(wrong: object) -> None:
    model = Consolidator(["rose", "oak"], method="majority").fit([["rose", "oak"]])
    with pytest.raises(ParameterError, match="^y = "):
        model.score([["rose", "oak"]], wrong)
    with pytest.raises(ParameterError, match="^Y = "):
        model.inverse_transform(wrong)
    assert model.inverse_transform([None, ["oak"]]) == [(), ("oak",)]
