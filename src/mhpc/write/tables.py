"""Votes, taxonomies and results as tables, and `write_votes`, `write_taxonomy`, `write_file`."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias, get_args

import narwhals as nw
import numpy as np

from mhpc.data.decision import LabelledScores
from mhpc.data.disagreement import Disagreements, LabelDispute
from mhpc.data.items import Items
from mhpc.data.profiles import SourceProfile
from mhpc.data.scores import BLOCK_CELLS, scored_cells
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import ABSTAIN_WORD, Votes
from mhpc.errors import MissingExtraError, ParameterError, quote_list
from mhpc.numerics.arrays import IntArray, dense
from mhpc.numerics.sparse import row_blocks, row_indices
from mhpc.parameters import check_choice, check_text, check_type
from mhpc.system.files import STDOUT, atomic_file
from mhpc.write.formats import SUFFIXES, WRITE_FORMATS, Content, format_from_suffix, make_format

Library: TypeAlias = Literal["pandas", "polars", "pyarrow"]
ColumnKind: TypeAlias = Literal["text", "number", "count", "flag"]
ColumnBlock: TypeAlias = tuple[np.ndarray, ...]

BLOCK_ROWS = 1 << 17
"""How many rows of a table are made at a time."""

_NUMPY_TYPES = {"text": object, "number": np.float64, "count": np.int64, "flag": np.bool_}
_FRAME_TYPES = {
    "text": nw.String(), "number": nw.Float64(), "count": nw.Int64(), "flag": nw.Boolean(),
}  # fmt: skip


def write_votes(
    target: str | Path,
    votes: Votes,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
) -> None:
    """Write votes as a table with the columns instance, source, label and score.

    The file appears only when it is complete. The column ``score`` is omitted if all scores are 1.
    An abstention has the label ``abstain``. If there are negative votes, a column ``negative`` is
    true for these and false for others.

    Parameters
    ----------
    target : path or "-"
        ``-`` is standard output; a name that ends in ``.gz`` is compressed.
    votes : Votes
        The votes.
    format : str, optional
        ``csv``, ``tsv``, ``jsonl``, ``parquet`` or ``spreadsheet``; by default the one that belongs
        to the suffix, or else CSV.

    Examples
    --------
    >>> import tempfile, mhpc
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mhpc.write_votes(folder + "/votes.csv", mhpc.read_votes([("1", "ann", "rose")]))
    ...     print(Path(folder, "votes.csv").read_text().strip())
    instance,source,label
    1,ann,rose
    """
    check_type("votes", votes, Votes, "what mhpc.read_votes returns")
    _check_target(target, format)
    write_file(target, votes, "votes", format=format or format_from_suffix(target) or "csv")


def write_taxonomy(
    target: str | Path,
    taxonomy: Taxonomy,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
) -> None:
    """Write a taxonomy as a table with the columns label, parent and name.

    A label has one row per parent; a root has one row with an empty parent.

    Parameters
    ----------
    target : path or "-"
        ``-`` is standard output; a name that ends in ``.gz`` is compressed.
    taxonomy : Taxonomy
        The taxonomy.
    format : str, optional
        ``csv``, ``tsv``, ``jsonl``, ``parquet``, ``spreadsheet`` or ``label-studio-config``; by
        default the one that belongs to the suffix, or else CSV.

    Examples
    --------
    >>> import tempfile, mhpc
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mhpc.write_taxonomy(folder + "/labels.csv", mhpc.read_taxonomy({"rose": "flower"}))
    ...     print(Path(folder, "labels.csv").read_text().strip())
    label,parent,name
    rose,flower,rose
    flower,,flower
    """
    check_type("taxonomy", taxonomy, Taxonomy, "what mhpc.read_taxonomy returns")
    _check_target(target, format)
    write_file(target, taxonomy, "taxonomy", format=format or format_from_suffix(target) or "csv")


def write_file(
    target: str | Path,
    data: Any,
    content: Content,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
    parameters: Mapping[str, Any] | None = None,
    force: bool = True,
) -> None:
    """Write data in any format to a file, which appears only when it is complete.

    Parameters
    ----------
    target : path or "-"
        ``-`` is standard output; a name that ends in ``.gz`` is compressed.
    data : Votes, Taxonomy, LabelledScores, Items, source profiles or Disagreements
        What to write.
    content : str
        What it is, or which part of it.
    format : str, optional
        The name of a format; by default the one that belongs to the suffix.
    parameters : mapping, optional
        The parameters of the format.
    force : bool
        Whether to replace an existing file.
    """
    _check_target(target, format)
    write_format = make_format(format or format_for(target), content, parameters)
    with atomic_file(target, force=force) as file:
        write_format.write(file, data, content)


def _check_target(target: object, name: object) -> None:
    check_type("target", target, (str, Path), "the path of a file")
    check_text("format", name)


def format_for(target: str | Path) -> str:
    """Return the format that belongs to the suffix of a file; CSV for standard output."""
    if str(target) == STDOUT:
        return "csv"
    name = format_from_suffix(target)
    if name is None:
        raise ParameterError(
            f"{target}: the name does not determine the format; end it in {', '.join(SUFFIXES)}, "
            f"or choose one: {quote_list(list(WRITE_FORMATS), most=20)}"
        )
    return name


def write_sources(path: Path, sources: Sequence[SourceProfile]) -> None:
    """Write ``sources.csv`` with one row per source."""
    write_csv(path, tuple(_SOURCE_COLUMNS), _source_rows(sources))


_SOURCE_COLUMNS: Mapping[str, ColumnKind] = {
    "source": "text", "answers": "count", "coverage": "number", "mean_depth": "number",
    "accurate": "number", "accurate_low": "number", "accurate_high": "number",
    "vague": "number", "vague_low": "number", "vague_high": "number",
    "wrong": "number", "wrong_low": "number", "wrong_high": "number", "most_errors_under": "text",
    "independence": "number", "nearest_source": "text", "dependence": "number", "relation": "text",
    "abstentions": "count", "denials": "count",
}  # fmt: skip


def _source_rows(sources: Sequence[SourceProfile]) -> list[tuple[Any, ...]]:
    return [
        (
            s.source, s.answers, s.coverage, s.mean_depth, *s.accurate, *s.vague, *s.wrong,
            s.weaknesses[0].label if s.weaknesses else None,
            s.independence, s.nearest_source, s.dependence, s.relation, s.abstentions, s.denials,
        )
        for s in sources
    ]  # fmt: skip


def write_label_map(
    target: str | Path, rows: Iterable[tuple[str, str, int, str]], *, force: bool = False
) -> None:
    """Write what labels are taken for, as a CSV file to be edited and given as ``--map``.

    Parameters
    ----------
    target : path
        The file, which appears only when it is complete.
    rows : iterable of (from, to, votes, how)
        As `Inspection.label_map` has them.
    force : bool
        Whether to replace a file that is there.
    """
    with atomic_file(target, force=force) as binary:
        text = TextIOWrapper(binary, encoding="utf-8", newline="")
        write_rows(text, ("from", "to", "votes", "how"), rows)
        text.detach()


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
    """Ends lines as Unix does; if csv did so itself, it would not quote carriage returns."""

    file: TextIO

    def write(self, line: str) -> int:
        return self.file.write(line.removesuffix("\r\n") + "\n")


@dataclass(frozen=True, eq=False)
class OutputTable:
    """A table that is made block by block.

    Attributes
    ----------
    columns : mapping of name to kind
        The columns.
    blocks : callable
        Returns an iterator over blocks of rows, each a tuple of arrays; None and nan are empty
        cells.
    """

    columns: Mapping[str, ColumnKind]
    blocks: Callable[[], Iterator[ColumnBlock]]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows as plain Python values; None is an empty cell."""
        for block in self.blocks():
            yield from zip(*map(_to_list, block), strict=True)


