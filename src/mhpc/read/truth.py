"""`read_truth`: known labels of instances from a table, an ARFF file or the export of a tool."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mhpc.data.index import Index
from mhpc.data.votes import Truth
from mhpc.errors import DataError, MhpcWarning, pluralize, quote_list, warn
from mhpc.numerics.arrays import BoolArray
from mhpc.read.arff import read_arff
from mhpc.read.columns import check_not_empty, read_cells
from mhpc.read.files import local_file
from mhpc.read.label_map import LabelMapSource, read_label_map
from mhpc.read.objects import tabulate_truth
from mhpc.read.options import ReadOptions
from mhpc.read.tables import TableSource
from mhpc.read.vote_formats.base import VotesInput, list_sql, replace_cells
from mhpc.read.vote_formats.long import DRAWN
from mhpc.read.vote_table import VoteTable, open_votes
from mhpc.system.database import identifier

MIN_CERTAIN_SCORE = 0.5
"""In a truth with one column per label, cells above this mean that the label is true."""

_TRUTH = "truth"
"""The source of known labels, as far as readers need one."""


def read_truth(
    source: Truth | TableSource,
    *,
    columns: Mapping[str, str] | None = None,
    separator: str | None = None,
    map: LabelMapSource = None,  # noqa: A002 - as for read_votes
) -> Truth:
    """Read known labels: a table with the columns instance and label, or a Clus HMC ARFF file.

    Parameters
    ----------
    source : path, "-", list of paths, dataframe, mapping, list of mappings or pairs, or Truth
        Everything that votes can be read from, such as a table with one column of 0 and 1 per
        label. An empty label means that the instance has none. The rows of an ARFF file are
        instances '1', '2', …; only its class is read. In the export of an annotation tool, the
        answers marked as ground truth are read; if there are none, those of the reviewer, who must
        be the only person in it. In memory also ``{"photo-1": "bee", "photo-2":
        ["ant", "wasp"], "photo-3": []}``: the labels of every instance. A column ``drawn`` of a
        table says which instances were drawn at random (``random``) and which were not (``gain``),
        for `mhpc.estimate_accuracy`.
    columns, separator, map
        As for `mhpc.read_votes`.

    Examples
    --------
    >>> read_truth({"photo-1": "bee", "photo-2": ["ant", "wasp"], "photo-3": []})
    Truth(4 labels of 3 instances)
    """
    options = ReadOptions(
        columns={} if columns is None else columns, separator=separator,
        label_map=read_label_map(map),
    )  # fmt: skip
    return read_truth_as(source, options)


def read_gold(source: Truth | TableSource) -> Truth:
    """Read gold labels, which messages call so; otherwise as `read_truth`."""
    return read_truth_as(source, ReadOptions(), name="the gold labels")


def read_truth_as(
    source: Truth | TableSource, options: ReadOptions, *, name: str = "the truth"
) -> Truth:
    """Read known labels by options that are one object; `name` is what messages call them."""
    if isinstance(source, Truth):
        return source
    if isinstance(source, str | Path):
        with local_file(source) as file:
            if file.format == "arff":
                return read_arff(file).truth
            if file.format != "zip":
                return _read_known(file, options, name)
        return _read_known(source, options, name)
    return _read_known(tabulate_truth(source, options.columns, name=name), options, name)


def make_truth(rows: Sequence[tuple[str, str | None]], origin: str) -> Truth:
    """Build a truth from pairs of an instance and a label, which is None for no label."""
    instances = Index(tuple(dict.fromkeys(instance for instance, _ in rows)))
    labels = Index(tuple(dict.fromkeys(label for _, label in rows if label is not None)))
    return Truth(
        instances=instances,
        labels=labels,
        instance=instances.locate(instance for instance, _ in rows),
        # The empty text is in no index, so its position is that of no label.
        label=labels.locate(label or "" for _, label in rows),
        origin=origin,
    )


def _read_known(source: TableSource, options: ReadOptions, name: str) -> Truth:
    """Read labels as if they were the votes of one source, which knows the truth."""
    options = replace(options, ignore_scores=True)
    with open_votes(source, options, name=name, default_source=_TRUTH) as votes:
        table, origin = votes.table, votes.table.origin
        if votes.has_gold:
            rows = table.connection.execute("SELECT instance, label FROM gold").fetchall()
            return make_truth(rows, origin)
        _keep_reviewer(votes)
        if not votes.is_original and "score" in votes.columns:
            _drop_uncertain(votes)
        cells = votes.cells or read_cells(table, votes.columns, ("instance", "label"))
        check_not_empty(cells, "instance", origin)
        is_random = _find_drawn(votes, cells.index["instance"])
    return Truth(
        instances=cells.index["instance"],
        labels=cells.index["label"],
        instance=cells.position["instance"],
        label=cells.position["label"],
        origin=origin,
        is_random=is_random,
    )


def _drop_uncertain(votes: VoteTable) -> None:
    """Drop labels whose score is too low to know them, and say how many; 0 is a plain "no"."""
    score, origin = "coalesce(TRY_CAST(score AS DOUBLE), 1)", votes.table.origin
    (count,) = votes.table.connection.execute(
        "SELECT count(*) FROM cells WHERE label IS NOT NULL AND "
        f"{score} > 0 AND {score} <= {MIN_CERTAIN_SCORE}"
    ).fetchone() or (0,)
    replace_cells(
        VotesInput(votes.table.connection, origin),
        "SELECT instance, label FROM cells WHERE label IS NULL OR "
        f"{score} > {MIN_CERTAIN_SCORE} ORDER BY number",
    )
    _check_known(votes)
    if count:
        warn(
            f"{origin}: {pluralize(count, 'label')} left out, with a score of at most "
            f"{MIN_CERTAIN_SCORE}",
            MhpcWarning,
        )


def _check_known(votes: VoteTable) -> None:
    if not votes.table.connection.execute("SELECT 1 FROM cells LIMIT 1").fetchall():
        raise DataError(
            f"{votes.table.origin}: no label in it has a score above {MIN_CERTAIN_SCORE}, so none "
            "is known; leave the scores out if all labels are"
        )


def _find_drawn(votes: VoteTable, instances: Index) -> BoolArray | None:
    """Return which instances a column ``drawn`` calls random; None without such a column."""
    connection = votes.table.connection
    tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    if (DRAWN,) not in tables:
        return None
    drawn = {instance for (instance,) in connection.execute(f"FROM {DRAWN}").fetchall()}
    return np.array([instance in drawn for instance in instances], dtype=bool)


def _keep_reviewer(votes: VoteTable) -> None:
    """Drop the answers of models, and check that those left are of one person.

    A table with a column of sources that the user did not ask for is taken as it is.
    """
    if votes.is_original or votes.cells is not None:
        return
    connection, origin = votes.table.connection, votes.table.origin
    source = identifier(votes.columns["source"])
    is_person = f"{source} NOT IN {list_sql(votes.models)}" if votes.models else "true"
    rows = connection.execute(
        f"SELECT DISTINCT {source} FROM cells WHERE {is_person} ORDER BY ALL"
    ).fetchall()
    people = [str(name) for (name,) in rows]
    if not people:
        raise DataError(
            f"{origin}: only models answered in it ({quote_list(votes.models)}); known labels come "
            "from people"
        )
    if len(people) > 1:
        raise DataError(
            f"{origin}: no answer in it is marked as ground truth, and it has answers of "
            f"{pluralize(len(people), 'source')} ({quote_list(people)}). Mark the correct ones as "
            "ground truth and export them again, give the answers of one reviewer only, or add "
            "the file to the votes"
        )
    if votes.models:
        replace_cells(
            VotesInput(connection, origin), f"SELECT * FROM cells WHERE {is_person} ORDER BY number"
        )
