"""One small valid file, or folder, of everything that is read, to be damaged."""

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas
import pyarrow
from pyarrow import ipc

from mhpc.errors import MhpcError
from mhpc.read.model import read_model
from mhpc.read.outcome import read_outcome
from mhpc.read.run import read_labels
from mhpc.read.tasks import read_tasks
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.revisit import read_conflicts, revisit
from mhpc.run import run
from mhpc.settings import RunSettings, read_settings
from tests.contracts.test_formats import (
    HIERARCHY_WAYS,
    WAYS,
    long_table,
    rows_of_frame,
    table,
)
from tests.read.test_read_arff import DAG, TREE

_FOREIGN = re.compile(
    r"\b(INTERNAL|Binder|Catalog|Parser|Conversion|Invalid Input|IO|Out of Range|Not implemented|"
    r"Serialization|Constraint|Fatal|Invalid Error|Unknown)( Error)?: "
)
"""How DuckDB begins to speak for itself."""


@dataclass(frozen=True)
class Sample:
    """Files by name, which of them is given to a reader, and which reader that is.

    `given` is empty where it is the folder itself.
    """

    name: str
    reader: str
    files: Mapping[str, bytes]
    given: str
    format: str | None = None

    def write(self, folder: Path, damaged: str | None = None, content: bytes = b"") -> Path:
        """Write the files, one of them with another content, and return what is given."""
        for name, whole in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if name == damaged else whole)
        return folder / self.given


def outcome_of(sample: Sample, given: Path, *, insist: bool) -> str:
    """Read; return the message if it is refused, nothing if not. Any other error goes through."""
    try:
        READERS[sample.reader](given, sample.format if insist else None)
    except MhpcError as error:
        return str(error)
    return ""


def complaints(message: str, given: Path) -> Iterator[str]:
    """Tell what a message lacks: what it is about, in words of our own, and in good measure."""
    if given.name.split("*")[0] not in message:
        yield "does not name the file"
    if _FOREIGN.search(message):
        yield "is DuckDB's own"
    if len(message) > 2000:
        yield f"has {len(message):,} characters"


def _read_run(folder: Path, format_: str | None) -> None:
    outcome = read_outcome(folder)
    read_labels(folder, outcome.consolidation)
    read_conflicts(folder)
    revisit(folder, votes=str(folder.parent / "votes.csv"))
    read_model(folder)


READERS: Mapping[str, Callable[[Path, str | None], object]] = {
    "votes": lambda path, format_: read_votes(str(path), format=format_),
    "taxonomy": lambda path, format_: read_taxonomy(path, format=format_),
    "truth": lambda path, format_: read_truth(path),
    "tasks": lambda path, format_: read_tasks(path),
    "scope": lambda path, format_: read_votes(rows_of_frame(), scope=path),
    "settings": lambda path, format_: read_settings(path),
    "run": _read_run,
}
"""What reads what; all take a path and the format that is insisted on."""


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
    duckdb.from_df(frame).to_parquet(str(folder / "v.parquet"))
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