def _to_list(column: np.ndarray) -> list[Any]:
    cells: list[Any] = column.tolist()
    if column.dtype.kind == "f" and np.isnan(column).any():
        return [None if cell != cell else cell for cell in cells]
    return cells


def make_table(data: Any, content: Content) -> OutputTable:
    """Return data as `write_file` takes them as a table."""
    makers: Mapping[str, Callable[[Any], OutputTable]] = {
        "votes": votes_table,
        "taxonomy": taxonomy_table,
        "labels": labels_table,
        "scores": scores_table,
        "wide": wide_table,
        "items": items_table,
        "sources": sources_table,
        "conflicts": conflicts_table,
    }
    return makers[content](data)


def votes_table(votes: Votes, *, block_rows: int = BLOCK_ROWS) -> OutputTable:
    """Return the instance, source and label of every vote, and what there is beside these.

    A score if not all are 1, and whether a vote is negative if any is.
    """
    has_scores = bool((votes.score != 1).any())
    ids = [
        _to_array(votes.instances.ids),
        _to_array(votes.sources.ids),
        # The positions of an abstention and of an answer without a label are the last two.
        _to_array((*votes.labels.ids, ABSTAIN_WORD, None)),
    ]
    flags = None if votes.negative is None else votes.negative.astype(np.int64)
    positions = (votes.instance, votes.source, votes.label)

    def blocks() -> Iterator[ColumnBlock]:
        for rows in row_blocks(len(votes), 1, block_rows):
            texts = [texts[position[rows]] for texts, position in zip(ids, positions, strict=True)]
            yield (
                *texts,
                *([votes.score[rows]] if has_scores else []),
                *([] if flags is None else [_to_array(("false", "true"))[flags[rows]]]),
            )

    columns: dict[str, ColumnKind] = {"instance": "text", "source": "text", "label": "text"}
    if has_scores:
        columns["score"] = "number"
    if flags is not None:
        columns["negative"] = "text"
    return OutputTable(columns, blocks)


