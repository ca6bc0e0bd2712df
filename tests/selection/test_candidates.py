"""Which methods auto selects from."""

from mhpc.selection.candidates import is_single_label
from tests.fixtures.build import Row, panel_of


def test_a_panel_is_single_label_if_every_answer_is_one_path() -> None:
    path: list[Row] = [("x", "ann", "flower"), ("x", "ann", "monarda"), ("x", "bob", None)]
    assert is_single_label(panel_of(path))
    assert not is_single_label(panel_of([*path, ("x", "ann", "oak")]))
