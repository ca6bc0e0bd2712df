import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mhpc.api import consolidate, evaluate
from mhpc.data.votes import Votes
from mhpc.errors import DataError, MhpcWarning, UnknownLabelError
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import _find_suspects, read_votes


def rows(votes: Votes) -> set[tuple[str, str, str, float]]:
    cells = zip(votes.instance, votes.source, votes.label, votes.score, strict=True)
    return {
        (votes.instances[i], votes.sources[s], votes.labels[k] if k >= 0 else "", float(score))
        for i, s, k, score in cells
    }


def graded(*scores: Any) -> dict[str, list[Any]]:
    count = len(scores)
    return {
        "instance": list(range(count)),
        "source": ["ann"] * count,
        "label": ["bee"] * count,
        "score": list(scores),
    }


def test_several_rows_are_several_labels_and_an_empty_one_is_none_of_these() -> None:
    votes = read_votes(
        {"instance": [1, 1, 2], "source": ["ann"] * 3, "label": ["bee", "rose", None]}
    )
    assert rows(votes) == {("1", "ann", "bee", 1), ("1", "ann", "rose", 1), ("2", "ann", "", 1)}
    assert repr(votes) == "Votes(3 votes of 1 sources on 2 instances)"


def test_columns_have_aliases() -> None:
    votes = read_votes({"Item": [1], "Rater": ["ann"], "Choice": ["bee"], "prob": [0.5]})
    assert rows(votes) == {("1", "ann", "bee", 0.5)}


def test_columns_can_be_chosen() -> None:
    table = {
        "photo": [1],
        "who": ["ann"],
        "said": ["bee"],
        "label": ["no"],
        "min-probability": [0.5],
    }
    columns = {"instance": "photo", "source": "who", "label": "said", "score": "min-probability"}
    assert rows(read_votes(table, columns=columns)) == {("1", "ann", "bee", 0.5)}


def test_scores_are_read_as_numbers_from_text_too() -> None:
    votes = read_votes(graded("0.5", "1e-3", " 1 ", 0, "0.1234567890123456789"))
    assert votes.score.tolist() == [0.5, 0.001, 1.0, 0.0, 0.12345678901234568]


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("nan", "score 'nan'"),
        (-0.1, "score '-0.1'"),
        (1.1, "score '1.1'"),
        ("inf", "score 'inf'"),
        ("0.5.1", "score '0.5.1'"),
        ("high", "score 'high'"),
    ],
)
def test_an_invalid_score_is_refused_by_row(score: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        read_votes(graded(1, score, 0.25))
    assert str(error.value).startswith(
        f"the votes, record 2: {message} for label 'bee' of source 'ann'; "
        "a score is a number from 0 to 1"
    )


def test_none_of_these_needs_no_score() -> None:
    votes = read_votes({"instance": [1], "source": ["ann"], "label": [""], "score": [None]})
    assert rows(votes) == {("1", "ann", "", 1.0)}


def test_a_repeated_vote_counts_once_with_its_highest_score() -> None:
    table = graded(0.2, 0.9, 0.5) | {"instance": [1, 1, 1]}
    with pytest.warns(MhpcWarning) as warned:
        votes = read_votes(table)
    assert rows(votes) == {("1", "ann", "bee", 0.9)}
    assert str(warned[0].message) == (
        "the votes: 2 rows repeated; the highest score of a vote counts "
        "(first: row 1, source 'ann', instance '1')"
    )


def test_none_of_these_repeated_counts_once() -> None:
    with pytest.warns(MhpcWarning, match="1 row repeated"):
        votes = read_votes({"instance": [1, 1], "source": ["ann"] * 2, "label": [None, ""]})
    assert rows(votes) == {("1", "ann", "", 1.0)}


def test_a_label_overrules_none_of_these_of_the_same_answer() -> None:
    table = {
        "instance": [1, 1, 1, 2],
        "source": ["ann", "ann", "bob", "ann"],
        "label": ["", "bee", "", ""],
    }
    with pytest.warns(MhpcWarning) as warned:
        votes = read_votes(table)
    assert rows(votes) == {("1", "ann", "bee", 1), ("1", "bob", "", 1), ("2", "ann", "", 1)}
    assert str(warned[0].message) == (
        "the votes: 1 row saying 'none of these' where the same source gives a label; "
        "left out (first: row 1, source 'ann', instance '1')"
    )


def test_integers_in_parquet_equal_text_in_csv(tmp_path: Path) -> None:
    votes_path, truth_path = tmp_path / "votes.parquet", tmp_path / "truth.csv"
    duckdb.execute(
        "COPY (SELECT * FROM (VALUES (7, 1, 'bee'), (8, 1, 'wasp')) AS t(instance, source, label)) "
        f"TO '{votes_path}'"
    )
    truth_path.write_text("instance,label\n7,bee\n8,wasp\n")
    taxonomy = read_taxonomy({"label": ["bee", "wasp"], "parent": ["", ""]})
    result = consolidate(read_votes(votes_path), taxonomy, method="sa")
    assert evaluate(result, read_truth(truth_path)).instances == 2


def test_whole_floats_are_integer_ids() -> None:
    frame = pandas.DataFrame({"instance": [7, None], "source": ["a", "a"], "label": ["bee", "bee"]})
    assert frame["instance"].dtype == float
    assert read_votes(frame.dropna()).instances.ids == ("7",)


@pytest.mark.parametrize("role", ["instance", "source"])
def test_an_empty_id_is_refused_by_row(tmp_path: Path, role: str) -> None:
    path = tmp_path / "votes.csv"
    row = {"instance": "2", "source": "ann", "label": "bee"} | {role: ""}
    path.write_text(f"instance,source,label\n1,ann,bee\n{','.join(row.values())}\n")
    with pytest.raises(DataError, match=f"votes.csv: row 2 has an empty {role}; every row needs"):
        read_votes(path)


ONE = {"instance": [1, 2], "source": ["ann", "bob"], "label": ["bee", "wasp"]}


def test_a_scope_is_a_keyword_a_mapping_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scope.csv"
    path.write_text("source,label\nann,bee\nann,wasp\n")
    assert read_votes(ONE).scope == "all"
    assert read_votes(ONE, scope="used").scope == "used"
    assert read_votes(ONE, scope={"bob": ("wasp",)}).scope == {"bob": ("wasp",)}
    assert read_votes(ONE, scope=path).scope == {"ann": ("bee", "wasp")}


def test_a_scope_of_an_unknown_source_names_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "scope.csv"
    path.write_text("source,label\nanne,bee\n")
    with pytest.raises(DataError, match=r"scope.csv names source 'anne', .*\(nearest: 'ann'\)"):
        read_votes(ONE, scope=path)
    with pytest.raises(DataError, match="^the scope names source 'carl', which has no answers"):
        read_votes(ONE, scope={"carl": ("bee",)})


def test_a_scope_needs_a_label_in_every_row(tmp_path: Path) -> None:
    path = tmp_path / "scope.csv"
    path.write_text("source,label\nann,\n")
    with pytest.raises(DataError, match="scope.csv: row 1 has an empty label"):
        read_votes(ONE, scope=path)


def test_labels_are_not_changed_before_encoding() -> None:
    votes = read_votes({"instance": [1], "source": ["ann"], "label": ["hornet"]})
    assert votes.labels.ids == ("hornet",)
    taxonomy = read_taxonomy({"label": ["bee", "wasp"], "parent": ["", ""]})
    with pytest.raises(UnknownLabelError):
        consolidate(votes, taxonomy)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2), st.integers(0, 2), st.sampled_from([None, "a", "b"]),
            st.sampled_from([0.25, 0.5, 1.0]),
        ),
        min_size=1, max_size=12,
    )
)  # fmt: skip
def test_repeated_and_overruled_votes_are_dropped_everywhere(
    table: list[tuple[int, int, str | None, float]],
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MhpcWarning)
        votes = read_votes(
            {
                name: [row[column] for row in table]
                for column, name in enumerate(("instance", "source", "label", "score"))
            }
        )
    best: dict[tuple[str, str, str], float] = {}
    for i, s, k, score in table:
        key = (str(i), str(s), k or "")
        best[key] = max(best.get(key, 0.0), score if k else 1.0)
    labelled = {key[:2] for key in best if key[2]}
    expected = {(*key, v) for key, v in best.items() if key[2] or key[:2] not in labelled}
    assert rows(votes) == expected
    assert len(votes) == len(expected)


