"""Every format: what it writes, and that it says what it cannot hold."""

import csv
import io
import json
from pathlib import Path
from typing import Any, get_args

import duckdb
import pytest

from mhpc.cli.convert import CONTENTS, convert
from mhpc.errors import DataError, ParameterError
from mhpc.read.votes import read_votes
from mhpc.write.formats import SUFFIXES, WRITE_FORMATS, Content, format_class, make_format
from mhpc.write.tables import write_file
from tests.fixtures.build import DAG, GARDEN
from tests.fixtures.labelled_scores import THREE, make_labelled_scores

VOTES = read_votes({"instance": [1, 2], "source": ["ann", "bob"], "label": ["é", None]})

WIDE_HEADER = ["instance", *GARDEN.labels]


def written(
    format_: str, what: Content = "labels", subject: Any = THREE, **parameters: Any
) -> bytes:
    file = io.BytesIO()
    make_format(format_, what, parameters).write(file, subject, what)
    return file.getvalue()


def rows(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))


@pytest.mark.parametrize("name", WRITE_FORMATS)
def test_every_format_is_named_in_the_help_and_knows_what_it_writes(name: str) -> None:
    assert name in str(convert.help)
    kind = format_class(name)
    assert kind.name == name
    assert set(kind.writes) <= set(CONTENTS)
    for each in kind.describe():
        assert each["meaning"], f"{name} does not say what {each['name']} means"


@pytest.mark.parametrize("name", WRITE_FORMATS)
def test_the_page_names_every_format_and_parameter(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "giving-back.md").read_text(encoding="utf-8")
    for word in (name, *format_class(name).model_fields):
        assert f"`{word}`" in page


def test_what_the_command_offers_is_what_there_is() -> None:
    assert get_args(Content) == CONTENTS
    assert set(SUFFIXES.values()) <= set(WRITE_FORMATS)


def test_labels_are_a_row_each() -> None:
    assert written("csv").decode() == (
        "instance,label,score\n1,plant,1.0\n1,flower,0.75\n1,monarda,0.5\n2,animal,0.5\n"
        "2,bird,0.25\n"
    )
    assert written("tsv").decode().splitlines()[1] == "1\tplant\t1.0"


def test_scores_have_both_numbers() -> None:
    lines = written("jsonl", "scores").decode().splitlines()
    assert json.loads(lines[0]) == {
        "instance": "1", "label": "plant", "score": 1.0, "specific": 0.5,
    }  # fmt: skip
    # The instance without any keeps its first label, as in scores.parquet.
    assert json.loads(lines[-1])["instance"] == "3"


def test_wide_is_a_row_an_instance_and_a_column_a_label() -> None:
    assert rows(written("csv", "wide")) == [
        WIDE_HEADER,
        ["1", "1", "1", "1", "0", "0", "0", "0", "0", "0"],
        ["2", "0", "0", "0", "0", "0", "0", "1", "1", "0"],
        ["3", *"000000000"],
    ]


def test_a_label_called_instance_keeps_its_column() -> None:
    from mhpc.data.taxonomy import build_taxonomy

    taxonomy = build_taxonomy(["instance", "b"], [])
    found = make_labelled_scores({"x": {"instance": 1.0}}, taxonomy=taxonomy)
    assert rows(written("csv", "wide", found)) == [["instance_", "instance", "b"], ["x", "1", "0"]]


def test_votes_and_taxonomies_are_canonical_tables() -> None:
    assert written("csv", "votes", VOTES).decode() == "instance,source,label\n1,ann,é\n2,bob,\n"
    assert json.loads(written("jsonl", "votes", VOTES).splitlines()[1])["label"] is None
    assert written("csv", "taxonomy", DAG).decode() == (
        "label,parent,name\na,,a\nb,a,b\nc,b,c\nd,b,d\nd,c,d\ne,a,e\n"
    )


@pytest.mark.parametrize("what", ["labels", "scores", "wide"])
def test_parquet_holds_what_csv_holds(tmp_path: Path, what: Content) -> None:
    write_file(tmp_path / "it's.parquet", THREE, what)
    found = duckdb.execute("FROM read_parquet(?)", [str(tmp_path / "it's.parquet")])
    names = [column[0] for column in found.description]
    content = [[str(cell) for cell in row] for row in found.fetchall()]
    assert [names, *content] == rows(written("csv", what))


def test_columns_that_differ_in_case_alone_are_refused_by_parquet() -> None:
    from mhpc.data.taxonomy import build_taxonomy

    taxonomy = build_taxonomy(["Bee", "bee"], [])
    found = make_labelled_scores({"x": {"bee": 1.0}}, taxonomy=taxonomy)
    with pytest.raises(DataError, match="'Bee' and 'bee' differ only in case.*write jsonl"):
        written("parquet", "wide", found)
    assert json.loads(written("jsonl", "wide", found)) == {"instance": "x", "Bee": 0, "bee": 1}


def test_cafa_has_every_score_above_0_with_three_digits() -> None:
    found = make_labelled_scores({"P1": {"plant": 1.0, "flower": 1 / 3, "oak": 1e-9}, "P2": {}})
    assert written("cafa", "scores", found) == b"P1\tplant\t1\nP1\tflower\t0.333\nP1\toak\t1e-09\n"
    assert b"0.33333" in written("cafa", "scores", found, digits=5)


def test_cafa_refuses_what_its_readers_would_misread() -> None:
    with pytest.raises(DataError, match="instance 'a b' has a blank in it.*or write csv"):
        written("cafa", "scores", make_labelled_scores({"a b": {"plant": 1.0}}))
    with pytest.raises(DataError, match="'plant' of instance 'a' has score 1.5.*none above 1"):
        written("cafa", "scores", make_labelled_scores({"a": {"plant": 1.5}}))


def test_a_format_says_what_it_cannot_hold_and_which_can() -> None:
    with pytest.raises(ParameterError, match="cafa cannot hold votes, only scores; .*'csv'"):
        make_format("cafa", "votes")
    with pytest.raises(ParameterError, match="no format 'cvs' \\(nearest: 'csv'"):
        make_format("cvs", "votes")
    with pytest.raises(ParameterError, match="cafa has no parameter 'digit' .nearest: 'digits'"):
        make_format("cafa", "scores", {"digit": 3})


def test_a_name_that_does_not_tell_the_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="labels.json: the name does not determine the format"):
        write_file(tmp_path / "labels.json", THREE, "labels")
    assert not list(tmp_path.iterdir())
