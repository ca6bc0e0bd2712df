"""One small valid file, or folder, of everything that is read."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pandas
import pyarrow
from pyarrow import ipc

from mhpc.run import run
from mhpc.settings import RunSettings
from tests.contracts.test_formats import HIERARCHY_WAYS, WAYS, long_table, rows_of_frame, table
from tests.read.test_read_arff import DAG, TREE
from tests.samples import Sample


def all_samples(folder: Path) -> list[Sample]:
    """Make the samples in a folder."""
    made = [_of_way(folder / f"votes-{way}", way, "votes", *told) for way, told in WAYS.items()]
    made += [
        _of_way(folder / f"taxonomy-{way}", way, "taxonomy", *told)
        for way, told in HIERARCHY_WAYS.items()
    ]
    (folder / "plain").mkdir(parents=True)
    return [*filter(None, made), *_packed(folder / "plain"), *_texts(), _run_folder(folder)]


def _of_way(
    folder: Path, way: str, reader: str, format_: str, put: Callable[[Path], object]
) -> Sample | None:
    """Return what a way of the battery writes; None if it is in memory."""
    folder.mkdir(parents=True)
    given = put(folder)
    if not isinstance(given, str | Path):
        return None
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    return Sample(f"{reader}-{way}", reader, files, str(Path(given).relative_to(folder)), format_)


def _packed(folder: Path) -> Iterator[Sample]:
    """Give votes in binary formats, and packed."""
    text = long_table(folder).read_bytes()
    frame = pandas.DataFrame(rows_of_frame())
    arrow = pyarrow.Table.from_pandas(frame)
    with ipc.new_file(str(folder / "v.arrow"), arrow.schema) as file:
        file.write_table(arrow)
    duckdb.connect().from_df(frame).to_parquet(str(folder / "v.parquet"))
    zstd = bytes(pyarrow.Codec("zstd").compress(text, asbytes=True))
    for name, content in {
        "v.arrow": (folder / "v.arrow").read_bytes(),
        "v.parquet": (folder / "v.parquet").read_bytes(),
        "v.csv.gz": gzip.compress(text, mtime=0),
        "v.csv.zst": zstd,
    }.items():
        yield Sample(f"votes-{name}", "votes", {name: content}, name, "long")


def _texts() -> Iterator[Sample]:
    """Give what is neither votes nor a taxonomy."""
    votes = [{"id": 7, "data": {"text": "x"}, "annotations": [{"result": [{"type": "choices"}]}]}]
    contents = {
        ("taxonomy", "t.arff", "arff"): TREE,
        ("taxonomy", "dag.arff", "arff"): DAG,
        ("truth", "z.arff", None): TREE,
        ("truth", "z.csv", None): "instance,label\n1,monarda\n2,\n",
        ("tasks", "tasks.json", None): json.dumps(votes),
        ("scope", "scope.csv", None): "source,label\nann,plant\nbob,animal\n",
        ("settings", "s.toml", None): 'votes = "v.csv"\nmethod = "sa"\n[parameters]\nlam = 1\n',
        ("settings", "s.json", None): '{"settings": {"votes": "v.csv", "top": 3}}',
    }
    for (reader, name, format_), text in contents.items():
        yield Sample(f"{reader}-{name}", reader, {name: text.encode()}, name, format_)


def _run_folder(folder: Path) -> Sample:
    """Return a run with what it was made of."""
    made = folder / "of-a-run"
    made.mkdir()
    votes, taxonomy = long_table(made), table(made)
    settings = RunSettings(votes=str(votes), taxonomy=str(taxonomy), method="sa", unknown="graft")
    run(settings, output=made / "OUT")
    kept = {path.name: path.read_bytes() for path in (made / "OUT").iterdir()}
    files = {f"OUT/{name}": content for name, content in kept.items()}
    return Sample("run", "run", {**files, "votes.csv": votes.read_bytes()}, "OUT")
