"""Votes, taxonomies and results as column blocks; CSV rows; write_*."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias, get_args

import narwhals as nw
import numpy as np

from mhpc.data.decision import LabelledScores
from mhpc.data.profiles import SourceProfile
from mhpc.data.scores import BLOCK_CELLS, scored_cells
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Votes
from mhpc.errors import MissingExtraError, ParameterError, quote_list
from mhpc.numerics.arrays import dense
from mhpc.system.files import STDOUT, atomic_file
from mhpc.write.formats import FORMATS, SUFFIXES, Content, format_from_suffix, make_format

Kind: TypeAlias = Literal["text", "number", "flag"]
Block: TypeAlias = tuple[np.ndarray, ...]

_ROWS = 1 << 17
"""Rows of a block."""


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns, and blocks of their cells; None is an empty cell."""

    columns: Mapping[str, Kind]
    blocks: Callable[[], Iterator[Block]]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Walk over the rows, as plain Python values."""
        for block in self.blocks():
            yield from zip(*(column.tolist() for column in block), strict=True)


def make_table(subject: Any, what: Content) -> Table:
    """Return whatever can be written as a table."""
    return _TABLES[what](subject)


def votes_table(votes: Votes) -> Table:
    """Return instance, source, label and, where some vote is graded, score."""
    graded = bool((votes.score != 1).any())
    ids = [_ids(axis.ids) for axis in (votes.instances, votes.sources)]
    # One more, at the end, for the answer without a label: its position is -1.
    ids.append(_ids((*votes.labels.ids, None)))
    positions = (votes.instance, votes.source, votes.label)

    def blocks() -> Iterator[Block]:
        for span in _spans(len(votes)):
            texts = [of[at[span]] for of, at in zip(ids, positions, strict=True)]
            yield (*texts, *([votes.score[span]] if graded else []))

    columns: dict[str, Kind] = {"instance": "text", "source": "text", "label": "text"}
    return Table({**columns, **({"score": "number"} if graded else {})}, blocks)


def taxonomy_table(taxonomy: Taxonomy) -> Table:
    """Return label, parent and name: a row a parent, an empty one for roots."""
    parents, labels = taxonomy.parents, len(taxonomy)
    count = np.maximum(np.diff(parents.indptr), 1)
    child = np.repeat(np.arange(labels), count)
    above = np.full(len(child), -1)
    above[np.diff(parents.indptr)[child] > 0] = parents.indices
    ids = _ids((*taxonomy.labels.ids, None))
    names = _ids(taxonomy.names)
    return Table(
        {"label": "text", "parent": "text", "name": "text"},
        lambda: iter([(ids[child], ids[above], names[child])]),
    )


def labels_table(outcome: LabelledScores) -> Table:
    """Return instance, label and score of every label that was chosen, as in ``labels.csv``."""
    chosen = outcome.chosen
    instances, labels = _ids(outcome.instances.ids), _ids(outcome.taxonomy.labels.ids)
    row = np.repeat(np.arange(chosen.shape[0]), np.diff(chosen.indptr))

    def blocks() -> Iterator[Block]:
        for span in _spans(chosen.nnz):
            yield instances[row[span]], labels[chosen.indices[span]], chosen.data[span]

    return Table({"instance": "text", "label": "text", "score": "number"}, blocks)


def scores_table(outcome: LabelledScores) -> Table:
    """Return instance, label, score and specific of every label with a score."""
    instances, labels = _ids(outcome.instances.ids), _ids(outcome.taxonomy.labels.ids)

    def blocks() -> Iterator[Block]:
        for cells in scored_cells(outcome.consolidation):
            yield instances[cells.row], labels[cells.label], cells.score, cells.specific

    numbers: dict[str, Kind] = {"score": "number", "specific": "number"}
    return Table({"instance": "text", "label": "text", **numbers}, blocks)


def wide_table(outcome: LabelledScores) -> Table:
    """Return a row an instance and a column a label: 1 where the instance has it, else 0."""
    chosen, labels = outcome.chosen, outcome.taxonomy.labels
    instances = _ids(outcome.instances.ids)

    def blocks() -> Iterator[Block]:
        for span in _spans(chosen.shape[0], step=max(1, BLOCK_CELLS // len(labels))):
            some = chosen[span].copy()
            some.data = np.ones(some.nnz, dtype=np.float64)
            yield (instances[span], *dense(some).astype(np.int8).T)

    # A label may be called "instance" too; columns are told apart by a mark that no label has.
    first = "instance"
    while first in labels:
        first += "_"
    return Table({first: "text", **dict.fromkeys(labels, "flag")}, blocks)


_TABLES: Mapping[str, Callable[[Any], Table]] = {
    "votes": votes_table,
    "taxonomy": taxonomy_table,
    "labels": labels_table,
    "scores": scores_table,
    "wide": wide_table,
}


def _ids(texts: Sequence[str | None]) -> np.ndarray:
    return np.array(texts, dtype=object)


def _spans(rows: int, *, step: int = _ROWS) -> Iterator[slice]:
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a small table; nan and None become empty cells."""
    with path.open("w", encoding="utf-8", newline="") as file:
        write_rows(file, header, rows)


