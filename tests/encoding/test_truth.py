import pytest

from mhpc.data.index import Index
from mhpc.encoding.gold import encode_truth
from mhpc.errors import MhpcWarning, UnknownInstanceError, UnknownLabelError
from mhpc.numerics.arrays import dense
from mhpc.read.truth import read_truth
from tests.fixtures.build import DAG

INSTANCES = Index(("x", "y", "z"))


def test_closed_truth_has_all_ancestors_and_specific_only_the_deepest() -> None:
    truth = read_truth({"instance": ["z", "z", "x"], "label": ["b", "c", "e"]})
    encoded = encode_truth(truth, DAG, INSTANCES)
    assert encoded.rows.tolist() == [0, 2]
    assert dense(encoded.closed).tolist() == [[1, 0, 0, 0, 1], [1, 1, 1, 0, 0]]
    assert dense(encoded.specific).tolist() == [[0, 0, 0, 0, 1], [0, 0, 1, 0, 0]]


def test_an_instance_known_to_have_no_label_counts() -> None:
    truth = read_truth({"instance": ["x", "y"], "label": ["e", None]})
    encoded = encode_truth(truth, DAG, INSTANCES)
    assert encoded.rows.tolist() == [0, 1]
    assert encoded.closed[[1]].nnz == 0


def test_truth_of_an_unknown_instance_is_refused_or_left_out() -> None:
    truth = read_truth({"instance": ["x", "xx"], "label": ["e", "e"]})
    with pytest.raises(UnknownInstanceError, match="'xx' has no votes"):
        encode_truth(truth, DAG, INSTANCES)
    with pytest.warns(MhpcWarning, match="1 instance without votes"):
        encoded = encode_truth(truth, DAG, INSTANCES, unknown="drop")
    assert encoded.rows.tolist() == [0]


def test_a_truth_that_shares_no_instance_is_refused_whatever_the_policy() -> None:
    truth = read_truth({"instance": ["1"], "label": ["e"]})
    with pytest.raises(UnknownInstanceError, match="none of its 1 instance"):
        encode_truth(truth, DAG, INSTANCES, unknown="drop")


def test_an_unknown_label_in_a_truth_is_refused() -> None:
    truth = read_truth({"instance": ["x"], "label": ["f"]})
    with pytest.raises(UnknownLabelError, match="'f'"):
        encode_truth(truth, DAG, INSTANCES)


@pytest.mark.filterwarnings("ignore::mhpc.errors.MhpcWarning")
def test_an_instance_whose_labels_are_all_left_out_is_left_out() -> None:
    truth = read_truth({"instance": ["x", "y", "z"], "label": ["f", "e", None]})
    encoded = encode_truth(truth, DAG, INSTANCES, unknown="drop")
    assert encoded.rows.tolist() == [1, 2]
    with pytest.raises(UnknownLabelError, match="nothing can be measured"):
        encode_truth(
            read_truth({"instance": ["x"], "label": ["f"]}), DAG, INSTANCES, unknown="drop"
        )
