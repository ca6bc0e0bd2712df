"""Labels to replace while a table is read: what the sources wrote, and what they meant."""

from collections.abc import Mapping
from typing import TypeAlias

from mhpc.errors import DataError
from mhpc.read.columns import find_columns
from mhpc.read.frames import is_missing, to_text
from mhpc.read.tables import TableSource, open_table, text_sql

LabelMapSource: TypeAlias = Mapping[str, str] | TableSource | None
"""A mapping of labels, or anything that is a table with the columns from and to."""


def read_label_map(source: LabelMapSource) -> Mapping[str, str]:
    """Return labels to replace, from a mapping or from a table with the columns from and to."""
    if source is None:
        return {}
    if isinstance(source, Mapping) and not {"from", "to"} <= source.keys():
        return {
            to_text(label): to_text(new)
            for label, new in source.items()
            if not is_missing(new) and new != ""
        }
    with open_table(source, name="the map") as table:
        roles = find_columns(
            table.columns, {"from": ("from", "old"), "to": ("to", "new")}, required=("from", "to"),
            origin=table.origin,
        )  # fmt: skip
        rows = table.connection.execute(
            f"SELECT {text_sql(table, roles['from'])}, coalesce({text_sql(table, roles['to'])}, '')"
            " FROM cells"
        ).fetchall()
    labels: dict[str, str] = {}
    for label, new in rows:
        if label and labels.setdefault(label, new) != new:
            raise DataError(
                f"{table.origin}: {label!r} is replaced by {labels[label]!r} and by {new!r}; "
                "leave one out"
            )
    return {label: new for label, new in labels.items() if new}
