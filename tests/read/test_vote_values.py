"""What cells mean: scores on other scales, blank scores, several labels, negative votes, maps."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from mhpc.data.votes import ABSTAIN_WORD, Votes
from mhpc.errors import DataError, MhpcWarning, ParameterError, ReadingWarning
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from tests.fixtures.spreadsheets import write_xlsx

Rows = dict[tuple[str, str, str | None], float]


def rows(votes: Votes) -> Rows:
    cells = zip(votes.instance, votes.source, votes.label, votes.score, strict=True)
    return {
        (votes.instances[i], votes.sources[s], votes.labels[k] if k >= 0 else None): float(score)
        for i, s, k, score in cells
    }


def graded(*scores: Any) -> dict[str, list[Any]]:
    """Return votes of ann for a bee on instances 1, 2, …, with these scores."""
    count = len(scores)
    return {
        "instance": [str(number) for number in range(1, count + 1)],
        "source": ["ann"] * count,
        "label": ["bee"] * count,
        "score": list(scores),
    }


def read_quietly(source: Any, **options: Any) -> Votes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MhpcWarning)
        return read_votes(source, **options)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (["53%", "8 %", "100%"], [0.53, 0.08, 1.0]),
        ([53, 8, 100], [0.53, 0.08, 1.0]),
        (["53.5", "0", "97"], [0.535, 0.0, 0.97]),
        (["0,59", "0,1", "1"], [0.59, 0.1, 1.0]),
        (["59,5%", "10%", "1%"], [0.595, 0.1, 0.01]),
    ],
)
def test_percentages_and_decimal_commas_are_recognized_and_said(
    scores: list[Any], expected: list[float]
) -> None:
    with pytest.warns(MhpcWarning, match="scores are read as"):
        votes = read_votes(graded(*scores))
    assert votes.score.tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("scores", "option"),
    [([1, 5, 3], "score_max=5"), ([2, 9, 7], "score_max=10"), ([150, 900], "score_max=1000")],
)
def test_another_scale_is_refused_with_the_option_that_would_read_it(
    scores: list[float], option: str
) -> None:
    with pytest.raises(DataError, match=option):
        read_votes(graded(*scores))


def test_scores_are_divided_by_the_highest_possible_one() -> None:
    assert read_votes(graded(1, 5, 3), score_max=5).score.tolist() == pytest.approx([0.2, 1, 0.6])


def test_a_score_above_the_highest_possible_one_is_refused() -> None:
    with pytest.raises(DataError, match="record 2: score '6'.*above 5, which"):
        read_votes(graded(1, 6), score_max=5)


def test_one_score_out_of_range_among_many_is_not_taken_for_a_scale() -> None:
    with pytest.raises(DataError, match="record 3: score '50'") as error:
        read_votes(graded(0.2, 0.9, 50, 0.1))
    assert "--score-max" not in str(error.value)


def test_percentages_among_plain_numbers_are_refused() -> None:
    with pytest.raises(DataError, match="record 2: score '0.5'.*end with %"):
        read_votes(graded("50%", "0.5"))


def test_a_blank_score_counts_as_one_for_a_source_that_never_gives_scores() -> None:
    table = {
        "instance": ["1", "1", "2"],
        "source": ["person", "model", "model"],
        "label": ["bee", "bee", "ant"],
        "score": [None, "0.4", "0.6"],
    }
    with pytest.warns(MhpcWarning, match="1 vote of 1 source that never gives a score counts as 1"):
        votes = read_votes(table)
    assert rows(votes)[("1", "person", "bee")] == 1.0


def test_a_blank_score_counts_as_the_mean_of_a_source_that_gives_scores_elsewhere() -> None:
    with pytest.warns(MhpcWarning, match="1 vote without a score"):
        votes = read_votes(graded(0.4, "", 0.8))
    assert votes.score.tolist() == pytest.approx([0.4, 0.6, 0.8])


def test_blank_percentages_count_as_one_or_as_the_mean() -> None:
    table = {
        "instance": ["1", "2", "3", "3"],
        "source": ["model", "model", "model", "person"],
        "label": ["bee"] * 4,
        "score": ["40%", "80%", None, None],
    }
    assert list(rows(read_quietly(table)).values()) == pytest.approx([0.4, 0.8, 0.6, 1.0])


def test_a_column_of_blank_scores_is_no_column_of_scores() -> None:
    assert read_votes(graded(None, "", None)).score.tolist() == [1, 1, 1]


def test_votes_and_scores_files_together_are_one_panel(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("instance,source,label\n1,m,bee\n1,p,ant\n")
    (tmp_path / "scores.csv").write_text("instance,source,label,score\n1,m,bee,0.7\n1,m,ant,0.1\n")
    votes = read_quietly([tmp_path / "votes.csv", tmp_path / "scores.csv"])
    expected: Rows = {("1", "m", "bee"): 0.7, ("1", "m", "ant"): 0.1, ("1", "p", "ant"): 1.0}
    assert rows(votes) == expected


def test_a_rank_counts_as_its_reciprocal() -> None:
    table = {"item": ["1", "1"], "model": ["m", "m"], "label": ["bee", "ant"], "place": [1, 4]}
    votes = read_votes(table, columns={"rank": "place"})
    assert votes.score.tolist() == [1.0, 0.25]


def test_a_rank_that_is_none_is_refused() -> None:
    table = {"item": ["1"], "model": ["m"], "label": ["bee"], "place": ["first"]}
    with pytest.raises(DataError, match="record 1: its rank is not a number from 1 on"):
        read_votes(table, columns={"rank": "place"})


def test_a_rank_is_not_read_unless_it_is_chosen() -> None:
    table = {"item": ["1"], "model": ["m"], "label": ["bee"], "rank": ["species"]}
    assert read_votes(table).score.tolist() == [1.0]


def test_a_cell_is_split_at_the_separator() -> None:
    table = {"instance": ["1", "2", "3"], "source": ["ann"] * 3, "label": ["bee; ant", "fly", ""]}
    expected: Rows = {
        ("1", "ann", "bee"): 1.0, ("1", "ann", "ant"): 1.0, ("2", "ann", "fly"): 1.0,
        ("3", "ann", None): 1.0,
    }  # fmt: skip
    assert rows(read_votes(table, separator=";")) == expected


def test_a_blank_separator_is_refused() -> None:
    with pytest.raises(ParameterError, match="separator"):
        read_votes(graded(1), separator=" ")


def test_a_marked_label_is_a_negative_vote() -> None:
    table = {"instance": ["1", "1"], "source": ["ann", "bob"], "label": ["! bee", "bee"]}
    votes = read_votes(table, negative="mark")
    assert votes.labels.ids == ("bee",)
    assert votes.negative is not None
    assert votes.negative.tolist() == [True, False]


def test_a_score_below_zero_is_a_negative_vote_with_its_size() -> None:
    votes = read_votes(graded(-0.75, 0.5), negative="score")
    assert votes.score.tolist() == [0.75, 0.5]
    assert votes.negative is not None
    assert votes.negative.tolist() == [True, False]


def test_without_the_option_a_mark_is_part_of_the_label() -> None:
    votes = read_votes({"instance": ["1"], "source": ["ann"], "label": ["!bee"]})
    assert votes.labels.ids == ("!bee",)
    assert votes.negative is None


def test_labels_are_replaced_as_the_map_says(tmp_path: Path) -> None:
    (tmp_path / "map.csv").write_text("from,to\nhoney bee,bee\nrubbish,abstain\nant,\n")
    table = {
        "instance": ["1", "1", "2"],
        "source": ["ann"] * 3,
        "label": ["honey bee", "ant", "rubbish"],
    }
    expected = {("1", "ann", "bee"), ("1", "ann", "ant"), ("2", "ann", ABSTAIN_WORD)}
    assert rows(read_votes(table, map=tmp_path / "map.csv")).keys() == expected
    assert (
        rows(read_votes(table, map={"honey bee": "bee", "rubbish": "abstain"})).keys() == expected
    )


def test_a_map_with_two_targets_for_one_label_is_refused() -> None:
    with pytest.raises(DataError, match="'a' is replaced by 'b' and by 'c'"):
        read_votes(graded(1), map={"from": ["a", "a"], "to": ["b", "c"]})


def test_two_labels_that_become_one_are_one_vote() -> None:
    table = {"instance": ["1", "1"], "source": ["ann"] * 2, "label": ["bees", "bee"]}
    assert len(read_quietly(table, map={"bees": "bee"})) == 1


def test_a_truth_is_read_with_separator_and_map() -> None:
    truth = read_truth(
        {"id": ["1"], "diagnosis": ["bees; ant"]}, separator=";", map={"bees": "bee"}
    )
    assert truth.labels.ids == ("bee", "ant")


def test_scores_of_a_truth_are_not_read() -> None:
    truth = read_truth({"id": ["1"], "label": ["bee"], "confidence": ["certain"]})
    assert truth.labels.ids == ("bee",)


def test_a_truth_may_have_one_column_per_label(tmp_path: Path) -> None:
    path = tmp_path / "expert.csv"
    path.write_text("id,bee,ant\n1,1,0\n2,0,0\n3,1,0.2\n")
    with pytest.warns(MhpcWarning, match="1 label left out, with a score of at most 0.5"):
        truth = read_truth(path)
    found = [
        (truth.instances[i], truth.labels[k] if k >= 0 else None)
        for i, k in zip(truth.instance, truth.label, strict=True)
    ]
    assert found == [("1", "bee"), ("2", None), ("3", "bee")]


def test_a_truth_without_a_header_is_recognized_by_its_shape(tmp_path: Path) -> None:
    path = tmp_path / "truth.tsv"
    path.write_text("T1\tGO:0001\nT1\tGO:0002\nT2\tGO:0001\n")
    with pytest.warns(ReadingWarning, match="no header; the columns are read as instance, label"):
        assert read_truth(path).instances.ids == ("T1", "T2")


def test_a_header_with_unknown_names_is_not_taken_for_a_row(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("thing,who,what\n1,ann,bee\n2,bob,bee\n")
    with pytest.raises(DataError, match="no column 'instance'"):
        read_votes(path)


@pytest.mark.parametrize("spelling", ["Confidence", "model_confidence", "model confidence"])
def test_columns_of_sources_may_have_columns_of_scores(spelling: str) -> None:
    score = spelling if "model" in spelling else "model_" + spelling
    table = {
        "id": ["1", "2", "3"],
        "model_label": ["bee", "ant", "bee"],
        score: ["0.5", "0.25", "0.75"],
        "ann": ["bee", "bee", "ant"],
    }
    votes = read_quietly(table)
    assert rows(votes)[("2", "model", "ant")] == 0.25
    assert rows(votes)[("2", "ann", "bee")] == 1.0


@pytest.mark.parametrize("source", ["gpt", "model", "annotator"])
def test_a_file_with_columns_of_sources_and_of_scores_is_not_a_matrix(
    tmp_path: Path, source: str
) -> None:
    path = tmp_path / "panel.csv"
    header = f"photo,ann,{source},{source}_confidence"
    path.write_text(f"{header}\n1,bee,bee,0.5\n2,ant,bee,0.25\n3,bee,ant,\n")
    votes = read_quietly(path)
    assert rows(votes)[("2", source, "bee")] == 0.25
    assert rows(votes)[("2", "ann", "ant")] == 1.0


def test_a_chosen_column_of_grades_holds_labels_not_scores(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("patient_id,doctor,grade\n1,ann,0\n1,bob,1\n2,ann,0\n2,bob,2\n")
    assert set(read_votes(path, columns={"label": "grade"}).labels) == {"0", "1", "2"}
    path = tmp_path / "truth.csv"
    path.write_text("patient_id,grade\n1,0\n2,1\n3,0\n")
    assert set(read_truth(path, columns={"label": "grade"}).labels) == {"0", "1"}


def test_a_chosen_column_of_zeros_and_ones_beside_sources_is_one_of_the_labels(
    tmp_path: Path,
) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("id,user,rude,kind\n1,ann,0,1\n1,bob,1,0\n2,ann,1,1\n")
    assert set(read_votes(path, columns={"label": "rude"}).labels) == {"rude"}


def test_two_columns_of_people_beside_labels_are_no_labels() -> None:
    table = {
        "id": ["1", "1", "2"],
        "annotator": ["ann", "bob", "ann"],
        "reviewer": ["bob", "ann", "bob"],
        "label": ["bee", "ant", "bee"],
    }
    with pytest.warns(ReadingWarning, match="'annotator' is read as the source; 'reviewer'"):
        votes = read_votes(table)
    assert rows(votes).keys() == {
        ("1", "ann", "bee"), ("1", "bob", "ant"), ("2", "ann", "bee")
    }  # fmt: skip


def test_columns_that_share_no_labels_are_left_out_and_said() -> None:
    table = {
        "id": ["1", "2", "3"],
        "text": ["a long text", "another", "a third"],
        "ann": ["bee", "ant", "bee"],
        "bob": ["bee", "bee", ""],
    }
    with pytest.warns(MhpcWarning, match="'ann', 'bob'; 'text' left out"):
        votes = read_votes(table)
    assert votes.sources.ids == ("ann", "bob")
    assert len(votes) == 5


def test_columns_of_sources_can_be_named_or_matched() -> None:
    table = {"id": ["1"], "rater_1": ["bee"], "rater_2": ["ant"], "note": ["fly"]}
    for source in ("rater_1,rater_2", "rater_*"):
        assert read_votes(table, columns={"source": source}).sources.ids == ("rater_1", "rater_2")


def test_files_beside_the_votes_in_a_folder_are_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "ann.csv").write_text("id,label\n1,bee\n")
    (tmp_path / "bob.csv").write_text("id,label\n1,ant\n")
    (tmp_path / "taxonomy.csv").write_text("label,parent\nbee,\nant,\n")
    (tmp_path / "README.md").write_text("Read me")
    with pytest.warns(MhpcWarning, match=r"left out.*'README.md', 'taxonomy.csv'"):
        votes = read_votes(tmp_path)
    assert votes.sources.ids == ("ann", "bob")


def test_null_labels_mean_that_a_source_did_not_know(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(
        '{"id": 1, "model": "a", "labels": ["bee"]}\n{"id": 1, "model": "b", "labels": []}\n'
        '{"id": 2, "model": "a", "labels": null}\n'
    )
    expected = {("1", "a", "bee"), ("1", "b", None), ("2", "a", ABSTAIN_WORD)}
    assert rows(read_votes(path)).keys() == expected


def test_scores_of_records_may_be_one_a_list_or_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(
        '{"id": 1, "model": "a", "labels": ["bee", "ant"], "confidence": [0.5, 0.25]}\n'
        '{"id": 2, "model": "a", "labels": ["bee", "ant"], "confidence": 0.75}\n'
        '{"id": 3, "model": "a", "labels": {"bee": 0.5, "a/b~c": 0.25}}\n'
        '{"id": 4, "model": "a", "labels": ["bee"], "confidence": {"bee": 0.125}}\n'
    )
    expected: Rows = {
        ("1", "a", "bee"): 0.5, ("1", "a", "ant"): 0.25, ("2", "a", "bee"): 0.75,
        ("2", "a", "ant"): 0.75, ("3", "a", "bee"): 0.5, ("3", "a", "a/b~c"): 0.25,
        ("4", "a", "bee"): 0.125,
    }  # fmt: skip
    assert rows(read_votes(path)) == expected


def test_row_numbers_in_place_of_instances_are_noticed() -> None:
    table = {
        "id": [str(number) for number in range(12)],
        "photograph": [str(number // 2) for number in range(12)],
        "annotator": ["ann", "bob"] * 6,
        "label": ["bee"] * 12,
    }
    with pytest.warns(MhpcWarning, match="every row has its own 'id'"):
        read_votes(table)
    assert read_votes(table, columns={"instance": "photograph"}).instances.ids == tuple("012345")


def test_of_two_columns_of_a_truth_the_other_one_is_the_label() -> None:
    truth = read_truth({"id": ["1", "2"], "what it really is": ["bee", "ant"]})
    assert truth.labels.ids == ("bee", "ant")


def test_a_matrix_may_be_a_sheet(tmp_path: Path) -> None:
    for name, cells in (("ann", [["1", 1, 0], ["2", 0, 0]]), ("bob", [["1", 0, 1]])):
        write_xlsx(tmp_path / f"{name}.xlsx", {"Sheet": [["id", "bee", "ant"], *cells]})
    expected = {("1", "ann", "bee"), ("2", "ann", None), ("1", "bob", "ant")}
    assert rows(read_votes(tmp_path)).keys() == expected
    assert rows(read_votes(tmp_path / "bob.xlsx")).keys() == {("1", "bob", "ant")}


def test_grades_in_the_other_column_of_a_truth_are_labels(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("patient_id,grade\n1,0\n2,1\n3,2\n")
    assert read_truth(path).labels.ids == ("0", "1", "2")


def test_a_list_of_answers_may_be_wrapped_in_an_object(tmp_path: Path) -> None:
    answers = [
        {"id": "1", "model": "a", "labels": ["bee"]},
        {"id": "2", "model": "a", "labels": []},
    ]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"meta": {"date": "today"}, "results": answers}, indent=1))
    assert rows(read_votes(path)).keys() == {("1", "a", "bee"), ("2", "a", None)}


def test_an_object_about_one_instance_is_not_unwrapped(tmp_path: Path) -> None:
    path = tmp_path / "item.json"
    path.write_text(json.dumps({"id": "1", "answers": [{"worker": "ann", "label": "bee"}]}))
    assert rows(read_votes(path)).keys() == {("1", "ann", "bee")}


def test_cells_with_commas_are_compared_label_by_label() -> None:
    table = {"id": ["1", "2"], "ann": ["bee, ant", "fly"], "bob": ["ant", "fly, bee"]}
    votes = read_votes(table, separator=",")
    assert votes.sources.ids == ("ann", "bob")
    assert len(votes) == 6
