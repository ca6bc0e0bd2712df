"""Labels that exclude each other: declared, kept, written, and met in a result."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.cli import main
from mhpc.data.exclusive import ExclusiveConflicts, find_exclusive_conflicts, group_exclusive
from mhpc.data.index import Index
from mhpc.encoding.labels import graft

TABLE = """\
label,parent,exclusive
alive,,life
dead,,life
young,alive,age
old,alive,age
ill,alive,
grave,dead,age
"""


def groups_of(taxonomy: mhpc.Taxonomy) -> list[list[str]]:
    return [[taxonomy.labels[label] for label in group] for group in taxonomy.exclusive]


@pytest.fixture
def taxonomy_file(tmp_path: Path) -> Path:
    file = tmp_path / "taxonomy.csv"
    file.write_text(TABLE)
    return file


def test_siblings_with_the_same_value_exclude_each_other(taxonomy_file: Path) -> None:
    taxonomy = mhpc.read_taxonomy(taxonomy_file)
    # The third label with "age" has another parent, and is alone there.
    assert groups_of(taxonomy) == [["alive", "dead"], ["young", "old"]]


def test_labels_that_are_paths_can_exclude_each_other() -> None:
    table = {"label": ["a/b", "a/c", "d/e", "d/f"], "exclusive": ["x", "x", "x", None]}
    assert groups_of(mhpc.read_taxonomy(table)) == [["a/b", "a/c"]]


def test_a_column_without_a_group_of_two_is_fine() -> None:
    assert group_exclusive([0, 1, 2, 3], [-1] * 4, ["x", "", None, "y"]) == ()
    assert group_exclusive([0, 1], [-1, -1], ["no", "no"]) == ()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_groups_are_written_and_read_back(taxonomy_file: Path, suffix: str) -> None:
    taxonomy = mhpc.read_taxonomy(taxonomy_file)
    copy = taxonomy_file.with_name(f"copy.{suffix}")
    mhpc.write_taxonomy(copy, taxonomy)
    assert mhpc.read_taxonomy(copy).exclusive == taxonomy.exclusive


def test_groups_below_several_parents_are_written_and_read_back(tmp_path: Path) -> None:
    rows = ["p,,", "q,,", "a,p,1", "b,p,1", "c,p,", "a,q,2", "c,q,2"]
    (tmp_path / "t.csv").write_text("\n".join(["label,parent,exclusive", *rows]))
    taxonomy = mhpc.read_taxonomy(tmp_path / "t.csv")
    assert groups_of(taxonomy) == [["a", "b"], ["a", "c"]]
    mhpc.write_taxonomy(tmp_path / "copy.csv", taxonomy)
    copy = mhpc.read_taxonomy(tmp_path / "copy.csv")
    assert groups_of(copy) == groups_of(taxonomy)
    assert (copy.parents != taxonomy.parents).nnz == 0


def test_groups_are_kept_where_labels_are_added_or_selected(taxonomy_file: Path) -> None:
    taxonomy = mhpc.read_taxonomy(taxonomy_file)
    assert graft(taxonomy, ["new"]).exclusive == taxonomy.exclusive
    selected = taxonomy.select(taxonomy.locate(["alive", "young", "old"]))
    assert groups_of(selected) == [["young", "old"]]


@pytest.mark.parametrize("seed", range(3))
def test_conflicts_are_those_of_the_slow_twin(taxonomy_file: Path, seed: int) -> None:
    taxonomy = mhpc.read_taxonomy(taxonomy_file)
    draw = np.random.default_rng(seed)
    given = (draw.random((40, len(taxonomy))) < 0.3).astype(float)
    closed = sparse.csr_array(((given @ taxonomy.closure) > 0).astype(float))
    instances = Index(tuple(f"i{n}" for n in range(40)))
    pairs: dict[tuple[int, int], int] = {}
    first = []
    for row in range(40):
        labels = set(np.flatnonzero(closed[[row]].toarray()[0]).tolist())
        met = [p for group in taxonomy.exclusive for p in combinations(group, 2) if {*p} <= labels]
        first += [instances[row]] if met else []
        for pair in met:
            pairs[pair] = pairs.get(pair, 0) + 1
    assert first
    assert find_exclusive_conflicts(closed, taxonomy, instances) == ExclusiveConflicts(
        len(first), tuple(first), pairs
    )


def test_conflicts_of_blocks_are_added() -> None:
    one = ExclusiveConflicts(1, ("a",), {(0, 1): 1})
    both = one + ExclusiveConflicts(2, ("b", "c"), {(0, 1): 2, (2, 3): 1})
    assert both == ExclusiveConflicts(3, ("a", "b", "c"), {(0, 1): 3, (2, 3): 1})


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_a_run_notes_instances_with_labels_that_exclude_each_other(
    taxonomy_file: Path, engine: str
) -> None:
    if engine == "dask":
        pytest.importorskip("distributed")
    folder = taxonomy_file.parent
    sets = {"1": ("young", "grave"), "2": ("young",), "3": ("young", "old")}
    rows = [f"{i},{s},{k}" for i, labels in sets.items() for s in ("ann", "bob") for k in labels]
    (folder / "votes.csv").write_text("\n".join(["instance,source,label", *rows]))
    with pytest.raises(SystemExit) as ended:
        main(
            ["consolidate", str(folder / "votes.csv"), "--taxonomy", str(taxonomy_file), "--report",
             "--method", "majority", "--engine", engine, "-o", str(folder / "out"),
             "--progress", "none"]
        )  # fmt: skip
    assert ended.value.code == 0
    (note,) = json.loads((folder / "out" / "run.json").read_text())["notes"]
    assert note.startswith("2 instances have labels that exclude each other")
    assert note.endswith("'1', '3'")
    page = json.loads((folder / "out" / "report.json").read_text())
    assert page["taxonomy"]["exclusive"] == [[0, 1], [2, 3]]
    assert page["exclusive"]["pairs"] == [
        {"first": 0, "second": 1, "count": 1}, {"first": 2, "second": 3, "count": 1},
    ]  # fmt: skip
    assert page["findings"]["exclusive"] == note == page["overview"]["notes"][0]
    # Nothing is decided by it.
    labels = mhpc.load_run(folder / "out").labels
    assert set(labels["3"]) == {"alive", "young", "old"}
