from pathlib import Path

import numpy as np
import pytest

from mhpc.errors import DataError, UnreadableError
from mhpc.read.run_folder import read_items, read_labelled_scores
from mhpc.run import run
from mhpc.settings import RunSettings

VOTES = "instance,source,label\n1,a,oak\n1,b,tree\n2,a,\n3,a,fir\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "votes.csv").write_text(VOTES)
    (tmp_path / "taxonomy.csv").write_text("label,parent\ntree,\noak,tree\nfir,tree\n")
    settings = RunSettings(
        votes=str(tmp_path / "votes.csv"), taxonomy=str(tmp_path / "taxonomy.csv"), method="sa"
    )
    run(settings, output=tmp_path / "OUT")
    return tmp_path / "OUT"


def test_label_sets_come_back_as_they_were_decided(folder: Path) -> None:
    result = read_labelled_scores(folder)
    rows = [
        f"{result.instances[row]},{result.taxonomy.labels[label]},{score}"
        for row in range(len(result.instances))
        for label, score in zip(*result.labels_of(row), strict=True)
    ]
    assert (folder / "labels.csv").read_text().splitlines()[1:] == rows
    assert result.instances.ids == ("1", "2", "3")


def test_a_run_without_any_label_is_no_error(folder: Path) -> None:
    (folder / "labels.csv").write_text("instance,label,score\n")
    assert read_labelled_scores(folder).chosen.nnz == 0


def test_files_of_different_runs_are_refused(folder: Path) -> None:
    (folder / "labels.csv").write_text("instance,label,score\n1,elm,1\n")
    with pytest.raises(UnreadableError, match="label 'elm' of labels.csv is not in taxonomy.csv"):
        read_labelled_scores(folder)
    (folder / "labels.csv").unlink()
    with pytest.raises(UnreadableError, match="labels.csv cannot be read: No such file"):
        read_labelled_scores(folder)


def test_items_come_back_as_they_were_written(folder: Path) -> None:
    items = read_items(folder)
    assert items.instance.tolist() == ["1", "2", "3"]
    assert items.labels.tolist()[1] == ""
    assert items.sources.tolist() == [2, 1, 1]
    assert np.isnan(items.probability).tolist() == [False, True, False]


def test_damaged_items_are_refused(folder: Path) -> None:
    path = folder / "items.csv"
    text = path.read_text()
    path.write_text(text.replace("agreement", "agree"))
    with pytest.raises(DataError, match="'agreement'.*consolidate again"):
        read_items(folder)
    path.write_text(text.replace(",1.0\n", ",much\n"))
    with pytest.raises(UnreadableError, match="no number in column 'agreement'"):
        read_items(folder)
    path.unlink()
    with pytest.raises(UnreadableError, match="has no items.csv"):
        read_items(folder)
