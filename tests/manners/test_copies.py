"""Pickles and copies of everything that the package returns have the same content."""

import copy
import pickle
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import mhpc
from mhpc import errors
from mhpc.adapters import crowdkit, sklearn
from mhpc.methods.registry import METHODS, make_method
from mhpc.rules.registry import RULES
from mhpc.run import load_run
from mhpc.system.memory import use_memory_budget
from mhpc.write.formats import Content
from tests.fixtures.calls import TAXONOMY, TRUTH, VOTES, consolidate, result

FRAME = pd.DataFrame(VOTES, columns=["task", "worker", "label"])

WIDE = FRAME.pivot(index="task", columns="worker", values="label")

CONTENTS: tuple[Content, ...] = ("labels", "scores", "wide", "items", "sources", "conflicts")


def pickled(value: Any, protocol: int = pickle.DEFAULT_PROTOCOL) -> Any:
    """Return what is read from a pickle of a value."""
    return pickle.loads(pickle.dumps(value, protocol))  # noqa: S301 - written here


COPIES: Mapping[str, Callable[[Any], Any]] = {
    **{f"pickle {n}": partial(pickled, protocol=n) for n in range(pickle.HIGHEST_PROTOCOL + 1)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def lazy_scores() -> mhpc.Consolidation:
    """Return scores that are computed when they are read."""
    with use_memory_budget(1):
        return make_method("channel").consolidate(result().panel)


def model(method: str) -> Any:
    """Return what a method fitted, as it is saved."""
    return result(method)._model()


VALUES: Mapping[str, Callable[[], Any]] = {
    **{f"result of {name}": partial(result, name) for name in METHODS},
    **{f"model of {name}": partial(model, name) for name in METHODS},
    **{f"method {name}": partial(make_method, name) for name in METHODS},
    **{f"result by {name}": partial(consolidate, "channel", rule=name) for name in RULES},
    "votes": lambda: mhpc.read_votes(VOTES),
    "taxonomy": lambda: mhpc.read_taxonomy(TAXONOMY),
    "truth": lambda: mhpc.read_truth(TRUTH),
    "panel": lambda: result().panel,
    "scores": lambda: result().consolidation,
    "lazy scores": lazy_scores,
    "decision": lambda: result().decision,
    "sources": lambda: result().sources,
    "scorecard": lambda: mhpc.evaluate(result(), TRUTH),
    "inspection": lambda: mhpc.inspect(VOTES, TAXONOMY),
    "comparison": lambda: mhpc.compare(VOTES, TAXONOMY, ["majority", "sa"], truth=TRUTH),
    "explanation": lambda: mhpc.explain(result(), "photo-0"),
    "conflicts": lambda: mhpc.conflicts(result()),
    "contributions": lambda: mhpc.source_contributions(result()),
    "accuracy": lambda: mhpc.estimate_accuracy(result(), TRUTH),
    "summary": lambda: result().summary,
    "result with gold labels": lambda: consolidate("dawid-skene", gold=TRUTH),
    "result of a model": lambda: mhpc.consolidate(VOTES[:8], apply=result()),
    "updated result": lambda: mhpc.consolidate([("photo-9", "ann", "bee")], update=result()),
    "profile": lambda: mhpc.Profile(accuracy=0.9),
}  # fmt: skip
"""What functions of the package return."""


def plain(value: Any) -> Any:
    """Return the content of a value in a form that can be compared."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if sparse.issparse(value):
        return plain([value.shape, value.data, value.indices, value.indptr])
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist()
    if isinstance(value, Mapping):
        return {repr(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if callable(value):
        return type(value).__name__
    return repr(value)


@pytest.mark.parametrize("name", VALUES)
def test_a_copy_has_the_same_content(name: str) -> None:
    value = VALUES[name]()
    before, text = plain(value), str(value)
    for make_copy in COPIES.values():
        each = make_copy(value)
        assert type(each) is type(value)
        # Some remember what was computed from them, which a copy may then have too.
        assert plain(each) == before
        assert str(each) == text


@pytest.mark.parametrize("make_copy", [pickled, copy.copy, copy.deepcopy])
def test_a_copy_of_a_result_can_do_what_the_result_can(
    make_copy: Callable[[Any], Any], tmp_path: Path
) -> None:
    original = consolidate("channel", gold=TRUTH)
    other = make_copy(original)
    assert other.labels == original.labels
    for what in CONTENTS:
        pd.testing.assert_frame_equal(other.to_frame(what), original.to_frame(what))
    assert mhpc.explain(other, "photo-0") == mhpc.explain(original, "photo-0")
    other.save(tmp_path / "copy")
    assert load_run(tmp_path / "copy").labels == original.labels
    applied = [mhpc.consolidate(VOTES[:8], apply=each) for each in (original, other)]
    assert applied[0].labels == applied[1].labels


@pytest.mark.parametrize("make_copy", [pickled, copy.deepcopy])
def test_a_copy_of_a_loaded_result_has_its_model_when_the_folder_is_gone(
    make_copy: Callable[[Any], Any], tmp_path: Path
) -> None:
    result().save(tmp_path / "run")
    loaded = load_run(tmp_path / "run")
    other = make_copy(loaded)
    shutil.rmtree(tmp_path / "run")
    assert mhpc.consolidate(VOTES[:8], apply=other).labels


def test_a_loaded_result_is_copied_without_its_model_after_the_folder_is_gone(
    tmp_path: Path,
) -> None:
    result().save(tmp_path / "run")
    loaded = load_run(tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
    for other in (loaded, copy.deepcopy(loaded), pickled(loaded)):
        assert other.labels == result().labels
        with pytest.raises(mhpc.MhpcError, match="holds no model.npz"):
            mhpc.explain(other, "photo-0")


@pytest.mark.parametrize(
    ("estimator", "data"),
    [(crowdkit.Consolidator, FRAME), (sklearn.Consolidator, WIDE)],
    ids=["crowdkit", "sklearn"],
)
def test_a_copy_of_an_adapter_predicts_the_same(estimator: Any, data: pd.DataFrame) -> None:
    fitted = estimator(TAXONOMY, method="channel").fit(data)
    expected = plain(fitted.predict(data))
    for make_copy in COPIES.values():
        assert plain(make_copy(fitted).predict(data)) == expected


def test_a_clone_of_an_adapter_has_its_parameters() -> None:
    fitted = sklearn.Consolidator(TAXONOMY, method="majority").fit(WIDE)
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "result_")


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.MhpcError | errors.MhpcWarning)
    ],
)
def test_a_copy_of_an_error_says_the_same(kind: type[Exception]) -> None:
    error = kind(f"there is no such label; leave it out with {errors.option('unknown', 'drop')}")
    for each in (make_copy(error) for make_copy in COPIES.values()):
        assert type(each) is kind
        assert str(each) == str(error)
        assert errors.spell_options(each) == errors.spell_options(error)
