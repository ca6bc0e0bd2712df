"""Votes that are looked through, part by part: what is found and refused is as if read whole."""

import json
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pytest

from mhpc.data.votes import Votes
from mhpc.errors import MhpcError, MhpcWarning, UnreadableError
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
    "no score": HEADER + "1,ann,bee,1\n2,bob,bee,\n",
    "a score that is none": HEADER + "1,ann,bee,nan\n",
    "no column": "instance,who,label\n1,ann,bee\n",
}


def surveyed(path: Path, *, scope: str = "all") -> VotesSurvey:
    return survey_votes(str(path), columns=None, scope=scope, keep=path.parent / "kept.parquet")


def write(folder: Path, text: str, name: str = "votes.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def in_parquet(folder: Path, *texts: str) -> Path:
    votes = folder / "votes"
    votes.mkdir()
    for at, text in enumerate(texts):
        file = write(folder, text)
        query = f"COPY (FROM read_csv('{file}', all_varchar=true)) TO '{votes}/{at}.parquet'"
        duckdb.execute(f"{query} (FORMAT parquet)")
    return votes


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_wrong_votes_are_refused_as_when_they_are_read_whole(text: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(MhpcError) as expected:
        read_votes(path)
    with pytest.raises(MhpcError) as found:
        surveyed(path)
    assert str(found.value) == str(expected.value)
    assert type(found.value) is type(expected.value)


def test_who_and_what_occurs_is_found_in_order_of_first_appearance(tmp_path: Path) -> None:
    survey = surveyed(write(tmp_path, HEADER + "2,bob,wasp,1\n1,ann,,\n2,ann,bee,0.5\n"))
    assert (survey.rows, survey.instance) == (3, "2")
    assert survey.sources.ids == ("bob", "ann")
    assert survey.labels.ids == ("wasp", "bee")
    assert survey.first_votes == (("bob", "2"), ("ann", "2"))
    assert all_instances(survey).ids == ("2", "1")
    assert instances_among(survey, ["1", "3"]).ids == ("1",)


def test_what_was_said_is_looked_at_where_scopes_depend_on_it(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "1,ann,bee,1\n2,ann,bee,1\n2,ann,wasp,0\n")
    said = surveyed(path, scope="used").used_labels
    assert said is not None
    assert [pair.tolist() for pair in said] == [[0], [0]]


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_parts_together_are_the_votes(parts: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"i{rng.integers(40)},s{rng.integers(5)},{rng.choice(['', 'a', 'b', 'c'])},{rng.random()}\n"
        for _ in range(300)
    ]
    path = in_parquet(tmp_path, *(HEADER + "".join(rows[at : at + 100]) for at in (0, 100, 200)))
    with pytest.warns(MhpcWarning) as expected:
        whole = read_votes(path)
    survey = surveyed(path)
    found = [read_part(survey, part, parts=parts) for part in range(parts)]
    assert sorted(row for part in found for row in listed(part.votes)) == sorted(listed(whole))
    assert sum(part.rows for part in found) == 300
    first = sorted(
        (f, id_) for p in found for f, id_ in zip(p.first_rows, p.votes.instances, strict=True)
    )
    assert [id_ for _, id_ in first] == list(whole.instances)
    assert all(part.votes.sources.ids == whole.sources.ids for part in found)
    assert all(part.votes.labels.ids == whole.labels.ids for part in found)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_dropped((each for part in found for each in part.dropped), str(path))
    assert {str(each.message) for each in told} == {str(each.message) for each in expected}


def listed(votes: Votes) -> list[tuple[str, str, str, float]]:
    return [
        (votes.instances[i], votes.sources[s], votes.labels[k] if k >= 0 else "", float(score))
        for i, s, k, score in zip(
            votes.instance, votes.source, votes.label, votes.score, strict=True
        )
    ]


def test_a_folder_of_parquet_files_is_read_by_name(tmp_path: Path) -> None:
    folder = in_parquet(tmp_path, HEADER + "2,ann,bee,1\n", HEADER + "1,ann,bee,1\n")
    (folder / "_SUCCESS").write_text("")
    (folder / "_metadata.parquet").write_text("")
    assert read_votes(folder).instances.ids == ("2", "1")


def test_a_damaged_file_in_a_folder_is_refused(tmp_path: Path) -> None:
    folder = in_parquet(tmp_path, HEADER + "2,ann,bee,1\n")
    (folder / "1.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UnreadableError, match="votes"):
        read_votes(folder)
    with pytest.raises(UnreadableError, match="votes"):
        surveyed(folder)


def test_votes_in_another_format_are_kept_as_a_table(tmp_path: Path) -> None:
    said = {"id": "r", "type": "choices", "from_name": "t", "value": {"choices": ["a", "b"]}}
    tasks = [
        {"id": 1, "data": {}, "annotations": [
            {"completed_by": 7, "result": [said]},
            {"completed_by": 8, "result": [said], "ground_truth": True},
        ]}
    ]  # fmt: skip
    path = write(tmp_path, json.dumps(tasks), "export.json")
    survey = surveyed(path)
    assert (survey.rows, survey.sources.ids, survey.labels.ids) == (2, ("7",), ("a", "b"))
    assert survey.gold is not None
    assert survey.gold.instances.ids == ("1",)
    assert survey.files == (tmp_path / "kept.parquet",)
    assert len(read_part(survey, 0, parts=1).votes) == 2
