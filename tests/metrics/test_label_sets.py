"""Label sets compared with the truth."""

from pathlib import Path

import numpy as np
import pytest
from cafaeval.evaluation import cafa_eval
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mhpc.data.taxonomy import Taxonomy
from mhpc.metrics import label_sets
from mhpc.metrics.label_sets import LabelSets
from mhpc.metrics.scorecard import SET_METRICS
from mhpc.numerics.arrays import BoolArray
from tests.fixtures.build import DAG, GARDEN


def sets_of(
    decided: list[list[str]], true: list[list[str]], taxonomy: Taxonomy = GARDEN
) -> LabelSets:
    """Return the closed sets with these deepest labels."""
    return LabelSets(_closed(decided, taxonomy), _closed(true, taxonomy), taxonomy)


def _closed(sets: list[list[str]], taxonomy: Taxonomy) -> sparse.csr_array:
    matrix = np.zeros((len(sets), len(taxonomy)))
    for row, labels in zip(matrix, sets, strict=True):
        for label in labels:
            k = taxonomy.labels.positions[label]
            row[[k, *taxonomy.ancestors_of(k)]] = 1.0
    return sparse.csr_array(matrix)


MIXED = sets_of(
    # Correct but vague; a sibling; two labels, one of them correct; nothing.
    decided=[["flower"], ["fuchsia"], ["oak", "finch"], []],
    true=[["monarda"], ["monarda"], ["oak"], ["bird"]],
)


def test_precision_is_averaged_over_instances_that_are_given_labels_and_recall_over_all() -> None:
    # plant, flower of plant, flower, monarda; the same two of three; three of six.
    assert label_sets.precision(MIXED) == pytest.approx((1 + 2 / 3 + 3 / 6) / 3)
    assert label_sets.recall(MIXED) == pytest.approx((2 / 3 + 2 / 3 + 1 + 0) / 4)
    p, r = label_sets.precision(MIXED), label_sets.recall(MIXED)
    assert label_sets.f(MIXED) == pytest.approx(2 * p * r / (p + r))


def test_micro_averages_count_the_labels_of_all_instances_together() -> None:
    assert label_sets.micro_precision(MIXED) == pytest.approx(7 / 11)
    assert label_sets.micro_recall(MIXED) == pytest.approx(7 / 11)
    assert label_sets.micro_f(MIXED) == pytest.approx(7 / 11)


def test_the_f_of_an_instance_without_labels_that_is_given_none_is_one() -> None:
    assert label_sets.instance_f(MIXED) == pytest.approx((4 / 5 + 4 / 6 + 6 / 9 + 0) / 4)
    assert label_sets.instance_f(sets_of([[], ["bird"]], [[], []])) == pytest.approx(1 / 2)


def test_an_instance_without_true_labels_does_not_count_in_recall() -> None:
    assert label_sets.recall(sets_of([[], ["bird"]], [[], ["bird"]])) == 1


def test_only_identical_sets_are_an_exact_match() -> None:
    assert label_sets.exact_match(MIXED) == 0
    assert (
        label_sets.exact_match(sets_of([["oak"], [], ["bird"]], [["oak"], [], ["finch"]])) == 2 / 3
    )


def test_the_distance_of_two_labels_is_the_number_of_steps_between_them() -> None:
    # One step down; two to the sibling; four from oak by plant; six from finch above the roots.
    for label, steps in {"flower": 1, "fuchsia": 2, "oak": 4, "finch": 6, "monarda": 0}.items():
        assert label_sets.tree_distance(sets_of([[label]], [["monarda"]])) == steps


def test_accuracy_of_the_deepest_labels_is_their_jaccard_index() -> None:
    sets = sets_of([["oak", "finch"], ["monarda"], ["flower"]], [["oak"], ["monarda"], ["monarda"]])
    assert label_sets.deepest_accuracy(sets) == pytest.approx((1 / 2 + 1 + 0) / 3)


def test_levels_are_measured_one_by_one() -> None:
    first, second, third = label_sets.levels(MIXED)
    assert (first.true, first.given, first.precision) == (4, 4, 3 / 4)
    assert (second.true, second.given, second.recall) == (4, 4, 3 / 4)
    assert (third.true, third.given, third.precision, third.recall) == (3, 3, 1 / 3, 1 / 3)
    assert third.f == pytest.approx(1 / 3)


def test_an_empty_set_scores_zero() -> None:
    empty = sets_of([[]], [["oak"]])
    values = {metric.name: metric.measure(empty) for metric in SET_METRICS}
    assert values.pop("tree_distance") == 3
    assert set(values.values()) == {0.0}


@given(st.integers(0, 2**32 - 1))
def test_the_true_sets_score_best_in_every_metric(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true, drawn = (random_sets(rng, DAG) for _ in range(2))
    correct, random = (
        LabelSets(
            sparse.csr_array(decided.astype(float)), sparse.csr_array(true.astype(float)), DAG
        )
        for decided in (true, drawn)
    )
    for metric in SET_METRICS:
        pick = min if metric.better == "lower" else max
        values = metric.measure(correct), metric.measure(random)
        assert values[0] == pick(values)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, in cafaeval
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("taxonomy", [GARDEN, DAG], ids=["tree", "DAG"])
def test_cafaeval_gives_the_same_values(tmp_path: Path, taxonomy: Taxonomy, seed: int) -> None:
    rng = np.random.default_rng(seed)
    decided, true = random_sets(rng, taxonomy), random_sets(rng, taxonomy)
    # cafaeval knows no instance without a true label.
    true[:, taxonomy.roots[0]] = True
    decided[0] = False
    sets = LabelSets(
        sparse.csr_array(decided.astype(float)), sparse.csr_array(true.astype(float)), taxonomy
    )
    expected = run_cafaeval(tmp_path, decided, true, taxonomy)
    measures = {
        "pr": label_sets.precision, "rc": label_sets.recall, "f": label_sets.f,
        "pr_micro": label_sets.micro_precision, "rc_micro": label_sets.micro_recall,
        "f_micro": label_sets.micro_f,
    }  # fmt: skip
    for name, measure in measures.items():
        assert measure(sets) == pytest.approx(expected[name]), name


def random_sets(rng: np.random.Generator, taxonomy: Taxonomy) -> BoolArray:
    labels = rng.random((30, len(taxonomy))) < 0.2
    return np.asarray(labels.astype(float) @ taxonomy.closure > 0)


def run_cafaeval(
    folder: Path, decided: BoolArray, true: BoolArray, taxonomy: Taxonomy
) -> dict[str, float]:
    """Write the files that cafaeval reads, and return its only row."""
    terms = []
    for k, label in enumerate(taxonomy.labels):
        parents = [f"is_a: {taxonomy.labels[parent]}" for parent in taxonomy.parents_of(k)]
        terms.append(
            "\n".join(["[Term]", f"id: {label}", f"name: {label}", "namespace: n", *parents])
        )
    (folder / "terms.obo").write_text("format-version: 1.2\n\n" + "\n\n".join(terms) + "\n")
    (folder / "given").mkdir()
    for path, matrix, score in (("true.tsv", true, ""), ("given/ours.tsv", decided, "\t1.0")):
        lines = [f"x{i}\t{taxonomy.labels[k]}{score}\n" for i, k in np.argwhere(matrix)]
        (folder / path).write_text("".join(lines))
    rows, _ = cafa_eval(
        str(folder / "terms.obo"), str(folder / "given"), str(folder / "true.tsv"), th_step=0.5
    )
    assert len(rows) == 1
    return {name: float(rows[name].iloc[0]) for name in rows.columns}
