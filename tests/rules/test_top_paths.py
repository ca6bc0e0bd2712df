"""So many labels, none above another."""

import numpy as np

import mhpc
from mhpc.data.index import Index
from mhpc.data.scores import Consolidation
from tests.fixtures.build import GARDEN

AT = GARDEN.labels.positions


def decided(specific: dict[str, float], **parameters: float) -> list[str]:
    row = np.zeros((1, len(GARDEN)))
    row[0, [AT[label] for label in specific]] = list(specific.values())
    found = Consolidation(GARDEN, Index(("x",)), row, row, "by hand")
    rule = mhpc.TopPaths(**parameters)  # type: ignore[arg-type]
    return rule.decide(found, labels_per_answer=1.0).labels()["x"]


def test_what_lies_on_a_path_that_was_taken_starts_no_other() -> None:
    likely = {"monarda": 0.5, "flower": 0.4, "plant": 0.3, "fuchsia": 0.2, "oak": 0.1, "bird": 0.05}
    assert decided(likely, paths=1) == ["plant", "flower", "monarda"]
    assert decided(likely, paths=2) == ["plant", "flower", "monarda", "fuchsia"]
    assert decided(likely, paths=3) == ["plant", "flower", "monarda", "fuchsia", "tree", "oak"]


def test_there_are_no_more_paths_than_labels_with_a_score() -> None:
    assert decided({"bird": 0.2, "oak": 0.1}, paths=5) == ["plant", "tree", "oak", "animal", "bird"]
    assert decided({"bird": 0.2, "oak": 0.1}, paths=5, threshold=0.15) == ["animal", "bird"]


def test_an_end_moves_among_labels_of_its_own_path() -> None:
    likely = {"monarda": 0.5, "flower": 0.4, "fuchsia": 0.3, "tree": 0.2, "oak": 0.15}
    # The monarda becomes a flower, which was on its way and not on that of the fuchsia.
    assert decided(likely, paths=2, depth_bias=-1) == ["plant", "flower", "fuchsia"]
    assert decided(likely, paths=3, depth_bias=1)[-2:] == ["tree", "oak"]
