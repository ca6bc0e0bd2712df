"""What each format writes, and what it refuses."""

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


def write_content(
    format_: str, kind: Content = "labels", subject: Any = THREE, **parameters: Any
) -> bytes:
    file = io.BytesIO()
    make_format(format_, kind, parameters).write(file, subject, kind)
    return file.getvalue()


def rows(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))


@pytest.mark.parametrize("name", WRITE_FORMATS)
def test_every_format_is_in_the_help_and_describes_its_parameters(name: str) -> None:
    assert name in str(convert.help)
    kind = format_class(name)
    assert kind.name == name
    assert set(kind.writes) <= set(CONTENTS)
    for parameter in kind.describe():
        assert parameter["meaning"], f"{name} does not say what {parameter['name']} means"


@pytest.mark.parametrize("name", WRITE_FORMATS)
def test_the_page_names_every_format_and_parameter(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "giving-back.md").read_text(encoding="utf-8")
    for word in (name, *format_class(name).model_fields):
        assert f"`{word}`" in page


def test_the_command_offers_every_content() -> None:
    assert get_args(Content) == CONTENTS
    assert set(SUFFIXES.values()) <= set(WRITE_FORMATS)


def test_there_is_one_row_per_instance_and_label() -> None:
    assert write_content("csv").decode() == (
        "instance,label,score\n1,plant,1.0\n1,flower,0.75\n1,monarda,0.5\n2,animal,0.5\n"
        "2,bird,0.25\n"
    )
    assert write_content("tsv").decode().splitlines()[1] == "1\tplant\t1.0"


def test_scores_have_both_numbers() -> None:
    lines = write_content("jsonl", "scores").decode().splitlines()
    assert json.loads(lines[0]) == {
        "instance": "1", "label": "plant", "score": 1.0, "specific": 0.5,
    }  # fmt: skip
    # The instance without any keeps its first label, as in scores.parquet.
    assert json.loads(lines[-1])["instance"] == "3"


def test_wide_has_one_row_per_instance_and_one_column_per_label() -> None:
    assert rows(write_content("csv", "wide")) == [
        WIDE_HEADER,
        ["1", "1.0", "0.75", "0.5", *["0.0"] * 6],
        ["2", *["0.0"] * 6, "0.5", "0.25", "0.0"],
        ["3", *["0.0"] * 9],
    ]


def test_a_label_called_instance_keeps_its_column() -> None:
    from mhpc.data.taxonomy import build_taxonomy

    taxonomy = build_taxonomy(["instance", "b"], [])
    result = make_labelled_scores({"x": {"instance": 1.0}}, taxonomy=taxonomy)
    assert rows(write_content("csv", "wide", result)) == [
        ["instance_", "instance", "b"],
        ["x", "1.0", "0.0"],
    ]


def test_votes_and_taxonomies_have_the_usual_columns() -> None:
    assert (
        write_content("csv", "votes", VOTES).decode() == "instance,source,label\n1,ann,é\n2,bob,\n"
    )
    assert json.loads(write_content("jsonl", "votes", VOTES).splitlines()[1])["label"] == ""
    assert write_content("csv", "taxonomy", DAG).decode() == (
        "label,parent,name\na,,a\nb,a,b\nc,b,c\nd,b,d\nd,c,d\ne,a,e\n"
    )


@pytest.mark.parametrize("kind", ["labels", "scores", "wide"])
def test_parquet_contains_the_same_as_csv(tmp_path: Path, kind: Content) -> None:
    write_file(tmp_path / "it's.parquet", THREE, kind)
    relation = duckdb.execute("FROM read_parquet(?)", [str(tmp_path / "it's.parquet")])
    names = [column[0] for column in relation.description]
    content = [[str(cell) for cell in row] for row in relation.fetchall()]
    assert [names, *content] == rows(write_content("csv", kind))


def test_parquet_refuses_columns_that_differ_only_in_case() -> None:
    from mhpc.data.taxonomy import build_taxonomy

    taxonomy = build_taxonomy(["Bee", "bee"], [])
    result = make_labelled_scores({"x": {"bee": 1.0}}, taxonomy=taxonomy)
    with pytest.raises(DataError, match="'Bee' and 'bee' differ only in case.*write jsonl"):
        write_content("parquet", "wide", result)
    assert json.loads(write_content("jsonl", "wide", result)) == {
        "instance": "x",
        "Bee": 0,
        "bee": 1,
    }


def test_cafa_has_every_score_above_0_with_three_digits() -> None:
    result = make_labelled_scores({"P1": {"plant": 1.0, "flower": 1 / 3, "oak": 1e-9}, "P2": {}})
    assert (
        write_content("cafa", "scores", result)
        == b"P1\tplant\t1\nP1\tflower\t0.333\nP1\toak\t1e-09\n"
    )
    assert b"0.33333" in write_content("cafa", "scores", result, digits=5)


def test_cafa_refuses_blanks_in_ids_and_scores_above_1() -> None:
    with pytest.raises(DataError, match="instance 'a b' has a blank in it.*or write csv"):
        write_content("cafa", "scores", make_labelled_scores({"a b": {"plant": 1.0}}))
    with pytest.raises(DataError, match="'plant' of instance 'a' has score 1.5.*none above 1"):
        write_content("cafa", "scores", make_labelled_scores({"a": {"plant": 1.5}}))


def test_an_unsupported_content_is_refused_with_the_formats_that_support_it() -> None:
    with pytest.raises(ParameterError, match="cafa cannot hold votes, only scores; .*'csv'"):
        make_format("cafa", "votes")
    with pytest.raises(ParameterError, match="no format 'cvs' \\(nearest: 'csv'"):
        make_format("cvs", "votes")
    with pytest.raises(ParameterError, match="cafa has no parameter 'digit' .nearest: 'digits'"):
        make_format("cafa", "scores", {"digit": 3})


def test_a_name_that_does_not_determine_the_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="labels.json: the name does not determine the format"):
        write_file(tmp_path / "labels.json", THREE, "labels")
    assert not list(tmp_path.iterdir())
