"""Tables as Excel workbooks."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any, BinaryIO, ClassVar

from mhpc.errors import DataError, MissingExtraError
from mhpc.write.formats import RUN_CONTENTS, Content, WriteFormat
from mhpc.write.tables import make_table

MAX_ROWS, MAX_COLUMNS, MAX_CHARACTERS = 1 << 20, 1 << 14, (1 << 15) - 1
"""What a sheet of Excel holds: rows with the header, columns, and characters in a cell."""


class Excel(WriteFormat):
    """One sheet, in which every text is text: nothing is a formula, whatever it begins with."""

    name: ClassVar[str] = "xlsx"
    writes: ClassVar[tuple[Content, ...]] = ("votes", "taxonomy", *RUN_CONTENTS)

    def write(self, file: BinaryIO, data: Any, content: Content) -> None:
        """Write a table to a workbook."""
        try:
            from openpyxl import Workbook
        except ImportError:
            raise MissingExtraError(
                "xlsx needs openpyxl, which is not installed; pip install 'mhpc[excel]'"
            ) from None
        table = make_table(data, content)
        _check_size(len(table.columns), MAX_COLUMNS, "columns")
        workbook, packed = Workbook(write_only=True), BytesIO()
        sheet = workbook.create_sheet(content)
        sheet.freeze_panes = "B2"
        try:
            sheet.append(_as_cells(sheet, tuple(table.columns)))
            for number, row in enumerate(table.rows(), start=2):
                _check_size(number, MAX_ROWS, "rows")
                sheet.append(_as_cells(sheet, row))
            # An archive that is not finished is finished when it is deleted, whatever the file is.
            workbook.save(packed)
        except BaseException:
            _discard(sheet)
            raise
        file.write(packed.getbuffer())


def _discard(sheet: Any) -> None:
    """Close and remove the temporary file of the rows, which otherwise stays until Python ends."""
    with suppress(Exception):
        # It fails if it was closed before, or was interrupted within a row.
        sheet.close()
    if sheet._writer is not None:
        with suppress(OSError, ValueError):
            sheet._writer.cleanup()


def _check_size(size: int, limit: int, what: str) -> None:
    if size > limit:
        raise DataError(f"a sheet of Excel holds only {limit:,} {what}; write csv or parquet")


def _as_cells(sheet: Any, row: Iterable[Any]) -> Iterator[Any]:
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    for value in row:
        if not isinstance(value, str):
            yield value
            continue
        if len(value) > MAX_CHARACTERS:
            raise DataError(
                f"{value[:40]!r}… has {len(value):,} characters, but a cell of Excel holds only "
                f"{MAX_CHARACTERS:,}; write csv"
            )
        cell = WriteOnlyCell(sheet)
        try:
            cell.value = value
        except IllegalCharacterError:
            raise DataError(
                f"{value[:40]!r} has control characters, which Excel cannot hold; write csv"
            ) from None
        # A text that begins with "=" has become a formula by now.
        cell.data_type = "s"
        yield cell
