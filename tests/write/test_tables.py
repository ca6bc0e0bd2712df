import csv
import os
import threading
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.profiles import Proportion, SourceProfile, Weakness
from mhpc.data.scores import Consolidation, Top, scored_cells, sort_best_first
from mhpc.data.taxonomy import build_taxonomy
from mhpc.data.votes import Votes
from mhpc.errors import UnwritableError
from mhpc.numerics.arrays import dense
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.votes import read_votes
from mhpc.write.run_folder import labels_stream, scores_stream
from mhpc.write.tables import write_csv, write_sources, write_taxonomy, write_votes

NASTY = ['say "hi"', "a,b", "two\nlines", "carriage\rreturn", "007", "#", " spaced ", "é", "'"]
"""Texts that break tables which are written carelessly."""

TAXONOMY = build_taxonomy(["a", "b", "c"], [("b", "a"), ("c", "a")])


def consolidation(
    scores: list[list[float]], specific: list[list[float]] | None = None
) -> Consolidation:
    return Consolidation(
        taxonomy=TAXONOMY,
        instances=Index(tuple(f"i{n}" for n in range(len(scores)))),
        score=np.array(scores, dtype=float),
        specific=np.array(specific or scores, dtype=float),
        method="sa",
    )


def table(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def scores_in(path: Path) -> list[tuple[Any, ...]]:
    return duckdb.execute("FROM read_parquet(?)", [str(path)]).fetchall()


def nasty_votes() -> Votes:
    count = len(NASTY)
    return read_votes(
        {
            "instance": NASTY,
            "source": NASTY[::-1],
            "label": [None, *NASTY[1:]],
            "score": [1 / (n + 1) for n in range(count)],
        }
    )


def write_scores(path: Path, scores: Consolidation, *, top: Top) -> None:
    with scores_stream(path, scores.instances, scores.taxonomy.labels) as add:
        for cells in scored_cells(scores, top=top):
            add(sort_best_first(cells))


def test_none_and_nan_become_empty_cells(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", ("x", "y"), [(None, float("nan")), (0, 0.1)])
    assert (tmp_path / "a.csv").read_bytes() == b"x,y\n,\n0,0.1\n"


def test_scores_have_the_highest_first(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    write_scores(path, consolidation([[0.25, 0, 1], [0, 0.5, 0]]), top="all")
    assert scores_in(path) == [
        ("i0", "c", 1.0, 1.0),
        ("i0", "a", 0.25, 0.25),
        ("i1", "b", 0.5, 0.5),
    ]
    columns = duckdb.execute("DESCRIBE FROM read_parquet(?)", [str(path)]).fetchall()
    assert [(row[0], row[1]) for row in columns] == [
        ("instance", "VARCHAR"), ("label", "VARCHAR"), ("score", "DOUBLE"), ("specific", "DOUBLE"),
    ]  # fmt: skip


def test_scores_keep_the_top_of_either_view(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    write_scores(path, consolidation([[0.9, 0.8, 0.1]], [[0.1, 0.2, 0.7]]), top=1)
    assert scores_in(path) == [("i0", "a", 0.9, 0.1), ("i0", "c", 0.1, 0.7)]


def test_of_equal_scores_the_earlier_label_stays(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    write_scores(path, consolidation([[0.5, 0.5, 0.5]]), top=2)
    assert [label for _, label, _, _ in scores_in(path)] == ["a", "b"]


def test_an_instance_without_scores_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    write_scores(path, consolidation([[0, 0, 0], [0, 1, 0]]), top="all")
    assert scores_in(path) == [("i0", "a", 0.0, 0.0), ("i1", "b", 1.0, 1.0)]


def test_scores_can_be_written_to_any_path(tmp_path: Path) -> None:
    folder = tmp_path / "it's [1] 50%*"
    folder.mkdir()
    write_scores(folder / "scores.parquet", consolidation([[1, 0, 0]]), top="all")
    assert [path.name for path in folder.iterdir()] == ["scores.parquet"]


def test_an_error_in_writing_scores_names_the_path(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "scores.parquet"
    with pytest.raises(UnwritableError, match="scores.parquet cannot be written"):
        write_scores(path, consolidation([[1, 0, 0]]), top="all")


def test_labels_are_the_decision_with_scores(tmp_path: Path) -> None:
    result = consolidation([[0.5, 1, 0], [0, 0, 0]])
    reason = sparse.csr_array(np.array([[2, 1, 0], [0, 0, 0]], dtype=np.int8))
    row, label = reason.nonzero()
    with labels_stream(tmp_path / "labels.csv", result.instances, TAXONOMY.labels) as add:
        add(row, label, dense(result.score)[row, label])
    assert table(tmp_path / "labels.csv") == [
        ["instance", "label", "score"],
        ["i0", "a", "0.5"],
        ["i0", "b", "1.0"],
    ]


def test_there_is_one_row_per_source(tmp_path: Path) -> None:
    unknown = Proportion(float("nan"), float("nan"), float("nan"))
    silent = SourceProfile(
        "ann, silent", 0, 0.0, float("nan"), unknown, unknown, unknown, 1.0, "", 0.0,
        abstentions=2, denials=5,
    )  # fmt: skip
    always, never = Proportion(1, 0.4, 1), Proportion(0, 0, 0.6)
    weaknesses = (Weakness("a,b", 3, 1),)
    bob = SourceProfile(
        "bob", 3, 0.75, 1.5, always, never, never, 0.5, "cid", 1.0, "near-duplicate", weaknesses
    )
    write_sources(tmp_path / "sources.csv", [silent, bob])
    assert table(tmp_path / "sources.csv") == [
        [
            "source", "answers", "coverage", "mean_depth",
            "accurate", "accurate_low", "accurate_high", "vague", "vague_low", "vague_high",
            "wrong", "wrong_low", "wrong_high", "most_errors_under",
            "independence", "nearest_source", "dependence", "relation", "abstentions", "denials",
        ],
        ["ann, silent", "0", "0.0", *[""] * 11, "1.0", "", "0.0", "", "2", "5"],
        [
            "bob", "3", "0.75", "1.5", "1", "0.4", "1", *["0", "0", "0.6"] * 2, "a,b",
            "0.5", "cid", "1.0", "near-duplicate", "0", "0",
        ],
    ]  # fmt: skip


def test_a_taxonomy_can_be_read_back(tmp_path: Path) -> None:
    below = [(label, "root") for label in NASTY] + [("é", "#"), ("é", "a,b")]
    names = ["root", *reversed(NASTY)]
    before = build_taxonomy(["root", *NASTY], below, names=names)
    write_taxonomy(tmp_path / "taxonomy.csv", before)
    after = read_taxonomy(tmp_path / "taxonomy.csv")
    assert after.labels.ids == before.labels.ids
    assert after.names == before.names
    assert (after.parents != before.parents).nnz == 0


def test_votes_can_be_read_back(tmp_path: Path) -> None:
    before = nasty_votes()
    write_votes(tmp_path / "votes.csv", before)
    after = read_votes(tmp_path / "votes.csv")
    for axis in ("instances", "sources", "labels"):
        assert getattr(after, axis).ids == getattr(before, axis).ids
    for column in ("instance", "source", "label", "score"):
        assert getattr(after, column).tolist() == getattr(before, column).tolist()


def test_votes_without_scores_have_no_score_column(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    write_votes(path, read_votes({"instance": [1], "source": ["ann"], "label": [None]}))
    assert path.read_bytes() == b"instance,source,label\n1,ann,\n"


def test_votes_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    write_votes("-", read_votes({"instance": [1], "source": ["ann"], "label": ["é"]}))
    assert capsys.readouterr().out == "instance,source,label\n1,ann,é\n"


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("old")

    def failing(*_: Any, **__: Any) -> Any:
        yield ("1", "ann", "bee")
        raise KeyboardInterrupt

    monkeypatch.setattr("mhpc.write.tables.OutputTable.rows", failing)
    with pytest.raises(KeyboardInterrupt):
        write_votes(path, nasty_votes())
    assert [path.name for path in tmp_path.iterdir()] == ["votes.csv"]
    assert path.read_text() == "old"


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_votes(pipe, read_votes({"instance": [1], "source": ["ann"], "label": ["bee"]}))
    reader.join(timeout=10)
    assert received == [b"instance,source,label\n1,ann,bee\n"]
    assert pipe.is_fifo()


def test_votes_need_a_folder_and_a_file_name(tmp_path: Path) -> None:
    with pytest.raises(UnwritableError, match="there is no folder '.*nowhere'; make it first"):
        write_votes(tmp_path / "nowhere" / "votes.csv", nasty_votes())
    with pytest.raises(UnwritableError, match="is a folder; give a file in it"):
        write_votes(tmp_path, nasty_votes())
    with pytest.raises(UnwritableError, match="cannot be written: File name too long"):
        write_votes(tmp_path / ("x" * 250), nasty_votes())
