"""Readers: a million rows in every format, against the bare library that reads the file.

python -m benchmarks.speed.readers [NAME…] [--rows 1000000]

Ours is the whole of ``mhpc.read_votes`` or ``mhpc.read_taxonomy``: sniffed, checked, every text a
position. Bare is the library under it alone: DuckDB taking the file or frame into a table as it
is, ``json``, rdflib. Wanted is a third of its speed.
"""

import argparse
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow

import mhpc
from benchmarks.environment import interleave, met_or_missed, ratio, write_result

WANTED = 1 / 3
SOURCES = 10
LABELS = 500


@dataclass(frozen=True)
class Case:
    """A format: how many rows are put where, and who reads them."""

    put: Callable[[Path, int], Any]
    bare: Callable[[Any], object]
    ours: Callable[[Any], object] = mhpc.read_votes
    share: float = 1.0


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    rows = []
    for name, case in CASES.items():
        if asked.names and name not in asked.names:
            continue
        count = int(asked.rows * case.share)
        with put(case, count) as source:
            seconds = interleave(
                {"bare": partial(case.bare, source), "ours": partial(case.ours, source)},
                repeats=asked.repeats,
            )
        speed = ratio(seconds["bare"], seconds["ours"])
        print(
            f"{name:18s} {count:9,} rows: bare {min(seconds['bare']):6.2f} s, ours "
            f"{min(seconds['ours']):6.2f} s, speed {speed} of bare: "
            f"{met_or_missed(speed.median >= WANTED)}",
            flush=True,
        )
        rows.append({"format": name, "rows": count, **seconds})
    write_result("speed_readers", {"rows": rows})


@contextmanager
def put(case: Case, rows: int) -> Iterator[Any]:
    """Give what a case reads, for as long as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        yield case.put(Path(folder), rows)


def votes(rows: int) -> Iterator[tuple[int, int, int]]:
    """Give instance, source and label, all sources of an instance together."""
    label = np.random.default_rng(0).integers(LABELS, size=rows).tolist()
    return ((at // SOURCES, at % SOURCES, label[at]) for at in range(rows))


def long_csv(folder: Path, rows: int) -> Path:
    """Write a long table."""
    return written(
        folder / "votes.csv",
        ["instance,source,label", *(f"item {i},rater {s},label {k}" for i, s, k in votes(rows))],
    )


def long_parquet(folder: Path, rows: int) -> Path:
    """Write a long table as Parquet."""
    source = long_csv(folder, rows)
    duckdb.execute(f"COPY (SELECT * FROM read_csv('{source}')) TO '{folder}/votes.parquet'")
    return folder / "votes.parquet"


def judges(folder: Path, rows: int) -> Path:
    """Write JSON Lines."""
    return written(
        folder / "judges.jsonl",
        (
            json.dumps({"item": f"item {i}", "judge": f"rater {s}", "label": f"label {k}"})
            for i, s, k in votes(rows)
        ),
    )


def frame(folder: Path, rows: int) -> pandas.DataFrame:
    """Return a frame of pandas."""
    return pandas.read_csv(long_csv(folder, rows))


def frame_of_lists(folder: Path, rows: int) -> pandas.DataFrame:
    """Return a frame as crowd-kit has it, a list of two labels a row."""
    made = frame(folder, rows)
    made["label"] = [[label, "label x"] for label in made["label"]]
    return made


def relation(folder: Path, rows: int) -> duckdb.DuckDBPyRelation:
    """Return a relation of DuckDB."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE v AS SELECT * FROM read_csv('{long_csv(folder, rows)}')")
    return connection.table("v")


def wide(folder: Path, rows: int) -> Path:
    """Write one row per answer, with one column for each of 28 labels."""
    names = [f"label {k}" for k in range(28)]
    cells = {k: ",".join(str(int(n == k)) for n in range(28)) for k in range(28)}
    return written(
        folder / "wide.csv",
        [
            f"text,id,rater_id,{','.join(names)}",
            *(f"some text,item {i},{s},{cells[k % 28]}" for i, s, k in votes(rows)),
        ],
    )


def matrices(folder: Path, rows: int) -> Path:
    """Write one matrix per source, with 14 labels."""
    names = [f"label {k}" for k in range(14)]
    (folder / "sources").mkdir()
    cells = {k: ",".join(str(float(n == k)) for n in range(14)) for k in range(14)}
    for source in range(SOURCES):
        written(
            folder / "sources" / f"{source}.csv",
            [
                f"Study,{','.join(names)}",
                *(f"item {i},{cells[k % 14]}" for i, s, k in votes(rows) if s == source),
            ],
        )
    return folder / "sources"


def cafa(folder: Path, rows: int) -> Path:
    """Write target, term and score, one file per source."""
    (folder / "teams").mkdir()
    for source in range(SOURCES):
        written(
            folder / "teams" / f"{source}.tsv",
            (f"T{i}\tGO:{k:07d}\t0.{k:03d}" for i, s, k in votes(rows) if s == source),
        )
    return folder / "teams"


