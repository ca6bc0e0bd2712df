"""Label sets against the truth."""

from pathlib import Path

import numpy as np
import pytest
from cafaeval.evaluation import cafa_eval
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mhpc.data.taxonomy import Taxonomy
from mhpc.metrics import label_sets as measures
from mhpc.metrics.label_sets import LabelSets
from mhpc.metrics.scorecard import SET_METRICS
from mhpc.numerics.arrays import BoolArray
from tests.fixtures.build import DAG, GARDEN


def beside(given: list[list[str]], true: list[list[str]], taxonomy: Taxonomy = GARDEN) -> LabelSets:
    """Return sets written as their deepest labels."""
    return LabelSets(_closed(given, taxonomy), _closed(true, taxonomy), taxonomy)


def _closed(sets: list[list[str]], taxonomy: Taxonomy) -> sparse.csr_array:
    found = np.zeros((len(sets), len(taxonomy)))
    for row, labels in zip(found, sets, strict=True):
        for label in labels:
            at = taxonomy.labels.positions[label]
            row[[at, *taxonomy.ancestors_of(at)]] = 1.0
    return sparse.csr_array(found)


MIXED = beside(
    # Right but vague; a sibling; two labels of which one is right; nothing.
    given=[["flower"], ["fuchsia"], ["oak", "finch"], []],
    true=[["monarda"], ["monarda"], ["oak"], ["bird"]],
)


def test_precision_is_averaged_over_instances_that_are_given_labels_and_recall_over_all() -> None:
    # plant, flower of plant, flower, monarda; the same two of three; three of six.
    assert measures.precision(MIXED) == pytest.approx((1 + 2 / 3 + 3 / 6) / 3)
    assert measures.recall(MIXED) == pytest.approx((2 / 3 + 2 / 3 + 1 + 0) / 4)
    p, r = measures.precision(MIXED), measures.recall(MIXED)
    assert measures.f(MIXED) == pytest.approx(2 * p * r / (p + r))


def test_micro_measures_count_labels_of_all_instances_together() -> None:
    assert measures.micro_precision(MIXED) == pytest.approx(7 / 11)
    assert measures.micro_recall(MIXED) == pytest.approx(7 / 11)
    assert measures.micro_f(MIXED) == pytest.approx(7 / 11)


def test_the_f_of_an_instance_is_one_where_nothing_is_to_be_found_and_nothing_given() -> None:
    assert measures.instance_f(MIXED) == pytest.approx((4 / 5 + 4 / 6 + 6 / 9 + 0) / 4)
    assert measures.instance_f(beside([[], ["bird"]], [[], []])) == pytest.approx(1 / 2)


def test_an_instance_that_has_no_label_asks_for_no_recall() -> None:
    assert measures.recall(beside([[], ["bird"]], [[], ["bird"]])) == 1


def test_a_match_is_exact_or_none() -> None:
    assert measures.exact_match(MIXED) == 0
    assert measures.exact_match(beside([["oak"], [], ["bird"]], [["oak"], [], ["finch"]])) == 2 / 3


def test_the_distance_of_two_labels_is_the_steps_between_them() -> None:
    # Down to the monarda; over to the sibling; from oak to monarda by plant; finch to oak above.
    for label, steps in {"flower": 1, "fuchsia": 2, "oak": 4, "finch": 6, "monarda": 0}.items():
        assert measures.tree_distance(beside([[label]], [["monarda"]])) == steps


def test_accuracy_of_the_deepest_labels_is_the_share_that_is_right_of_either() -> None:
    found = beside([["oak", "finch"], ["monarda"], ["flower"]], [["oak"], ["monarda"], ["monarda"]])
    assert measures.deepest_accuracy(found) == pytest.approx((1 / 2 + 1 + 0) / 3)


def test_every_level_is_told_by_itself() -> None:
    first, second, third = measures.levels(MIXED)
    assert (first.true, first.given, first.precision) == (4, 4, 3 / 4)
    assert (second.true, second.given, second.recall) == (4, 4, 3 / 4)
    assert (third.true, third.given, third.precision, third.recall) == (3, 3, 1 / 3, 1 / 3)
    assert third.f == pytest.approx(1 / 3)


def test_nothing_given_is_worth_nothing() -> None:
    nothing = beside([[]], [["oak"]])
    values = {metric.name: metric.measure(nothing) for metric in SET_METRICS}
    assert values.pop("tree_distance") == 3
    assert set(values.values()) == {0.0}


@given(st.integers(0, 2**32 - 1))
def test_what_is_right_scores_best_in_every_measure(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true, other = (_random(rng, DAG) for _ in range(2))
    right, wrong = (
        LabelSets(sparse.csr_array(given.astype(float)), sparse.csr_array(true.astype(float)), DAG)
        for given in (true, other)
    )
    for metric in SET_METRICS:
        pick = min if metric.better == "lower" else max
        values = metric.measure(right), metric.measure(wrong)
        assert values[0] == pick(values)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, in cafaeval
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("taxonomy", [GARDEN, DAG], ids=["tree", "DAG"])
def test_cafaeval_measures_the_same(tmp_path: Path, taxonomy: Taxonomy, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given, true = _random(rng, taxonomy), _random(rng, taxonomy)
    # cafaeval knows no instance without a true label.
    true[:, taxonomy.roots[0]] = True
    given[0] = False
    found = LabelSets(
        sparse.csr_array(given.astype(float)), sparse.csr_array(true.astype(float)), taxonomy
    )
    theirs = _by_cafaeval(tmp_path, given, true, taxonomy)
    ours = {
        "pr": measures.precision, "rc": measures.recall, "f": measures.f,
        "pr_micro": measures.micro_precision, "rc_micro": measures.micro_recall,
        "f_micro": measures.micro_f,
    }  # fmt: skip
    for name, measure in ours.items():
        assert measure(found) == pytest.approx(theirs[name]), name


def _random(rng: np.random.Generator, taxonomy: Taxonomy) -> BoolArray:
    said = rng.random((30, len(taxonomy))) < 0.2
    return np.asarray(said.astype(float) @ taxonomy.closure > 0)


def _by_cafaeval(
    folder: Path, given: BoolArray, true: BoolArray, taxonomy: Taxonomy
) -> dict[str, float]:
    """Write what cafaeval reads, and return its only row."""
    terms = []
    for at, label in enumerate(taxonomy.labels):
        above = [f"is_a: {taxonomy.labels[parent]}" for parent in taxonomy.parents_of(at)]
        terms.append(
            "\n".join(["[Term]", f"id: {label}", f"name: {label}", "namespace: n", *above])
        )
    (folder / "terms.obo").write_text("format-version: 1.2\n\n" + "\n\n".join(terms) + "\n")
    (folder / "given").mkdir()
    for path, matrix, score in (("true.tsv", true, ""), ("given/ours.tsv", given, "\t1.0")):
        lines = [f"x{i}\t{taxonomy.labels[k]}{score}\n" for i, k in np.argwhere(matrix)]
        (folder / path).write_text("".join(lines))
    rows, _ = cafa_eval(
        str(folder / "terms.obo"), str(folder / "given"), str(folder / "true.tsv"), th_step=0.5
    )
    assert len(rows) == 1
    return {name: float(rows[name].iloc[0]) for name in rows.columns}
