"""The same table is read from every kind of file, dataframe and object."""

import csv
import gzip
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pytest
from pyarrow import feather

from mhpc.data.votes import Votes
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes

Columns = dict[str, list[str]]
"""Cells as text; an empty cell is null in formats that have nulls."""

InputMaker = Callable[[Columns, Path, pytest.MonkeyPatch], Any]
"""Puts a table somewhere and returns what to read it from."""

VOTES: Columns = {
    "instance": ["007", "007", "2020-01-01", "a,b", 'say "hi"', "last"],
    "source": ["ann", "bob", "ann", "two\nlines", "ann", " spaced "],
    "label": ["monarda", "#flower", "", "plant > flower, wild", "bée", "1e5"],
    "score": ["1.0", "0.25", "1.0", "0.5", "0.75", "0.1"],
}

TAXONOMY: Columns = {
    "label": ["01", "01.5", "#2", "é, è", "01.5"],
    "parent": ["", "01", "01", "#2", "#2"],
    "name": ["plants", "flowers", "plants", "a\nname", "flowers"],
}

TRUTH: Columns = {
    "instance": ["007", "007", "1e5", "2020-01-01"],
    "label": ["monarda", "#flower", "", "bée"],
}


def write_delimited(columns: Columns, delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def write_json_lines(columns: Columns) -> bytes:
    cells = with_json_nulls(columns)
    rows = (dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True))
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def list_records(columns: Columns) -> list[dict[str, str | None]]:
    cells = zip(*columns.values(), strict=True)
    return [dict(zip(columns, (cell or None for cell in row), strict=True)) for row in cells]


def with_nulls(columns: Columns) -> dict[str, list[str | None]]:
    return {name: [cell or None for cell in cells] for name, cells in columns.items()}


def with_json_nulls(columns: Columns) -> dict[str, list[str | None]]:
    """Return cells for JSON, where null in place of a label means that a source did not know."""
    return {**with_nulls(columns), "label": [*columns["label"]]}


def compress_zstd(data: bytes) -> bytes:
    return bytes(pyarrow.Codec("zstd").compress(data, asbytes=True))


TEXTS: dict[str, Callable[[Columns], bytes]] = {
    "csv": lambda columns: write_delimited(columns, ","),
    "tsv": lambda columns: write_delimited(columns, "\t"),
    "semicolon": lambda columns: write_delimited(columns, ";"),
    "jsonl": write_json_lines,
}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": compress_zstd,
}


