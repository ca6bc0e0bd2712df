import gzip
from pathlib import Path

import pyarrow
import pytest

from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth
from mhpc.errors import DataError, TaxonomyError, UnreadableError
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth

TREE = """\
% A small one.
@RELATION 'yeast'

@ATTRIBUTE alpha numeric
@ATTRIBUTE beta {a,b}
@ATTRIBUTE class hierarchical 01,01/01,01/01/03,20,20/01
@DATA
% No instance.
0.5,a,01/01/03@20/01
?,b,20

1.5,a,?
"""

DAG = """\
@relation go
@attribute class hierarchical root/GO1,GO1/GO2,GO1/GO3,GO2/GO4,GO3/GO4
@data
GO4
GO2@GO3
"""


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return tmp_path / "yeast.arff"


def parents(taxonomy: Taxonomy) -> dict[str, set[str]]:
    return {
        label: {taxonomy.labels[p] for p in taxonomy.parents_of(k)}
        for k, label in enumerate(taxonomy)
    }


def labels(truth: Truth) -> dict[str, set[str]]:
    label_sets: dict[str, set[str]] = {instance: set() for instance in truth.instances}
    for i, k in zip(truth.instance, truth.label, strict=True):
        if k >= 0:
            label_sets[truth.instances[i]].add(truth.labels[k])
    return label_sets


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_path_codes_make_a_tree_and_rows_a_truth(arff: Path, pack: type[bytes]) -> None:
    arff.write_bytes(pack(TREE.encode()))
    assert parents(read_taxonomy(arff)) == {
        "01": set(), "01/01": {"01"}, "01/01/03": {"01/01"}, "20": set(), "20/01": {"20"},
    }  # fmt: skip
    assert labels(read_truth(arff)) == {"1": {"01/01/03", "20/01"}, "2": {"20"}, "3": set()}


def test_edges_from_the_root_make_a_dag(arff: Path) -> None:
    arff.write_text(DAG)
    assert parents(read_taxonomy(arff)) == {
        "GO1": set(), "GO2": {"GO1"}, "GO3": {"GO1"}, "GO4": {"GO2", "GO3"},
    }  # fmt: skip
    assert labels(read_truth(arff)) == {"1": {"GO4"}, "2": {"GO2", "GO3"}}


def test_windows_line_ends_and_a_byte_order_mark_are_accepted(arff: Path) -> None:
    arff.write_text(TREE.replace("\n", "\r\n"), encoding="utf-8-sig", newline="")
    assert labels(read_truth(arff))["2"] == {"20"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("b,20", "b,20/02", "line 10: label '20/02' is not declared in the header .*'20/01'"),
        ("hierarchical", "string", "no attribute is declared 'hierarchical' before @DATA"),
        (TREE.partition("@DATA\n")[2], "", "has no rows after @DATA"),
    ],
)
def test_errors_in_a_file_name_the_place(arff: Path, old: str, new: str, message: str) -> None:
    arff.write_text(TREE.replace(old, new))
    with pytest.raises(DataError, match=message) as error:
        read_truth(arff)
    assert str(arff) in str(error.value)


def test_an_edge_needs_two_labels(arff: Path) -> None:
    arff.write_text(DAG.replace("GO1/GO3", "GO3"))
    with pytest.raises(DataError, match="yeast.arff: 'GO3' is not a parent/child edge"):
        read_taxonomy(arff)


def test_a_cycle_of_edges_is_shown(arff: Path) -> None:
    arff.write_text(DAG.replace("GO1/GO3", "GO4/GO3"))
    with pytest.raises(TaxonomyError, match="cycle: 'GO3' > 'GO4' > 'GO3'"):
        read_taxonomy(arff)


def test_other_encodings_are_refused(arff: Path) -> None:
    rows = "0.5,a,20\n" * 10_000
    arff.write_text(f"{TREE}{rows}% café\n", encoding="latin-1")
    with pytest.raises(UnreadableError, match="yeast.arff is not UTF-8 text"):
        read_truth(arff)


def test_a_truncated_file_is_refused(arff: Path) -> None:
    rows = "".join(f"{n * 7919 % 100_003},a,20\n" for n in range(50_000))
    arff.write_bytes(gzip.compress((TREE + rows).encode())[:-1000])
    with pytest.raises(UnreadableError, match="yeast.arff does not decompress to its end"):
        read_truth(arff)


def test_zstd_is_refused_with_what_would_work(arff: Path) -> None:
    arff.write_bytes(pyarrow.Codec("zstd").compress(TREE.encode(), asbytes=True))
    with pytest.raises(UnreadableError, match="can be plain or gzip, not zstd"):
        read_truth(arff)


def test_the_papers_tree_is_read(data_folder: Path) -> None:
    path = data_folder / "yeast_funcat" / "cellcycle_FUN.train.arff.gz"
    taxonomy, truth = read_taxonomy(path), read_truth(path)
    assert (len(truth.instances), len(taxonomy), len(taxonomy.levels)) == (1628, 499, 6)
    assert (truth.label >= 0).all()


def test_the_papers_dag_is_read(data_folder: Path) -> None:
    path = data_folder / "yeast_go" / "cellcycle_GO.train.arff.gz"
    taxonomy, truth = read_taxonomy(path), read_truth(path)
    assert (len(truth.instances), len(taxonomy)) == (1625, 4125)
    several = [k for k in range(len(taxonomy)) if len(taxonomy.parents_of(k)) > 1]
    assert len(several) > 100
