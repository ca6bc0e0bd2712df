"""A ``model.npz`` whose arrays were edited: whatever uses it works, or says in one line which."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mhpc
from mhpc.errors import silence_warnings
from tests.fixtures.saved_files import change_array

EDITS = 5

ROWS = [
    (f"i{row}", source, ("bee", "ant", "owl")[(row * step) % 3])
    for row in range(12)
    for step, source in enumerate(("ann", "bob", "cid"), start=1)
]
TAXONOMY = {"insect": ["bee", "ant"], "bird": ["owl"]}
USES: dict[str, Callable[[Any, Path], object]] = {
    "explain": lambda run, _: mhpc.explain(run, "i1"),
    "sources": lambda run, _: mhpc.source_contributions(run),
    "apply": lambda run, _: mhpc.consolidate(ROWS, apply=run),
    "report": lambda run, folder: mhpc.load_run(folder).report(folder.parent / "page.html"),
}


@pytest.fixture(scope="module", params=["auto", "mhpc", "wa"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged") / "OUT"
    with silence_warnings():
        mhpc.consolidate(ROWS, TAXONOMY, method=request.param).save(folder)
    return folder


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("loaded", [False, True], ids=["folder", "result"])
def test_an_edited_model_is_used_or_refused_in_one_line(
    use: str, loaded: bool, run: Path, tmp_path: Path
) -> None:
    rng, refused = random.Random(0), 0
    for number in range(EDITS):
        folder = tmp_path / str(number) / "OUT"
        shutil.copytree(run, folder)
        change_array(folder / "model.npz", rng)
        with silence_warnings():
            try:
                USES[use](mhpc.load_run(folder) if loaded else folder, folder)
            except mhpc.MhpcError as error:
                refused += len(str(error).splitlines())
    assert 1 <= refused <= EDITS
