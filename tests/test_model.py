"""``model.npz``: a model is read back equal; a damaged one is refused, an edited one may apply."""

import random
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import mhpc
from mhpc.data.index import Index
from mhpc.data.summary import Model
from mhpc.errors import MhpcError, UnreadableError
from mhpc.methods.fitted import FittedMethod
from mhpc.model import model_errors, read_model, write_model
from mhpc.numerics.arrays import dense
from mhpc.rules.base import FittedThreshold
from mhpc.run import run
from mhpc.settings import RunSettings
from tests.fixtures.damaged_files import change_document, damage
from tests.fixtures.saved_files import change_array, change_description

GARDEN = Path(mhpc.__file__).parent / "datasets" / "garden"
METHODS = ("channel", "cross-source", "dawid-skene", "majority", "mhpc", "mlcm", "wa", "wawa")


def make_model(fitted: FittedMethod | None = None) -> Model:
    rule = FittedThreshold(0.5, "given", "threshold")
    scope = sparse.csr_array(np.eye(2))
    return Model("sa", {"votes": "raw"}, fitted, rule, Index(("ann", "bob")), scope)


def test_a_model_is_read_back_equal(tmp_path: Path) -> None:
    write_model(tmp_path, make_model())
    model = read_model(tmp_path)
    assert (model.method, model.parameters) == ("sa", {"votes": "raw"})
    assert model.rule == FittedThreshold(0.5, "given", "threshold")
    assert model.sources.ids == ("ann", "bob")
    assert model.scope is not None
    np.testing.assert_array_equal(dense(model.scope), np.eye(2))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"holds no model\.npz"):
        read_model(tmp_path)


def test_a_file_without_a_model_in_it_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path, make_model())
    change_description(tmp_path / "model.npz", lambda before: {**before, "value": None})
    with pytest.raises(UnreadableError, match="it holds no model"):
        read_model(tmp_path)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path, make_model())
    content = (tmp_path / "model.npz").read_bytes()
    (tmp_path / "model.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(UnreadableError, match=r"model\.npz is damaged"):
        read_model(tmp_path)


def test_an_error_while_a_model_is_applied_is_reported_as_damage() -> None:
    with (
        pytest.raises(UnreadableError, match=r"out/model\.npz is damaged: no such row; consol"),
        model_errors(Path("out")),
    ):
        raise IndexError("no such row")
    with pytest.raises(MhpcError, match="unchanged"), model_errors(Path("out")):
        raise MhpcError("unchanged")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of runs on a part of the bundled example, by method; its votes are beside them."""
    folder = tmp_path_factory.mktemp("runs")
    lines = (GARDEN / "votes.csv").read_text().splitlines()
    (folder / "votes.csv").write_text("\n".join(lines[:200]) + "\n")
    for method in METHODS:
        options = RunSettings(
            votes=str(folder / "votes.csv"), taxonomy=str(GARDEN / "taxonomy.csv"), method=method
        )
        run(options, output=folder / method)
    return {method: folder / method for method in METHODS}


@settings(
    max_examples=120, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
@given(method=st.sampled_from(METHODS), rng=st.randoms(use_true_random=False))
@pytest.mark.filterwarnings("ignore")
def test_an_edited_model_is_applied_or_refused(
    runs: dict[str, Path], method: str, rng: random.Random
) -> None:
    folder = runs[method].parent / "edited"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(runs[method], folder)
    path = folder / "model.npz"
    match rng.choice(("description", "array", "array", "bytes")):
        case "description":
            change_description(path, lambda before: change_document(before, rng))
        case "array":
            change_array(path, rng)
        case _:
            path.write_bytes(damage(path.read_bytes(), rng))
    options = RunSettings(
        votes=str(runs[method].parent / "votes.csv"), taxonomy=str(folder / "taxonomy.csv"),
        apply=str(folder),
    )  # fmt: skip
    with suppress(MhpcError):
        run(options, output=runs[method].parent / "applied", force=True)
