from pathlib import Path

import pytest

from mhpc.errors import DataError, MhpcWarning, MissingColumnError
from mhpc.read.truth import read_truth


def test_an_instance_may_have_several_labels_or_none() -> None:
    truth = read_truth({"instance": [1, 1, 2], "label": ["bee", "rose", None]})
    assert truth.instances.ids == ("1", "2")
    assert truth.labels.ids == ("bee", "rose")
    assert truth.instance.tolist() == [0, 0, 1]
    assert truth.label.tolist() == [0, 1, -1]


def test_columns_have_aliases() -> None:
    assert read_truth({"task": ["1"], "value": ["bee"]}).labels.ids == ("bee",)


def test_columns_can_be_chosen() -> None:
    rows = [{"photo": "1", "seen": "bee", "label": "what the camera said"}]
    truth = read_truth(rows, columns={"instance": "photo", "label": "seen"})
    assert (truth.instances.ids, truth.labels.ids) == (("1",), ("bee",))


def test_a_chosen_column_must_exist() -> None:
    with pytest.raises(MissingColumnError, match="the truth: no column 'photo'"):
        read_truth({"instance": [1], "label": ["bee"]}, columns={"instance": "photo"})


def test_an_empty_instance_is_refused_by_row(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("instance,label\n1,bee\n,bee\n")
    with pytest.raises(DataError, match="truth.csv, row 2: no instance"):
        read_truth(path)


def test_the_origin_is_the_file(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("instance,label\n1,bee\n")
    assert read_truth(path).origin == str(path)
    assert read_truth({"instance": [1], "label": ["bee"]}).origin == "the truth"


def test_known_labels_with_low_scores_are_no_empty_table() -> None:
    rows = {"instance": ["1"], "label": ["bee"], "score": [0.4]}
    with pytest.raises(DataError, match="no label in it has a score above"):
        read_truth(rows)


@pytest.mark.parametrize(
    "lines",
    [
        "instance,label,score\n1,bee,0.9\n1,ant,0.5\n2,ant,1\n",
        "instance,ant,bee\n1,0.5,0.9\n2,1,0\n",
    ],
)
def test_labels_left_out_for_their_score_are_counted(tmp_path: Path, lines: str) -> None:
    path = tmp_path / "truth.csv"
    path.write_text(lines)
    with pytest.warns(MhpcWarning, match="1 label left out, with a score of at most 0.5"):
        truth = read_truth(path)
    pairs = zip(truth.instance, truth.label, strict=True)
    assert [(truth.instances[i], truth.labels[k]) for i, k in pairs] == [("1", "bee"), ("2", "ant")]
