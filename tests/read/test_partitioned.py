"""Votes that are read in parts give the same votes and errors as votes that are read at once."""

import json
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pytest

from mhpc.data.votes import Votes
from mhpc.errors import MhpcError, MhpcWarning, UnreadableError
from mhpc.read.options import ReadOptions
from mhpc.read.partitioned import (
    VotesSurvey,
    all_instances,
    instances_among,
    read_part,
    survey_votes,
)
from mhpc.read.votes import read_votes, warn_dropped

HEADER = "instance,source,label,score\n"

WRONG = {
    "no rows": HEADER,
    "no instance": HEADER + "1,ann,bee,1\n,ann,bee,1\n3,bob,bee,1\n,bob,bee,1\n",
    "no source": HEADER + "1,ann,bee,1\n2,,bee,1\n",
    "a long label": HEADER + f"1,ann,bee,1\n2,bob,{'b' * 10_001},1\n",
    "a score above 1": HEADER + "1,ann,bee,1\n2,bob,bee,1.5\n3,bob,bee,2\n",
    "a score that is none": HEADER + "1,ann,bee,nan\n",
    "no column": "instance,who,label\n1,ann,bee\n",
}


def survey_file(path: Path, *, scope: str = "all") -> VotesSurvey:
    return survey_votes(str(path), ReadOptions(), scope=scope, keep=path.parent / "kept.parquet")


def write(folder: Path, text: str, name: str = "votes.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def write_parquet(folder: Path, *texts: str) -> Path:
    votes = folder / "votes"
    votes.mkdir()
    for number, text in enumerate(texts):
        file = write(folder, text)
        query = f"COPY (FROM read_csv('{file}', all_varchar=true)) TO '{votes}/{number}.parquet'"
        duckdb.execute(f"{query} (FORMAT parquet)")
    return votes


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_errors_are_the_same_as_those_of_read_votes(text: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(MhpcError) as expected:
        read_votes(path)
    with pytest.raises(MhpcError) as actual:
        survey_file(path)
    assert str(actual.value) == str(expected.value)
    assert type(actual.value) is type(expected.value)


def test_sources_and_labels_are_in_order_of_first_appearance(tmp_path: Path) -> None:
    survey = survey_file(write(tmp_path, HEADER + "2,bob,wasp,1\n1,ann,,\n2,ann,bee,0.5\n"))
    assert (survey.rows, survey.instance) == (3, "2")
    assert survey.sources.ids == ("bob", "ann")
    assert survey.labels.ids == ("wasp", "bee")
    assert survey.first_votes == (("bob", "2"), ("ann", "2"))
    assert all_instances(survey).ids == ("2", "1")
    assert instances_among(survey, ["1", "3"]).ids == ("1",)


def test_used_labels_are_found_if_scopes_depend_on_them(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "1,ann,bee,1\n2,ann,bee,1\n2,ann,wasp,0\n")
    pairs = survey_file(path, scope="used").used_labels
    assert pairs is not None
    assert [pair.tolist() for pair in pairs] == [[0], [0]]


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_all_parts_together_are_the_votes(parts: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"i{rng.integers(40)},s{rng.integers(5)},{rng.choice(['', 'a', 'b', 'c'])},{rng.random()}\n"
        for _ in range(300)
    ]
    path = write_parquet(
        tmp_path, *(HEADER + "".join(rows[start : start + 100]) for start in (0, 100, 200))
    )
    with pytest.warns(MhpcWarning) as expected:
        votes = read_votes(path)
    survey = survey_file(path)
    batches = [read_part(survey, part, parts=parts) for part in range(parts)]
    assert sorted(row for part in batches for row in list_rows(part.votes)) == sorted(
        list_rows(votes)
    )
    assert sum(part.rows for part in batches) == 300
    first_rows = sorted(
        (f, id_) for p in batches for f, id_ in zip(p.first_rows, p.votes.instances, strict=True)
    )
    assert [id_ for _, id_ in first_rows] == list(votes.instances)
    assert all(part.votes.sources.ids == votes.sources.ids for part in batches)
    assert all(part.votes.labels.ids == votes.labels.ids for part in batches)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warn_dropped((rows for part in batches for rows in part.dropped), str(path))
    assert {str(w.message) for w in warned} == {str(w.message) for w in expected}


def list_rows(votes: Votes) -> list[tuple[str, str, str, float]]:
    return [
        (votes.instances[i], votes.sources[s], votes.labels[k] if k >= 0 else "", float(score))
        for i, s, k, score in zip(
            votes.instance, votes.source, votes.label, votes.score, strict=True
        )
    ]


def test_a_folder_of_parquet_files_is_read_by_name(tmp_path: Path) -> None:
    folder = write_parquet(tmp_path, HEADER + "2,ann,bee,1\n", HEADER + "1,ann,bee,1\n")
    (folder / "_SUCCESS").write_text("")
    (folder / "_metadata.parquet").write_text("")
    assert read_votes(folder).instances.ids == ("2", "1")


def test_a_damaged_file_in_a_folder_is_refused(tmp_path: Path) -> None:
    folder = write_parquet(tmp_path, HEADER + "2,ann,bee,1\n")
    (folder / "1.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UnreadableError, match="votes"):
        read_votes(folder)
    with pytest.raises(UnreadableError, match="votes"):
        survey_file(folder)


def test_votes_in_another_format_are_written_to_parquet(tmp_path: Path) -> None:
    choice = {"id": "r", "type": "choices", "from_name": "t", "value": {"choices": ["a", "b"]}}
    tasks = [
        {"id": 1, "data": {}, "annotations": [
            {"completed_by": 7, "result": [choice]},
            {"completed_by": 8, "result": [choice], "ground_truth": True},
        ]}
    ]  # fmt: skip
    path = write(tmp_path, json.dumps(tasks), "export.json")
    survey = survey_file(path)
    assert (survey.rows, survey.sources.ids, survey.labels.ids) == (2, ("7",), ("a", "b"))
    assert survey.gold is not None
    assert survey.gold.instances.ids == ("1",)
    assert survey.files == (tmp_path / "kept.parquet",)
    assert len(read_part(survey, 0, parts=1).votes) == 2