def write_rows(
    file: TextIO, header: Sequence[str], rows: Iterable[Sequence[Any]], *, delimiter: str = ","
) -> None:
    """Write a table to an open file; nan and None become empty cells."""
    writer = csv.writer(_UnixLines(file), delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(["" if cell != cell else cell for cell in row] for row in rows)


@dataclass(frozen=True)
class _UnixLines:
    """Ends lines as Unix does; told to do so itself, csv leaves a carriage return unquoted."""

    file: TextIO

    def write(self, line: str) -> int:
        return self.file.write(line.removesuffix("\r\n") + "\n")


def write_file(
    target: str | Path,
    subject: Any,
    what: Content,
    *,
    format: str | None = None,  # noqa: A002 - what readers call it too
    parameters: Mapping[str, Any] | None = None,
    force: bool = True,
) -> None:
    """Write something whole or not at all; ``-`` is standard output.

    Parameters
    ----------
    target : path or "-"
        A name that ends in ``.gz`` is packed.
    subject : Votes, Taxonomy or Outcome
        What to write.
    what : str
        What of it.
    format : str, optional
        A registered name; unless given, what the name of the file tells.
    parameters : mapping, optional
        Of the format.
    force : bool
        Whether a file that is there is replaced.
    """
    made = make_format(format or choose_format(target), what, parameters)
    with atomic_file(target, force=force) as file:
        made.write(file, subject, what)


def choose_format(target: str | Path) -> str:
    """Return the format that a file's name tells, CSV for standard output, or refuse."""
    if str(target) == STDOUT:
        return "csv"
    found = format_from_suffix(target)
    if found is None:
        raise ParameterError(
            f"{target}: the name does not tell the format; end it in {', '.join(SUFFIXES)}, or "
            f"say which: {quote_list(list(FORMATS), most=20)}"
        )
    return found


def write_sources(path: Path, sources: Sequence[SourceProfile]) -> None:
    """Write ``sources.csv``, a row a source."""
    header = (
        "source", "answers", "coverage", "mean_depth",
        "accurate", "accurate_low", "accurate_high", "vague", "vague_low", "vague_high",
        "wrong", "wrong_low", "wrong_high", "most_errors_under",
        "independence", "nearest_source", "dependence", "copy",
    )  # fmt: skip
    rows = (
        (
            s.source, s.answers, s.coverage, s.mean_depth, *s.accurate, *s.vague, *s.wrong,
            s.weaknesses[0].label if s.weaknesses else None, s.independence, s.nearest_source, s.dependence, s.copy,
        )
        for s in sources
    )  # fmt: skip
    write_csv(path, header, rows)


def write_taxonomy(
    target: str | Path,
    taxonomy: Taxonomy,
    *,
    format: str | None = None,  # noqa: A002 - what readers call it too
) -> None:
    """Write label, parent, name: a row a parent, an empty one for roots; or Label Studio's config.

    Parameters
    ----------
    target : path or "-"
        Packed where the name ends in ``.gz``.
    taxonomy : Taxonomy
        The hierarchy.
    format : str, optional
        ``csv``, ``tsv``, ``jsonl``, ``parquet``, ``spreadsheet`` or ``label-studio-config``;
        unless given, what the name of the file tells, else CSV.
    """
    write_file(target, taxonomy, "taxonomy", format=format or format_from_suffix(target) or "csv")


def write_votes(
    target: str | Path,
    votes: Votes,
    *,
    format: str | None = None,  # noqa: A002 - what readers call it too
) -> None:
    """Write the canonical votes table; ``-`` is standard output.

    A file is written beside its place and moved there, so that it is whole or not there. The
    column ``score`` is left out where no vote is graded.

    Parameters
    ----------
    target : path or "-"
        Packed where the name ends in ``.gz``.
    votes : Votes
        What sources said.
    format : str, optional
        ``csv``, ``tsv``, ``jsonl``, ``parquet`` or ``spreadsheet``; unless given, what the name
        of the file tells, else CSV.
    """
    write_file(target, votes, "votes", format=format or format_from_suffix(target) or "csv")


Library: TypeAlias = Literal["pandas", "polars", "pyarrow"]

_EMPTY = {"text": object, "number": np.float64, "flag": np.int8}
_TYPES = {"text": nw.String(), "number": nw.Float64(), "flag": nw.Int8()}


def make_frame(table: Table, library: Library) -> Any:
    """Return a table as a dataframe of a library, which must be installed."""
    if library not in get_args(Library):
        raise ParameterError(
            f"library = {library!r} is not allowed; give {' | '.join(get_args(Library))}"
        )
    try:
        import_module(library)
    except ImportError:
        raise MissingExtraError(f"{library} is not installed; pip install {library}") from None
    blocks = list(table.blocks())
    columns = {
        name: _column((block[at] for block in blocks), kind)
        for at, (name, kind) in enumerate(table.columns.items())
    }
    schema = {name: _TYPES[kind] for name, kind in table.columns.items()}
    return nw.from_dict(columns, schema, backend=library).to_native()


def _column(parts: Iterable[np.ndarray], kind: str) -> Any:
    whole = np.concatenate([np.zeros(0, dtype=_EMPTY[kind]), *parts])
    return whole.tolist() if kind == "text" else whole
