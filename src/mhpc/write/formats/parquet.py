"""Parquet, by way of DuckDB."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from mhpc.core.database import database
from mhpc.core.memory import memory_budget
from mhpc.core.temporary import temporary_folder
from mhpc.errors import DataError
from mhpc.write.disk import writing
from mhpc.write.formats.format import OF_A_RUN, Format, What
from mhpc.write.formats.tables import Table, table_of
from mhpc.write.streams import LEAST

_TYPES = {"text": "VARCHAR", "number": "DOUBLE", "flag": "TINYINT"}


class Parquet(Format):
    """Columns, packed with zstd."""

    name: ClassVar[str] = "parquet"
    writes: ClassVar[tuple[What, ...]] = ("votes", "taxonomy", *OF_A_RUN)

    def write(self, file: BinaryIO, subject: Any, what: What) -> None:
        """Write a table; what does not fit in memory waits on disk."""
        with temporary_folder("mhpc-") as folder, writing(folder):
            _copy(table_of(subject, what), folder)
            with (folder / "whole").open("rb") as whole:
                shutil.copyfileobj(whole, file, 1 << 20)


def _copy(table: Table, folder: Path) -> None:
    _refuse_alike(table.columns)
    place = str(folder).replace("'", "''")
    columns = ", ".join(f"{_name(name)} {_TYPES[kind]}" for name, kind in table.columns.items())
    numbered = [f"c{at}" for at in range(len(table.columns))]
    with database() as connection:
        connection.execute(f"SET memory_limit = '{max(LEAST, memory_budget() // 4)}B'")
        connection.execute(f"SET temp_directory = '{place}'")
        connection.execute(f"CREATE TABLE whole ({columns})")
        for block in table.blocks():
            connection.register("block", dict(zip(numbered, block, strict=True)))
            connection.execute("INSERT INTO whole SELECT * FROM block")
            connection.unregister("block")
        connection.execute(f"COPY whole TO '{place}/whole' (FORMAT parquet, COMPRESSION zstd)")


def _refuse_alike(columns: Iterable[str]) -> None:
    """Refuse names that differ in case alone, as ids of labels may."""
    seen: dict[str, str] = {}
    for column in columns:
        if (other := seen.setdefault(column.lower(), column)) != column:
            raise DataError(
                f"columns {other!r} and {column!r} differ in case alone, which Parquet cannot "
                "hold here; write jsonl"
            )


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
