"""Votes become a panel: labels, ancestors, scopes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.encoding.panel import augment, encode
from mhpc.errors import DataError, MhpcWarning, UnknownLabelError
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.read.votes import read_votes
from tests.fixtures.build import DAG, GARDEN, panel_of

ONE_UNKNOWN = {
    "instance": ["p1", "p1", "p2"],
    "source": ["ann", "bob", "ann"],
    "label": ["monrada", "monarda", "oak"],
}


def test_an_unknown_label_is_refused_with_its_source_and_the_nearest_label() -> None:
    with pytest.raises(UnknownLabelError, match="'monrada'.*nearest: 'monarda'.*'ann'.*'p1'"):
        encode(read_votes(ONE_UNKNOWN), GARDEN)


def test_an_answer_of_dropped_labels_says_nothing() -> None:
    with pytest.warns(MhpcWarning, match="'monrada'"):
        panel = encode(read_votes(ONE_UNKNOWN), GARDEN, unknown="drop")
    assert panel.answers_per_instance.tolist() == [1, 1]
    assert panel.raw.nnz == 2


def test_grafting_adds_an_unknown_label_as_a_root() -> None:
    with pytest.warns(MhpcWarning, match="added to the taxonomy"):
        panel = encode(read_votes(ONE_UNKNOWN), GARDEN, unknown="graft")
    assert "monrada" in panel.taxonomy
    assert panel.taxonomy.depth[panel.taxonomy.labels.positions["monrada"]] == 1
    assert "monrada" not in GARDEN


def test_grafting_a_path_adds_it_below_its_longest_known_prefix() -> None:
    codes = build_taxonomy(["20", "20/01"], [("20/01", "20")])
    votes = read_votes({"instance": ["x"], "source": ["s"], "label": ["20/01/03"]})
    with pytest.warns(MhpcWarning):
        panel = encode(votes, codes, unknown="graft")
    grown = panel.taxonomy
    assert grown.labels[grown.parents_of(grown.labels.positions["20/01/03"])[0]] == "20/01"


def test_a_name_of_several_labels_is_refused_with_their_ids() -> None:
    places = build_taxonomy(["1", "2"], [], names=["Paris", "Paris"])
    votes = read_votes({"instance": ["x"], "source": ["s"], "label": ["Paris"]})
    with pytest.raises(UnknownLabelError, match="'Paris' is the name of 2 labels: '1', '2'"):
        encode(votes, places)


def test_a_name_and_an_id_of_one_label_are_one_vote() -> None:
    places = build_taxonomy(["fr", "us"], [], names=["France", "America"])
    votes = read_votes(
        {"instance": ["x"] * 2, "source": ["s"] * 2, "label": ["fr", "France"], "score": [0.2, 0.7]}
    )
    panel = encode(votes, places)
    assert dense(panel.raw).tolist() == [[0.7, 0.0]]


def test_a_score_of_zero_is_an_answer_without_that_label() -> None:
    panel = panel_of([("x", "s", "d", 0.0)], DAG)
    assert panel.raw.nnz == 0
    assert panel.answers_per_instance.tolist() == [1]


def test_scope_used_is_all_labels_that_a_source_gave_with_ancestors() -> None:
    rows = [("x", "s", "c"), ("y", "s", "e"), ("x", "t", "d")]
    panel = panel_of(rows, DAG, scope="used")
    assert panel.scope is not None
    assert dense(panel.scope).tolist() == [[1, 1, 1, 0, 1], [1, 1, 1, 1, 0]]


def test_a_vote_outside_its_scope_is_refused() -> None:
    with pytest.raises(DataError, match="'s' votes for 'e'"):
        panel_of([("x", "s", "e")], DAG, scope={"s": ("d",)})


def test_an_unknown_label_in_a_scope_is_refused() -> None:
    with pytest.raises(UnknownLabelError, match="the scope: .*'z'.*source 's'"):
        panel_of([("x", "s", "e")], DAG, scope={"s": ("e", "z")})


def test_a_scope_is_understood_in_any_spelling_and_reported_once() -> None:
    scope = {"s": ("D ", "E"), "t": ("D ",)}
    with pytest.warns(MhpcWarning, match="the scope: 2 labels") as reported:
        panel = panel_of([("x", "s", "e"), ("x", "t", "d"), ("x", "u", "e")], DAG, scope=scope)
    assert len(reported) == 1
    assert panel.scope is not None
    assert dense(panel.scope).tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]


def test_an_answer_of_special_words_says_nothing_or_none_of_these() -> None:
    rows = [("x", "s", "idk"), ("x", "t", "none"), ("x", "u", "e"), ("y", "u", "n/a")]
    with pytest.warns(MhpcWarning, match="'none' as \"none of these\""):
        panel = panel_of(rows, DAG)
    assert [panel.sources[source] for source in panel.source] == ["t", "u"]
    assert panel.instances.ids == ("x", "y")
    assert dense(panel.raw).sum(axis=1).tolist() == [0, 1]


def test_instances_without_answers_can_be_added() -> None:
    panel = panel_of([("x", "s", "e")], DAG, instances=["x", "lonely"])
    assert panel.instances.ids == ("x", "lonely")
    assert panel.answers_per_instance.tolist() == [1, 0]
    assert np.asarray(panel.mean("raw", "answers").sum(axis=1)).tolist() == [1, 0]


def test_votes_that_64_bits_cannot_number_are_encoded() -> None:
    class Crowd(Index):
        def __len__(self) -> int:
            return 2**61

    votes = read_votes(
        {
            "instance": ["p1", "p2", "p2"],
            "source": ["ann", "bob", "ann"],
            "label": ["monarda", "oak", None],
            "score": [0.5, 0.25, None],
        }
    )
    expected = encode(votes, GARDEN)
    panel = encode(replace(votes, sources=Crowd(votes.sources.ids)), GARDEN)
    assert panel.instance.tolist() == expected.instance.tolist()
    assert panel.source.tolist() == expected.source.tolist()
    np.testing.assert_array_equal(dense(panel.raw), dense(expected.raw))


def test_several_paths_are_grafted_each_below_its_own_prefix() -> None:
    codes = build_taxonomy(["20", "30"], [])
    labels = ["20/01", "new", "30/07/01", "20/02"]
    votes = read_votes({"instance": ["x"] * 4, "source": ["s"] * 4, "label": labels})
    with pytest.warns(MhpcWarning):
        grown = encode(votes, codes, unknown="graft").taxonomy
    above = {
        label: [grown.labels[k] for k in grown.parents_of(grown.labels.positions[label])]
        for label in labels
    }
    assert above == {"20/01": ["20"], "new": [], "30/07/01": ["30"], "20/02": ["20"]}


def algorithm_1(votes: FloatArray, taxonomy: Taxonomy) -> FloatArray:
    """The paper's loop, with several parents and scores: walk up from every label."""
    augmented = np.zeros_like(votes)

    def climb(answer: int, label: int, score: float) -> None:
        augmented[answer, label] = max(augmented[answer, label], score)
        for parent in taxonomy.parents_of(label):
            climb(answer, int(parent), score)

    for answer, label in np.argwhere(votes > 0):
        climb(int(answer), int(label), float(votes[answer, label]))
    return augmented


votes_on = st.lists(
    st.dictionaries(st.integers(0, 4), st.sampled_from([0.25, 0.5, 1.0])), min_size=1, max_size=6
)


@given(votes_on, st.booleans(), st.sampled_from([GARDEN, DAG]))
def test_augmentation_agrees_with_the_loop_of_the_paper(
    answers: list[dict[int, float]], graded: bool, taxonomy: Taxonomy
) -> None:
    votes = np.zeros((len(answers), len(taxonomy)))
    for row, answer in enumerate(answers):
        for label, score in answer.items():
            votes[row, label] = score if graded else 1.0
    augmented = augment(sparse.csr_array(votes), taxonomy.closure)
    np.testing.assert_array_equal(dense(augmented), algorithm_1(votes, taxonomy))


def test_an_empty_answer_stays_empty() -> None:
    votes = sparse.csr_array(np.zeros((2, len(DAG))))
    assert augment(votes, DAG.closure).nnz == 0


def test_augmentation_does_not_change_the_votes() -> None:
    votes = sparse.csr_array(np.eye(len(DAG)) * 0.5)
    before = votes.copy()
    augment(votes, DAG.closure)
    np.testing.assert_array_equal(dense(votes), dense(before))