def taxonomy_table(taxonomy: Taxonomy) -> OutputTable:
    """Return the label, parent and name of every edge; roots have one row without a parent.

    If there are labels that exclude each other, a column ``exclusive`` has the number of their
    group among siblings.
    """
    n_parents = np.diff(taxonomy.parents.indptr)
    child = np.repeat(np.arange(len(taxonomy)), np.maximum(n_parents, 1))
    parent = np.full(len(child), -1)
    parent[n_parents[child] > 0] = taxonomy.parents.indices
    ids = _to_array((*taxonomy.labels.ids, None))
    names = _to_array(taxonomy.names)
    columns: dict[str, ColumnKind] = {"label": "text", "parent": "text", "name": "text"}
    if not taxonomy.exclusive:
        return OutputTable(columns, lambda: iter([(ids[child], ids[parent], names[child])]))
    child, parent, group = _number_exclusive(taxonomy, child, parent)
    return OutputTable(
        columns | {"exclusive": "text"},
        lambda: iter([(ids[child], ids[parent], names[child], group)]),
    )


def _number_exclusive(
    taxonomy: Taxonomy, child: IntArray, parent: IntArray
) -> tuple[IntArray, IntArray, np.ndarray]:
    """Return the edges with the group of each, and once more for every further group."""
    edges: dict[tuple[int, int], list[str | None]] = {
        edge: [] for edge in zip(child.tolist(), parent.tolist(), strict=True)
    }
    for number, group in enumerate(taxonomy.exclusive, start=1):
        parents = set.intersection(*(set(taxonomy.parents_of(k).tolist() or [-1]) for k in group))
        for label in group:
            for above in parents:
                edges[label, above].append(str(number))
    rows = [(*edge, name) for edge, names in edges.items() for name in names or [None]]
    return (
        np.array([label for label, _, _ in rows]),
        np.array([above for _, above, _ in rows]),
        _to_array([name for _, _, name in rows]),
    )


def labels_table(result: LabelledScores, *, block_rows: int = BLOCK_ROWS) -> OutputTable:
    """Return the instance, label and score of every chosen label, as in ``labels.csv``."""
    chosen = result.chosen
    instances, labels = _to_array(result.instances.ids), _to_array(result.taxonomy.labels.ids)
    row = row_indices(chosen)

    def blocks() -> Iterator[ColumnBlock]:
        for entries in row_blocks(chosen.nnz, 1, block_rows):
            yield instances[row[entries]], labels[chosen.indices[entries]], chosen.data[entries]

    return OutputTable({"instance": "text", "label": "text", "score": "number"}, blocks)


def scores_table(result: LabelledScores) -> OutputTable:
    """Return the instance, label, score and specific score of every label with a score."""
    instances, labels = _to_array(result.instances.ids), _to_array(result.taxonomy.labels.ids)

    def blocks() -> Iterator[ColumnBlock]:
        for cells in scored_cells(result.consolidation):
            yield instances[cells.row], labels[cells.label], cells.score, cells.specific

    scores: dict[str, ColumnKind] = {"score": "number", "specific": "number"}
    return OutputTable({"instance": "text", "label": "text", **scores}, blocks)