def from_file(write: Callable[[Columns], bytes], pack: Callable[[bytes], bytes]) -> InputMaker:
    def make_input(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        path = folder / "table"
        path.write_bytes(pack(write(columns)))
        return path

    return make_input


def from_stdin(write: Callable[[Columns], bytes], pack: Callable[[bytes], bytes]) -> InputMaker:
    def make_input(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        stdin = io.TextIOWrapper(io.BytesIO(pack(write(columns))))
        monkeypatch.setattr(sys, "stdin", stdin)
        return "-"

    return make_input


def from_pipe(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Pass a pipe, as a shell's ``<(command)`` does."""
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write(write_delimited(columns, ","))
    return f"/dev/fd/{read}"


def from_duckdb_file(options: str) -> InputMaker:
    def make_input(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        path = folder / "table"
        is_json = "json" in options
        frame = pandas.DataFrame(with_json_nulls(columns) if is_json else with_nulls(columns))
        with duckdb.connect() as connection:
            connection.from_df(frame).query("t", f"COPY t TO '{path}' ({options})")
        return str(path)

    return make_input


def from_arrow_file(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = folder / "table"
    feather.write_feather(pyarrow.table(with_nulls(columns)), path)
    return path


def from_memory(make: Callable[[Columns], Any]) -> InputMaker:
    def make_input(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        return make(columns)

    return make_input


INPUT_MAKERS: dict[str, InputMaker] = {
    **{
        f"{text}-{packing}": from_file(write, pack)
        for text, write in TEXTS.items()
        for packing, pack in PACKINGS.items()
    },
    **{
        f"stdin-{text}-{packing}": from_stdin(TEXTS[text], PACKINGS[packing])
        for text, packing in [("csv", "plain"), ("tsv", "zstd"), ("jsonl", "gzip")]
    },
    "pipe": from_pipe,
    "duckdb-csv-zstd": from_duckdb_file("FORMAT csv, COMPRESSION zstd"),
    "duckdb-json-zstd": from_duckdb_file("FORMAT json, COMPRESSION zstd"),
    "parquet": from_duckdb_file("FORMAT parquet"),
    "parquet-zstd": from_duckdb_file("FORMAT parquet, COMPRESSION zstd"),
    "arrow": from_arrow_file,
    "pandas": from_memory(lambda columns: pandas.DataFrame(with_nulls(columns))),
    "pandas-nullable": from_memory(
        lambda columns: pandas.DataFrame(with_nulls(columns)).convert_dtypes()
    ),
    "pandas-categories": from_memory(
        lambda columns: pandas.DataFrame(with_nulls(columns)).astype("category")
    ),
    "polars": from_memory(lambda columns: polars.DataFrame(with_nulls(columns))),
    "polars-lazy": from_memory(lambda columns: polars.LazyFrame(with_nulls(columns))),
    "pyarrow": from_memory(lambda columns: pyarrow.table(with_nulls(columns))),
    "duckdb-relation": from_memory(
        lambda columns: duckdb.connect().from_df(pandas.DataFrame(with_nulls(columns)))
    ),
    "mapping": from_memory(with_nulls),
    "mapping-of-tuples": from_memory(
        lambda columns: {name: tuple(cells) for name, cells in columns.items()}
    ),
    "list-of-mappings": from_memory(list_records),
}


@pytest.fixture(params=INPUT_MAKERS)
def put_input(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Columns], Any]:
    return lambda columns: INPUT_MAKERS[request.param](columns, tmp_path, monkeypatch)


def vote_rows(votes: Votes) -> set[tuple[str, str, str, float]]:
    cells = zip(votes.instance, votes.source, votes.label, votes.score, strict=True)
    return {
        (votes.instances[i], votes.sources[s], votes.labels[k] if k >= 0 else "", float(score))
        for i, s, k, score in cells
    }


def test_votes_are_the_same_from_every_input(put_input: Callable[[Columns], Any]) -> None:
    votes = read_votes(put_input(VOTES))
    scores = [float(score) for score in VOTES["score"]]
    expected = zip(VOTES["instance"], VOTES["source"], VOTES["label"], scores, strict=True)
    assert vote_rows(votes) == set(expected)
    # Ids are numbered by first appearance, so results do not depend on the format.
    assert votes.instances.ids == tuple(dict.fromkeys(VOTES["instance"]))


def test_a_taxonomy_is_the_same_from_every_input(put_input: Callable[[Columns], Any]) -> None:
    taxonomy = read_taxonomy(put_input(TAXONOMY))
    assert taxonomy.labels.ids == ("01", "01.5", "#2", "é, è")
    assert taxonomy.names == ("plants", "flowers", "plants", "a\nname")
    parents = {
        label: {taxonomy.labels[p] for p in taxonomy.parents_of(k)}
        for k, label in enumerate(taxonomy)
    }
    assert parents == {"01": set(), "01.5": {"01", "#2"}, "#2": {"01"}, "é, è": {"#2"}}


def test_a_truth_is_the_same_from_every_input(put_input: Callable[[Columns], Any]) -> None:
    truth = read_truth(put_input(TRUTH))
    pairs = {
        (truth.instances[i], truth.labels[k] if k >= 0 else "")
        for i, k in zip(truth.instance, truth.label, strict=True)
    }
    assert pairs == set(zip(TRUTH["instance"], TRUTH["label"], strict=True))
