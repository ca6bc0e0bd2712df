"""Scores out, as Parquet."""

from dataclasses import asdict
from pathlib import Path

import duckdb
import numpy as np

from mhpc.core.consolidation import Consolidation, Top, scored_cells
from mhpc.errors import UnwritableError


def write_scores(path: Path, consolidation: Consolidation, *, top: Top) -> None:
    """Write ``scores.parquet``: instance, label, score, specific; the best of each instance first.

    ``top=20`` keeps the labels that are among the best 20 in either view and above 0. An
    instance without any keeps one label, so that it is not lost.
    """
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE cells (row BIGINT, label BIGINT, score DOUBLE, specific DOUBLE)"
        )
        for cells in scored_cells(consolidation, top=top):
            connection.register("block", asdict(cells))
            connection.execute("INSERT INTO cells SELECT * FROM block")
            connection.unregister("block")
        _register_ids(connection, "instances", consolidation.instances.ids)
        _register_ids(connection, "labels", consolidation.taxonomy.labels.ids)
        _copy_scores(connection, path)


def _copy_scores(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    target = str(path).replace("'", "''")
    try:
        connection.execute(
            "COPY (SELECT instances.id AS instance, labels.id AS label, score, specific "
            "FROM cells JOIN instances ON cells.row = instances.place "
            "JOIN labels ON cells.label = labels.place "
            "ORDER BY cells.row, score DESC, specific DESC, cells.label) "
            f"TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
        )
    except duckdb.IOException as error:
        raise UnwritableError(f"{path} cannot be written: {error}") from None


def _register_ids(connection: duckdb.DuckDBPyConnection, name: str, ids: tuple[str, ...]) -> None:
    columns = {"place": np.arange(len(ids)), "id": np.array(ids, dtype=object)}
    connection.register("ids", columns)
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM ids")
    connection.unregister("ids")
