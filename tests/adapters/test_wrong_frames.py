"""Frames that the adapters cannot read are refused; none of their tasks gets another one's id."""

import numpy as np
import pandas as pd
import pytest

from mhpc.adapters import crowdkit, sklearn
from mhpc.errors import DataError, MissingColumnError, ParameterError

ROWS = {"task": [1, 1, 2, 2], "worker": ["a", "b", "a", "b"], "label": ["x", "x", "y", "y"]}


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (ROWS, ParameterError, "give a frame with the columns task, worker and label"),
        (pd.DataFrame(ROWS).drop(columns="worker"), MissingColumnError, "no columns 'worker'"),
        (
            pd.DataFrame(ROWS).set_axis(["task", "task", "label"], axis=1),
            MissingColumnError,
            "2 columns 'task'",
        ),
        (pd.DataFrame(ROWS | {"task": [1, None, 2, 2]}), DataError, "row 2 has no task"),
        (pd.DataFrame(ROWS | {"worker": [["a"], "b", "a", "b"]}), DataError, "lists or mappings"),
    ],
)
def test_crowdkit_says_what_a_frame_lacks(
    data: pd.DataFrame, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        crowdkit.Consolidator(method="majority").fit_predict(data)


def test_cells_may_be_missing_in_any_way_and_hold_arrays() -> None:
    cells = {
        "ann": ["x", "y", pd.NA, None],
        "bob": [np.array(["x", "z"]), float("nan"), "y", "x"],
        "cid": ["x", "y", "y", "x"],
    }
    estimator = sklearn.Consolidator(method="majority").fit(pd.DataFrame(cells))
    lists = pd.DataFrame(
        cells | {"ann": ["x", "y", None, None], "bob": [["x", "z"], None, "y", "x"]}
    )
    expected = sklearn.Consolidator(method="majority").fit(lists)
    assert (estimator.predict(pd.DataFrame(cells)) != expected.predict(lists)).nnz == 0
