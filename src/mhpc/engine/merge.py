"""What tasks wrote of their instances, as one output in the order of the votes."""

from pathlib import Path

import duckdb
import numpy as np

from mhpc.core.arrays import IntArray
from mhpc.core.database import database
from mhpc.core.index import Index
from mhpc.core.memory import memory_budget
from mhpc.read.sql import literal, some_files
from mhpc.write.disk import writing

ORDER = "order.parquet"


def write_order(folder: Path, instances: Index, first: IntArray) -> None:
    """Write where each instance of a partition appears first."""
    with database(threads=1) as connection:
        connection.register("part", {"instance": np.array(instances.ids, object), "first": first})
        connection.execute(f"COPY part TO {literal(str(folder / ORDER))} (FORMAT parquet)")


def merge(parts: Path, folder: Path) -> None:
    """Write ``scores.parquet`` and ``labels.csv`` of all partitions' folders.

    Rows are sorted where they do not fit into memory too.
    """
    found = sorted(path for path in parts.iterdir() if not path.name.startswith("."))
    with writing(folder), database() as connection:
        # It would be drawn over our own, and in files that take standard error.
        connection.execute(f"SET memory_limit = '{memory_budget() // 1_000_000}MB'")
        connection.execute(f"SET temp_directory = {literal(str(parts / '.sorting'))}")
        orders = some_files(path / ORDER for path in found)
        connection.execute(f"CREATE TABLE places AS SELECT * FROM read_parquet({orders})")
        _merge_scores(connection, found, folder / "scores.parquet")
        _merge_labels(connection, found, folder / "labels.csv")


def _merge_scores(connection: duckdb.DuckDBPyConnection, parts: list[Path], target: Path) -> None:
    files = some_files(path / "scores.parquet" for path in parts)
    connection.execute(
        "COPY (SELECT instance, label, score, specific "
        f"FROM read_parquet({files}, file_row_number=true) JOIN places USING (instance) "
        "ORDER BY first, file_row_number) "
        f"TO {literal(str(target))} (FORMAT parquet, COMPRESSION zstd)"
    )


def _merge_labels(connection: duckdb.DuckDBPyConnection, parts: list[Path], target: Path) -> None:
    files = some_files(path / "labels.csv" for path in parts)
    columns = "{'instance': 'VARCHAR', 'label': 'VARCHAR', 'score': 'VARCHAR'}"
    connection.execute(
        "COPY (SELECT instance, label, score FROM (SELECT *, row_number() OVER () AS row "
        f"FROM read_csv({files}, auto_detect=false, header=true, delim=',', quote='\"', "
        f"escape='\"', hive_partitioning=false, columns={columns})) JOIN places USING (instance) "
        f"ORDER BY first, row) TO {literal(str(target))} (FORMAT csv, HEADER)"
    )