def tasks(folder: Path, rows: int) -> Path:
    """Write tasks of Label Studio, ten annotations each."""
    made: dict[int, list[dict[str, Any]]] = {}
    for i, s, k in votes(rows):
        path = ["label 0", f"label {k}"]
        result = {"id": "Xg", "type": "taxonomy", "from_name": "topic", "to_name": "text"}
        made.setdefault(i, []).append(
            {
                "id": i * SOURCES + s, "completed_by": s, "was_cancelled": False, "task": i,
                "ground_truth": False, "lead_time": 4.2, "created_at": "2026-01-01T00:00:00Z",
                "result": [{**result, "value": {"taxonomy": [path]}}],
            }
        )  # fmt: skip
    records = (
        json.dumps({"id": i, "data": {"text": "some text"}, "annotations": a, "predictions": []})
        for i, a in made.items()
    )
    return written(folder / "export.json", bracketed(records))


def minimal(folder: Path, rows: int) -> Path:
    """Write records of Label Studio's JSON-MIN."""
    records = (
        json.dumps(
            {
                "text": "some text", "id": i, "topic": [{"taxonomy": [["label 0", f"label {k}"]]}],
                "annotator": s, "annotation_id": i * SOURCES + s, "lead_time": 4.2,
            }
        )
        for i, s, k in votes(rows)
    )  # fmt: skip
    return written(folder / "min.json", bracketed(records))


def argilla(folder: Path, rows: int) -> Path:
    """Write flattened records, ten responses each."""
    made: dict[int, list[list[str]]] = {}
    for i, _, k in votes(rows):
        made.setdefault(i, []).append([f"label {k}"])
    users = [f"00000000-0000-0000-0000-{s:012d}" for s in range(SOURCES)]
    records = (
        json.dumps(
            {
                "id": f"item {i}", "status": "completed", "text": "some text",
                "topic.responses": said, "topic.responses.users": users[: len(said)],
                "topic.responses.status": ["submitted"] * len(said),
            }
        )
        for i, said in made.items()
    )  # fmt: skip
    return written(folder / "records.json", bracketed(records))


def doccano(folder: Path, rows: int) -> Path:
    """Write a zip with one file per member."""
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        for source in range(SOURCES):
            lines = (
                json.dumps({"id": i, "text": "some text", "label": [f"label {k}"]})
                for i, s, k in votes(rows)
                if s == source
            )
            archive.writestr(f"rater {source}.jsonl", "\n".join(lines))
    return folder / "export.zip"


def prodigy(folder: Path, rows: int) -> Path:
    """Write an answer a line."""
    options = [{"id": f"label {k}", "text": f"label {k}"} for k in range(4)]
    return written(
        folder / "annotations.jsonl",
        (
            json.dumps(
                {
                    "text": "some text", "options": options, "accept": [f"label {k}"],
                    "answer": "accept", "_input_hash": i, "_task_hash": i, "_view_id": "choice",
                    "_timestamp": 1700000000, "_annotator_id": f"db-rater{s}",
                    "_session_id": f"db-rater{s}",
                }
            )
            for i, s, k in votes(rows)
        ),
    )  # fmt: skip


def zooniverse(folder: Path, rows: int) -> Path:
    """Write classifications of a survey."""
    columns = (
        "classification_id,user_name,user_id,user_ip,workflow_id,workflow_name,workflow_version,"
        "created_at,gold_standard,expert,metadata,annotations,subject_data,subject_ids"
    )
    said = (
        '"[{""task"":""T0"",""value"":[{""choice"":""LABEL%d"",""answers"":{""HOWMANY"":""1""}}]}]"'
    )
    return written(
        folder / "classifications.csv",
        [
            columns,
            *(
                f'{i},rater{s},{s},ip,1,survey,1.1,2026-01-01,,,"{{""session"":""s""}}",{said % k},'
                f'"{{}}",{i}'
                for i, s, k in votes(rows)
            ),
        ],
    )


def peerannot(folder: Path, rows: int) -> Path:
    """Write one object of objects."""
    made: dict[int, dict[int, int]] = {}
    for i, s, k in votes(rows):
        made.setdefault(i, {})[s] = k
    (folder / "answers.json").write_text(json.dumps(made), encoding="utf-8")
    return folder / "answers.json"


def edges(folder: Path, rows: int) -> Path:
    """Write a table of labels and parents."""
    return written(
        folder / "taxonomy.csv",
        ["label,parent", "1,", *(f"{k},{k // 8}" for k in range(2, rows + 1))],
    ).rename(folder / "t.csv")


def named_edges(folder: Path, rows: int) -> Path:
    """Write a table of labels, parents and names, with the labels in no order."""
    order = np.random.default_rng(0).permutation(np.arange(1, rows + 1)).tolist()
    return written(
        folder / "names.csv",
        [
            "label,parent,name",
            *(f"L{k:07d},{f'L{k // 8:07d}' if k > 7 else ''},the label {k}" for k in order),
        ],
    )