def wide_table(result: LabelledScores, *, block_cells: int = BLOCK_CELLS) -> OutputTable:
    """Return one row per instance and one column per label with its score."""
    scores, labels = result.consolidation.score, result.taxonomy.labels
    instances = _to_array(result.instances.ids)

    def blocks() -> Iterator[ColumnBlock]:
        for rows in row_blocks(len(result.instances), len(labels), block_cells):
            yield (instances[rows], *dense(scores[rows]).T)

    # A label may be called "instance" as well, so the name gets underscores until it is unique.
    instance_column = "instance"
    while instance_column in labels:
        instance_column += "_"
    return OutputTable({instance_column: "text", **dict.fromkeys(labels, "number")}, blocks)


def items_table(items: Items) -> OutputTable:
    """Return one row per instance, as in ``items.csv``."""
    kinds: dict[str, ColumnKind] = dict.fromkeys(items.columns, "number")
    kinds |= {"instance": "text", "labels": "text", "path": "text", "sources": "count"}
    return OutputTable(kinds, lambda: iter([tuple(items.columns.values())]))


def sources_table(sources: Sequence[SourceProfile]) -> OutputTable:
    """Return one row per source, as in ``sources.csv``."""
    return _table_of_rows(_SOURCE_COLUMNS, _source_rows(sources))


def conflicts_table(conflicts: Disagreements) -> OutputTable:
    """Return one row per disputed label, the instances to review first at the top.

    An instance without disputed labels has one row without a label.
    """
    names = conflicts.names
    columns: Mapping[str, ColumnKind] = {
        "instance": "text", "gain": "number", "answers": "count",
        "agreed": "text", "agreed_name": "text",
        "label": "text", "name": "text", "score": "number", "chosen": "flag",
        "support": "count", "against": "count", "drawn": "text",
    }  # fmt: skip
    rows = [
        (
            case.instance, case.gain, case.answers,
            case.agreed, None if case.agreed is None else names.get(case.agreed, case.agreed),
            dispute.label or None, names.get(dispute.label, dispute.label) or None, dispute.score,
            dispute.chosen, dispute.support, dispute.against, case.drawn,
        )
        for case in conflicts.instances
        for dispute in case.disputed or (_NO_DISPUTE,)
    ]  # fmt: skip
    return _table_of_rows(columns, rows)


_NO_DISPUTE = LabelDispute(label="", score=np.nan, chosen=False, support=0, against=0)


def _table_of_rows(
    columns: Mapping[str, ColumnKind], rows: Sequence[tuple[Any, ...]]
) -> OutputTable:
    cells = zip(*rows, strict=True) if rows else ((),) * len(columns)
    block: ColumnBlock = tuple(
        np.array(column, dtype=_NUMPY_TYPES[kind])
        for column, kind in zip(cells, columns.values(), strict=True)
    )
    return OutputTable(columns, lambda: iter([block]))


def _to_array(texts: Sequence[str | None]) -> np.ndarray:
    return np.array(texts, dtype=object)


def make_frame(table: OutputTable, library: Library) -> Any:
    """Return a table as a dataframe of a library, which must be installed."""
    check_choice("library", library, get_args(Library))
    try:
        import_module(library)
    except ImportError:
        raise MissingExtraError(f"{library} is not installed; pip install {library}") from None
    blocks = list(table.blocks())
    columns = {
        name: _join_blocks((block[number] for block in blocks), kind)
        for number, (name, kind) in enumerate(table.columns.items())
    }
    schema = {name: _FRAME_TYPES[kind] for name, kind in table.columns.items()}
    return nw.from_dict(columns, schema, backend=library).to_native()


def _join_blocks(blocks: Iterable[np.ndarray], kind: str) -> Any:
    column = np.concatenate([np.zeros(0, dtype=_NUMPY_TYPES[kind]), *blocks])
    # Only in a list can a number be missing, which nan is not in every library.
    is_plain = kind != "text" and not (kind == "number" and np.isnan(column).any())
    return column if is_plain else _to_list(column)
