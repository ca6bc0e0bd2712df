"""JSON Lines: an object a row."""

import json
from typing import Any, BinaryIO, ClassVar

from mhpc.write.formats.format import OF_A_RUN, Format, What, as_text
from mhpc.write.formats.tables import table_of


class JsonLines(Format):
    """An object a line, a key a column; null where a cell is empty."""

    name: ClassVar[str] = "jsonl"
    writes: ClassVar[tuple[What, ...]] = ("votes", "taxonomy", *OF_A_RUN)

    def write(self, file: BinaryIO, subject: Any, what: What) -> None:
        """Write a table."""
        table = table_of(subject, what)
        names = tuple(table.columns)
        with as_text(file) as text:
            for row in table.rows():
                object_ = dict(zip(names, row, strict=True))
                text.write(json.dumps(object_, ensure_ascii=False, allow_nan=False) + "\n")
