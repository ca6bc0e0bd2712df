import pytest

from mhpc.data.panel import Panel
from mhpc.data.taxonomy import build_taxonomy
from mhpc.explanation.disagreement import collect_answers, find_disputes
from tests.explanation.slow_twins import answers_to, stance
from tests.fixtures.build import Row, panel_of, small_panel


def disputed(panel: Panel) -> dict[tuple[str, str], tuple[int, int]]:
    found = find_disputes(panel, collect_answers(panel))
    cells = zip(found.row, found.label, found.support, found.against, strict=True)
    return {
        (panel.instances[i], panel.taxonomy.labels[k]): (int(yes), int(no))
        for i, k, yes, no in cells
    }


def slowly(panel: Panel) -> dict[tuple[str, str], tuple[int, int]]:
    found = {}
    for i, instance in enumerate(panel.instances):
        for k, label in enumerate(panel.taxonomy.labels):
            stances = [stance(panel, a, k) for a in answers_to(panel, i)]
            yes, no = sum(s in ("direct", "below") for s in stances), stances.count("against")
            if yes and no:
                found[instance, label] = (yes, no)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_disputes_are_those_of_the_slow_twin(seed: int) -> None:
    panel = small_panel(seed=seed)
    assert disputed(panel) == slowly(panel)


def test_being_vague_is_no_contradiction_and_a_sibling_is() -> None:
    vague = panel_of([("p", "ann", "flower"), ("p", "bob", "monarda")])
    assert disputed(vague) == {}
    siblings = panel_of([("p", "ann", "fuchsia"), ("p", "bob", "monarda")])
    assert disputed(siblings) == {("p", "monarda"): (1, 1), ("p", "fuchsia"): (1, 1)}


def test_none_of_these_contradicts_everything() -> None:
    panel = panel_of([("p", "ann", "flower"), ("p", "bob", None)])
    assert disputed(panel) == {("p", "plant"): (1, 1), ("p", "flower"): (1, 1)}


def test_who_cannot_speak_about_a_label_does_not_contradict_it() -> None:
    rows: list[Row] = [
        ("p", "ann", "oak"), ("p", "bob", "finch"), ("q", "bob", "tree"), ("q", "cid", "oak"),
        ("r", "ann", "finch"), ("r", "cid", "oak"), ("r", "dee", "monarda"), ("s", "dee", "finch"),
    ]  # fmt: skip
    panel = panel_of(rows, scope="used")
    assert disputed(panel) == slowly(panel)
    # Nobody else who answered r ever spoke of flowers.
    assert ("r", "monarda") not in disputed(panel)
    assert disputed(panel)["r", "finch"] == (1, 1)


def test_who_stops_at_two_ancestors_is_vague_once() -> None:
    taxonomy = build_taxonomy(
        ["top", "left", "right", "both", "other"],
        [("left", "top"), ("right", "top"), ("both", "left"), ("both", "right"), ("other", "top")],
    )
    rows: list[Row] = [("p", "ann", "left"), ("p", "ann", "right"), ("p", "bob", "both")]
    panel = panel_of([*rows, ("p", "cid", "other")], taxonomy)
    assert disputed(panel) == slowly(panel)
    assert disputed(panel)["p", "both"] == (1, 1)


def test_who_is_vague_for_want_of_words_takes_nobodys_contradiction_away() -> None:
    rows: list[Row] = [("p", "ann", "flower"), ("p", "bob", "monarda"), ("p", "cid", "fuchsia")]
    panel = panel_of(rows, scope={"ann": ("flower",)})
    assert disputed(panel) == slowly(panel)
    assert disputed(panel)["p", "monarda"] == (1, 1)
