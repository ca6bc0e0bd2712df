import json
import random
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.summary import Model
from mhpc.errors import UnreadableError
from mhpc.numerics.arrays import dense
from mhpc.rules.base import FittedThreshold
from mhpc.system.serialization import read_model, write_model
from tests.fixtures.damaged_files import tree_changed


def model(learnt: object) -> Model:
    scope = sparse.csr_array(np.eye(2))
    return Model(
        "sa",
        {"votes": "raw"},
        learnt,
        FittedThreshold(0.5, "given", "threshold"),
        Index(("ann", "bob")),
        scope,
    )


def rewritten(folder: Path, change: object) -> None:
    """Write the description anew, as somebody else might."""
    with np.load(folder / "model.npz") as arrays:
        kept = {name: arrays[name] for name in arrays.files if name != "description"}
    text = np.frombuffer(json.dumps(change).encode(), dtype=np.uint8)
    np.savez(folder / "model.npz", description=text, **kept)


def test_what_was_learnt_comes_back_as_it_was(tmp_path: Path) -> None:
    learnt = {
        "numbers": (1, 2.5, None, True, "text"),
        "array": np.arange(6).reshape(2, 3),
        "sparse": sparse.csr_array(np.array([[0.0, 2.0]])),
        "listed": [np.float32(0.5)],
    }
    write_model(tmp_path / "model.npz", model(learnt))
    found = read_model(tmp_path)
    assert (found.method, found.parameters, found.rule) == (
        "sa",
        {"votes": "raw"},
        FittedThreshold(0.5, "given", "threshold"),
    )
    assert found.sources.ids == ("ann", "bob")
    assert found.scope is not None
    np.testing.assert_array_equal(dense(found.scope), np.eye(2))
    assert found.fitted["numbers"] == (1, 2.5, None, True, "text")
    np.testing.assert_array_equal(found.fitted["array"], learnt["array"])
    np.testing.assert_array_equal(dense(found.fitted["sparse"]), [[0.0, 2.0]])
    assert found.fitted["listed"] == [0.5]


def test_what_is_no_data_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="cannot be kept in a model"):
        write_model(tmp_path / "model.npz", model(print))


@pytest.mark.parametrize(
    "named",
    ["os:system", "mhpc.system.serialization:read_model", "mhpc.data.index:Index.locate", "mhpc:x"],
)
def test_nothing_but_data_of_this_package_is_made(tmp_path: Path, named: str) -> None:
    write_model(tmp_path / "model.npz", model(None))
    rewritten(tmp_path, {"format": 1, "model": {"made": named, "of": {}}})
    with pytest.raises(UnreadableError, match="is damaged"):
        read_model(tmp_path)


def test_another_format_is_told(tmp_path: Path) -> None:
    write_model(tmp_path / "model.npz", model(None))
    rewritten(tmp_path, {"format": 2, "model": None})
    with pytest.raises(UnreadableError, match="has format 2, and this version reads 1"):
        read_model(tmp_path)


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    write_model(tmp_path / "model.npz", model(None))
    whole = (tmp_path / "model.npz").read_bytes()
    (tmp_path / "model.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableError, match="is damaged"):
        read_model(tmp_path)


def test_a_file_that_holds_no_model_is_told(tmp_path: Path) -> None:
    write_model(tmp_path / "model.npz", model(None))
    rewritten(tmp_path, {"format": 1, "model": None})
    with pytest.raises(UnreadableError, match="holds no model"):
        read_model(tmp_path)


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(rng=st.randoms(use_true_random=False))
def test_a_model_that_describes_anything_is_read_or_refused(rng: random.Random) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder / "model.npz", model({"a": np.ones(2), "b": sparse.eye_array(2)}))
        with np.load(folder / "model.npz") as arrays:
            described = json.loads(arrays["description"].tobytes())
        rewritten(folder, tree_changed(described, rng))
        with suppress(UnreadableError):
            assert isinstance(read_model(folder), Model)


def test_objects_of_python_in_a_model_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", description=np.array([print], dtype=object))
    with pytest.raises(UnreadableError, match="is damaged: Object arrays cannot be loaded"):
        read_model(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x04N.", b"\x93NUMPY"])
def test_what_is_no_archive_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.npz").write_bytes(content)
    with pytest.raises(UnreadableError, match="model.npz is damaged"):
        read_model(tmp_path)