def test_repeats_are_found_if_vote_numbers_exceed_64_bits() -> None:
    answer = np.array([2**61, 5, 2**61])
    suspects = _find_suspects(answer, np.array([0, 1, 0]), n_labels=9)
    assert suspects.tolist() == [0, 1, 2]
    assert _find_suspects(answer[:2], np.array([0, 1]), n_labels=1).tolist() == []


def test_a_column_marks_votes_as_negative() -> None:
    table = {
        "instance": ["p"] * 4, "source": ["ann", "ann", "bob", "cid"],
        "label": ["oak", "oak", "oak", None], "negative": ["true", "false", None, ""],
    }  # fmt: skip
    votes = read_votes(table)
    assert len(votes) == 4
    assert votes.negative is not None
    assert votes.negative.tolist() == [True, False, False, False]
    assert "not oak" in votes._repr_html_()
    assert read_votes({**table, "negative": [False] * 4, "source": list("abcd")}).negative is None


def test_repeated_negative_votes_count_once_and_overrule_nothing() -> None:
    rows = [("ann", "oak", True), ("ann", "oak", True), ("bob", None, False), ("bob", "oak", True)]
    table = [{"instance": "p", "source": s, "label": k, "negative": n} for s, k, n in rows]
    with pytest.warns(MhpcWarning, match="1 row repeated"):
        votes = read_votes(table)
    assert votes.negative is not None
    assert votes.negative.tolist() == [True, False, True]


def test_lists_of_labels_may_be_negative() -> None:
    rows = [
        {"instance": "p", "source": "ann", "label": ["oak", "finch"], "negative": True},
        {"instance": "p", "source": "bob", "label": ["oak"], "negative": False},
    ]
    votes = read_votes(rows)
    assert votes.negative is not None
    assert votes.negative.tolist() == [True, True, False]


def test_a_mark_that_is_neither_true_nor_false_is_refused() -> None:
    table = {"instance": ["p", "q"], "source": ["a", "a"], "label": ["x", "y"]}
    with pytest.raises(DataError, match="row 2 has 'perhaps'.*negative"):
        read_votes({**table, "negative": ["true", "perhaps"]})