def edges_parquet(folder: Path, rows: int) -> Path:
    """Write a table of labels and parents as Parquet."""
    source = edges(folder, rows)
    duckdb.execute(
        f"COPY (FROM read_csv('{source}', all_varchar=true)) TO '{folder}/taxonomy.parquet'"
    )
    return folder / "taxonomy.parquet"


def chains(folder: Path, rows: int) -> Path:
    """Write a table of chains of 1,000 labels, the deepest taxonomy that is read."""
    return written(
        folder / "chains.csv",
        [
            "label,parent",
            *(f"{k},{k - 1 if k % 1000 else ''}" for k in range(rows)),
        ],
    )


def tree(folder: Path, rows: int) -> Path:
    """Write a JSON tree of three levels."""
    made = [
        {
            "name": f"{a}",
            "children": [
                {"name": f"{a}.{b}", "children": [{"name": f"{a}.{b}.{c}"} for c in range(100)]}
                for b in range(100)
            ],
        }
        for a in range(rows // 10_000)
    ]
    (folder / "tree.json").write_text(json.dumps(made), encoding="utf-8")
    return folder / "tree.json"


def turtle(folder: Path, rows: int) -> Path:
    """Write concepts, three triples each."""
    concepts = (
        f'<urn:x:{k}> a skos:Concept ; skos:prefLabel "concept {k}"@en '
        + (f"; skos:broader <urn:x:{k // 8}> ." if k > 1 else ".")
        for k in range(1, rows // 3)
    )
    prefix = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> ."
    return written(folder / "concepts.ttl", [prefix, *concepts])


def written(path: Path, lines: Any) -> Path:
    """Write lines."""
    with path.open("w", encoding="utf-8") as out:
        out.writelines(f"{line}\n" for line in lines)
    return path


def bracketed(records: Iterator[str]) -> Iterator[str]:
    """Give the lines of a JSON array."""
    yield "[" + next(records)
    yield from (f",{record}" for record in records)
    yield "]"


def in_table(query: str) -> Callable[[Any], None]:
    """Return what lets DuckDB take a source into a table."""

    def bare(source: Any) -> None:
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar = false")
            connection.execute(f"CREATE TABLE t AS SELECT * FROM {query.format(source)}")

    return bare


def frame_in_table(frame: Any) -> None:
    """Let DuckDB take a frame into a table."""
    with duckdb.connect() as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")


def relation_in_table(frame: duckdb.DuckDBPyRelation) -> None:
    """Let DuckDB give a relation as arrays."""
    frame.fetchnumpy()


def unzipped_in_tables(path: Path) -> None:
    """Unpack, and let DuckDB take every file."""
    with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
        archive.extractall(folder)
        in_table("read_json('{}/*.jsonl')")(folder)


def loaded(path: Path) -> None:
    """Let the standard library read a document."""
    json.loads(path.read_bytes())


def parsed(path: Path) -> None:
    """Let rdflib read triples."""
    from rdflib import Graph

    Graph().parse(path, format="turtle")


CASES = {
    "long": Case(long_csv, in_table("read_csv('{}')")),
    "parquet": Case(long_parquet, in_table("read_parquet('{}')")),
    "judges": Case(judges, in_table("read_json('{}')")),
    "pandas": Case(frame, frame_in_table),
    "pandas-lists": Case(frame_of_lists, frame_in_table),
    "polars": Case(lambda f, n: polars.from_pandas(frame(f, n)), frame_in_table),
    "arrow": Case(lambda f, n: pyarrow.Table.from_pandas(frame(f, n)), frame_in_table),
    "relation": Case(relation, relation_in_table),
    "wide": Case(wide, in_table("read_csv('{}')")),
    "matrices": Case(matrices, in_table("read_csv('{}/*.csv')")),
    "cafa": Case(cafa, in_table("read_csv('{}/*.tsv', header=false)")),
    "label-studio": Case(tasks, in_table("read_json('{}')")),
    "label-studio-min": Case(minimal, in_table("read_json('{}')")),
    "argilla": Case(argilla, in_table("read_json('{}')")),
    "doccano": Case(doccano, unzipped_in_tables),
    "prodigy": Case(prodigy, in_table("read_json('{}')")),
    "zooniverse": Case(zooniverse, in_table("read_csv('{}')")),
    "peerannot": Case(peerannot, loaded),
    "taxonomy-table": Case(edges, in_table("read_csv('{}')"), mhpc.read_taxonomy),
    "taxonomy-names": Case(named_edges, in_table("read_csv('{}')"), mhpc.read_taxonomy),
    "taxonomy-parquet": Case(edges_parquet, in_table("read_parquet('{}')"), mhpc.read_taxonomy),
    "taxonomy-chains": Case(chains, in_table("read_csv('{}')"), mhpc.read_taxonomy),
    "nested": Case(tree, loaded, mhpc.read_taxonomy),
    "skos": Case(turtle, parsed, mhpc.read_taxonomy, share=0.1),
}


if __name__ == "__main__":
    main()
