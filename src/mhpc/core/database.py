"""Databases in memory, which read what they are given and fetch nothing."""

from typing import Any

import duckdb

_CLOSED = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
}
"""A file whose name or content calls for an extension must not have one fetched and loaded."""


def database(*, threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """Return a new database in memory, to be closed; it uses all cores unless told otherwise."""
    config: dict[str, Any] = dict(_CLOSED) if threads is None else {**_CLOSED, "threads": threads}
    connection = duckdb.connect(config=config)
    connection.execute("SET enable_progress_bar = false")
    return connection
