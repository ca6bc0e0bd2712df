from dataclasses import replace

import numpy as np
import pytest

from mhpc.data.index import Index
from mhpc.data.taxonomy import build_taxonomy
from mhpc.encoding.panel import encode
from mhpc.errors import DataError, MhpcWarning, UnknownLabelError
from mhpc.numerics.arrays import dense
from mhpc.read.votes import read_votes
from tests.fixtures.build import DAG, GARDEN, panel_of

ONE_UNKNOWN = {
    "instance": ["p1", "p1", "p2"],
    "source": ["ann", "bob", "ann"],
    "label": ["monrada", "monarda", "oak"],
}


def test_an_unknown_label_is_refused_with_who_said_it_and_the_nearest() -> None:
    with pytest.raises(UnknownLabelError, match="'monrada'.*nearest: 'monarda'.*'ann'.*'p1'"):
        encode(read_votes(ONE_UNKNOWN), GARDEN)


def test_dropping_an_unknown_label_keeps_the_answer() -> None:
    with pytest.warns(MhpcWarning, match="'monrada'"):
        panel = encode(read_votes(ONE_UNKNOWN), GARDEN, unknown="drop")
    assert panel.answers_per_instance.tolist() == [2, 1]
    assert panel.raw.nnz == 2


def test_grafting_adds_an_unknown_label_as_a_root() -> None:
    with pytest.warns(MhpcWarning, match="added to the taxonomy"):
        panel = encode(read_votes(ONE_UNKNOWN), GARDEN, unknown="graft")
    assert "monrada" in panel.taxonomy
    assert panel.taxonomy.depth[panel.taxonomy.labels.positions["monrada"]] == 1
    assert "monrada" not in GARDEN


def test_grafting_a_path_hangs_it_below_its_longest_known_prefix() -> None:
    codes = build_taxonomy(["20", "20/01"], [("20/01", "20")])
    votes = read_votes({"instance": ["x"], "source": ["s"], "label": ["20/01/03"]})
    with pytest.warns(MhpcWarning):
        panel = encode(votes, codes, unknown="graft")
    grown = panel.taxonomy
    assert grown.labels[grown.parents_of(grown.labels.positions["20/01/03"])[0]] == "20/01"


def test_a_name_that_several_labels_carry_is_refused_with_their_ids() -> None:
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


def test_scope_used_is_what_a_source_ever_said_with_ancestors() -> None:
    rows = [("x", "s", "c"), ("y", "s", "e"), ("x", "t", "d")]
    panel = panel_of(rows, DAG, scope="used")
    assert panel.scope is not None
    assert dense(panel.scope).tolist() == [[1, 1, 1, 0, 1], [1, 1, 1, 1, 0]]


def test_a_vote_outside_its_scope_is_refused() -> None:
    with pytest.raises(DataError, match="'s' votes for 'e'"):
        panel_of([("x", "s", "e")], DAG, scope={"s": ("d",)})


def test_an_unknown_label_in_a_scope_is_refused() -> None:
    with pytest.raises(UnknownLabelError, match="scope of source 's'.*'z'"):
        panel_of([("x", "s", "e")], DAG, scope={"s": ("e", "z")})


def test_instances_that_nobody_answered_can_be_named() -> None:
    panel = panel_of([("x", "s", "e")], DAG, instances=["x", "lonely"])
    assert panel.instances.ids == ("x", "lonely")
    assert panel.answers_per_instance.tolist() == [1, 0]
    assert np.asarray(panel.mean("raw", "answers").sum(axis=1)).tolist() == [1, 0]


def test_votes_that_64_bits_cannot_number_are_encoded_all_the_same() -> None:
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
    said = ["20/01", "new", "30/07/01", "20/02"]
    votes = read_votes({"instance": ["x"] * 4, "source": ["s"] * 4, "label": said})
    with pytest.warns(MhpcWarning):
        grown = encode(votes, codes, unknown="graft").taxonomy
    above = {
        label: [grown.labels[k] for k in grown.parents_of(grown.labels.positions[label])]
        for label in said
    }
    assert above == {"20/01": ["20"], "new": [], "30/07/01": ["30"], "20/02": ["20"]}
