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
"""Cells as text; an empty one is missing where the format can say so."""

Way = Callable[[Columns, Path, pytest.MonkeyPatch], Any]
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


def delimited(columns: Columns, delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def json_lines(columns: Columns) -> bytes:
    lines = (json.dumps(row, ensure_ascii=False) for row in rows(columns))
    return "".join(f"{line}\n" for line in lines).encode()


def rows(columns: Columns) -> list[dict[str, str | None]]:
    cells = zip(*columns.values(), strict=True)
    return [dict(zip(columns, (cell or None for cell in row), strict=True)) for row in cells]


def missing(columns: Columns) -> dict[str, list[str | None]]:
    return {name: [cell or None for cell in cells] for name, cells in columns.items()}


def zstd(data: bytes) -> bytes:
    return bytes(pyarrow.Codec("zstd").compress(data, asbytes=True))


TEXTS: dict[str, Callable[[Columns], bytes]] = {
    "csv": lambda columns: delimited(columns, ","),
    "tsv": lambda columns: delimited(columns, "\t"),
    "semicolon": lambda columns: delimited(columns, ";"),
    "jsonl": json_lines,
}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": zstd,
}


def from_file(write: Callable[[Columns], bytes], pack: Callable[[bytes], bytes]) -> Way:
    def way(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        path = folder / "table"
        path.write_bytes(pack(write(columns)))
        return path

    return way


def from_stdin(write: Callable[[Columns], bytes], pack: Callable[[bytes], bytes]) -> Way:
    def way(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        stdin = io.TextIOWrapper(io.BytesIO(pack(write(columns))))
        monkeypatch.setattr(sys, "stdin", stdin)
        return "-"

    return way


def from_pipe(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """As a shell's ``<(command)`` does."""
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write(delimited(columns, ","))
    return f"/dev/fd/{read}"


def from_duckdb_file(options: str) -> Way:
    def way(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        path = folder / "table"
        frame = pandas.DataFrame(missing(columns))
        with duckdb.connect() as connection:
            connection.from_df(frame).query("t", f"COPY t TO '{path}' ({options})")
        return str(path)

    return way


def from_arrow_file(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = folder / "table"
    feather.write_feather(pyarrow.table(missing(columns)), path)
    return path


def from_memory(make: Callable[[Columns], Any]) -> Way:
    def way(columns: Columns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        return make(columns)

    return way


WAYS: dict[str, Way] = {
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
    "pandas": from_memory(lambda columns: pandas.DataFrame(missing(columns))),
    "pandas-nullable": from_memory(
        lambda columns: pandas.DataFrame(missing(columns)).convert_dtypes()
    ),
    "pandas-categories": from_memory(
        lambda columns: pandas.DataFrame(missing(columns)).astype("category")
    ),
    "polars": from_memory(lambda columns: polars.DataFrame(missing(columns))),
    "polars-lazy": from_memory(lambda columns: polars.LazyFrame(missing(columns))),
    "pyarrow": from_memory(lambda columns: pyarrow.table(missing(columns))),
    "duckdb-relation": from_memory(
        lambda columns: duckdb.connect().from_df(pandas.DataFrame(missing(columns)))
    ),
    "mapping": from_memory(missing),
    "mapping-of-tuples": from_memory(
        lambda columns: {name: tuple(cells) for name, cells in columns.items()}
    ),
    "list-of-mappings": from_memory(rows),
}


@pytest.fixture(params=WAYS)
def put(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Columns], Any]:
    return lambda columns: WAYS[request.param](columns, tmp_path, monkeypatch)


def votes_rows(votes: Votes) -> set[tuple[str, str, str, float]]:
    cells = zip(votes.instance, votes.source, votes.label, votes.score, strict=True)
    return {
        (votes.instances[i], votes.sources[s], votes.labels[k] if k >= 0 else "", float(score))
        for i, s, k, score in cells
    }


def test_votes_are_the_same_from_every_input(put: Callable[[Columns], Any]) -> None:
    votes = read_votes(put(VOTES))
    scores = [float(score) for score in VOTES["score"]]
    expected = zip(VOTES["instance"], VOTES["source"], VOTES["label"], scores, strict=True)
    assert votes_rows(votes) == set(expected)
    # First come, first numbered, so that results do not depend on the format either.
    assert votes.instances.ids == tuple(dict.fromkeys(VOTES["instance"]))


def test_a_taxonomy_is_the_same_from_every_input(put: Callable[[Columns], Any]) -> None:
    taxonomy = read_taxonomy(put(TAXONOMY))
    assert taxonomy.labels.ids == ("01", "01.5", "#2", "é, è")
    assert taxonomy.names == ("plants", "flowers", "plants", "a\nname")
    parents = {
        label: {taxonomy.labels[p] for p in taxonomy.parents_of(k)}
        for k, label in enumerate(taxonomy)
    }
    assert parents == {"01": set(), "01.5": {"01", "#2"}, "#2": {"01"}, "é, è": {"#2"}}


def test_a_truth_is_the_same_from_every_input(put: Callable[[Columns], Any]) -> None:
    truth = read_truth(put(TRUTH))
    pairs = {
        (truth.instances[i], truth.labels[k] if k >= 0 else "")
        for i, k in zip(truth.instance, truth.label, strict=True)
    }
    assert pairs == set(zip(TRUTH["instance"], TRUTH["label"], strict=True))
