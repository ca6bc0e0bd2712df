"""Sheets of Excel and OpenDocument workbooks as columns, within safe sizes.

A workbook is a zip archive of XML. It is decompressed and looked through here before the library
that reads it, because that library allocates a cell for every place up to the last filled one: a
sheet whose only cell is XFD1048576 would end the process. Binary workbooks are read in another one.
"""

import re
import zipfile
from dataclasses import dataclass
from datetime import date, time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from mhpc.errors import (
    DataError,
    MissingExtraError,
    ReadingWarning,
    UnreadableError,
    quote_list,
    warn,
)
from mhpc.read.archives import HARMLESS_BYTES, MAX_ARCHIVE_BYTES
from mhpc.read.files import MAX_RATIO, ZIP_ERRORS, LocalFile, describe_error
from mhpc.read.json_xml import is_xml_encoding
from mhpc.read.workbooks import DamagedError, EncryptedError, load_sheets, load_sheets_apart

MAX_SHEET_CELLS = 1 << 26
"""How many cells the rectangle of all filled cells of a sheet may have: 67 million."""

MAX_SHEET_COLUMNS = 1 << 14
"""The most columns that spreadsheet programs have; the library would make millions."""

MIN_HEADER_CELLS = 2
"""How many cells of a row are filled if it is the header, and not a title above it."""

_XML_SUFFIXES = (".xml", ".rels")
_BINARY_WORKBOOK = "xl/workbook.bin"
_READ_BYTES = 1 << 20
_MAX_TAG = 1 << 24
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_ATTRIBUTES = rb"""(?:[^>"']|"[^"]*"|'[^']*')*?"""
_EXCEL_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]*)(\d+)["']""" + _ATTRIBUTES + rb"(/?)>")
"""The place of a row or a cell, and whether the element is closed at once, so has no value."""

_OPEN_DOCUMENT_TAG = re.compile(
    rb"<table:(table|table-row|table-cell|covered-table-cell)((?:\s" + _ATTRIBUTES + rb")?)(/?)>"
)
_CELL_TAGS = (b"sheetData", b"table-cell")
"""What every sheet of Excel and of OpenDocument has that has cells."""

_ERROR = re.compile(rb"""<c\s[^>]*\bt\s*=\s*["']e["']|<[^>]*\bcalcext:value-type\s*=\s*["']error""")
"""A cell that holds an error, such as #N/A, which the library reads as empty."""

_REPEATED = re.compile(rb"""number-(?:rows|columns)-repeated\s*=\s*["']([^"']*)""")


def read_sheet(
    file: LocalFile, *, max_ratio: int = MAX_RATIO, max_cells: int = MAX_SHEET_CELLS
) -> list[tuple[str, list[Any]]]:
    """Return the names and cells of the columns of a sheet, None where a cell is empty.

    The header is the first row with at least two filled cells, or the first filled row if there is
    none. Empty rows and columns are left out.

    Parameters
    ----------
    file : LocalFile
        A spreadsheet. If no sheet was chosen, the first one that is not empty is read.
    max_ratio : int
        How many times its own size the file may decompress to.
    max_cells : int
        How many cells the rectangle of all filled cells of a sheet may have.
    """
    is_checked = _check_workbook(file.path, file.name, max_ratio, max_cells)
    rows = _choose_rows(_load_sheets(file, is_checked), file)
    if not rows:
        raise UnreadableError(f"{file.name} is empty; give a table with a header and rows")
    counts = [sum(cell != "" for cell in row) for row in rows]
    start = next((n for n, count in enumerate(counts) if count >= MIN_HEADER_CELLS), 0)
    header = rows[start]
    body = [row for row, count in zip(rows[start + 1 :], counts[start + 1 :], strict=True) if count]
    columns = []
    for place, name in enumerate(header):
        cells = [_clean_cell(row[place]) for row in body]
        if name != "" or any(cell is not None for cell in cells):
            columns.append((_name_column(name), cells))
    return columns


def _check_workbook(path: Path, name: str, max_ratio: int, max_cells: int) -> bool:
    """Raise an error if a workbook is encrypted, damaged, or would need far too much memory.

    Returns
    -------
    bool
        Whether it consists of XML, so that everything in it could be checked.
    """
    if not zipfile.is_zipfile(path):
        if _ENCRYPTED_PACKAGE in path.read_bytes():
            raise _encrypted_error(name)
        return False
    budget = min(MAX_ARCHIVE_BYTES, max(HARMLESS_BYTES, path.stat().st_size * max_ratio))
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if member.flag_bits & 1:
                    raise _encrypted_error(name)
                with archive.open(member) as stream:
                    budget = _check_member(stream, name, budget, max_ratio, max_cells)
            return _BINARY_WORKBOOK not in archive.namelist()
    except UnreadableError:
        raise
    except ZIP_ERRORS as error:
        raise UnreadableError(f"{name} is a damaged spreadsheet: {describe_error(error)}") from None


def _encrypted_error(name: str) -> UnreadableError:
    return UnreadableError(f"{name} is encrypted; save it without a password")


def _check_member(stream: Any, name: str, budget: int, max_ratio: int, max_cells: int) -> int:
    """Decompress and check a member, and return the rest of the budget."""
    check = _MemberCheck(name, max_cells, is_xml=stream.name.endswith(_XML_SUFFIXES))
    while block := stream.read(_READ_BYTES):
        budget -= len(block)
        if budget < 0:
            raise UnreadableError(
                f"{name} decompresses to more than {max_ratio} times its size; save it as CSV if "
                "you trust it"
            )
        check.feed(block)
    check.finish()
    return budget


class _MemberCheck:
    """Checks that cells fit in memory, and that XML is well-formed and has no entities.

    The library runs forever on XML that ends within an element. A sheet may have any name, so cells
    are counted in every member.
    """

    def __init__(self, name: str, max_cells: int, *, is_xml: bool) -> None:
        self._name, self._max_cells = name, max_cells
        self._parser = expat.ParserCreate() if is_xml else None
        if self._parser:
            self._parser.EntityDeclHandler = self._refuse_entity
            self._parser.XmlDeclHandler = self._check_encoding
            self._parser.CommentHandler = self._note_free_text
            self._parser.ProcessingInstructionHandler = self._note_free_text
            self._parser.StartCdataSectionHandler = self._note_free_text
        self._extents = (_ExcelExtent(), _OpenDocumentExtent())
        self._rest = b""
        self._has_cells = self._has_free_text = self._has_errors = False

    def feed(self, block: bytes) -> None:
        """Check the next bytes."""
        self._parse(block, is_last=False)
        text = self._rest + block
        cut = max(text.rfind(b"<"), 0)
        self._rest = text[cut:]
        if len(self._rest) > _MAX_TAG:
            # Looking for the end of a tag again and again would take forever.
            raise self._damaged(f"a tag of {len(self._rest):,} bytes")
        self._scan(text[:cut])

    def finish(self) -> None:
        """Check the end."""
        self._parse(b"", is_last=True)
        self._scan(self._rest)
        if self._has_errors:
            warn(
                f"{self._name}: cells with an error, such as #N/A, are read as empty",
                ReadingWarning,
                stacklevel=6,
            )
        if self._has_cells and self._has_free_text:
            # Text that looks like a tag hides cells behind it from the search for places.
            raise self._damaged(
                "a sheet has comments or other markup that spreadsheet programs do not write; save "
                "it again with one of them"
            )

    def _parse(self, block: bytes, *, is_last: bool) -> None:
        if self._parser is None:
            return
        try:
            self._parser.Parse(block, is_last)
        except expat.ExpatError as error:
            raise self._damaged(f"not XML: {expat.errors.messages[error.code]}") from None

    def _scan(self, text: bytes) -> None:
        self._has_cells |= any(tag in text for tag in _CELL_TAGS)
        self._has_errors |= _ERROR.search(text) is not None
        if self._parser is None:
            self._has_free_text |= b"<!" in text or text.count(b"<?") > text.count(b"<?xml ")
        for extent in self._extents:
            extent.scan(text)
            if extent.cells > self._max_cells:
                raise UnreadableError(
                    f"{self._name}: the filled cells of a sheet are too far apart, or too many; "
                    f"the most is {self._max_cells:,} cells, with the empty ones between them: "
                    "save the table as CSV"
                )
            if extent.columns > MAX_SHEET_COLUMNS:
                raise self._damaged(
                    f"a cell in column {extent.columns:,}, and there are {MAX_SHEET_COLUMNS:,}"
                )

    def _refuse_entity(self, *_: object) -> NoReturn:
        raise self._damaged("it has entities")

    def _note_free_text(self, *_: object) -> None:
        self._has_free_text = True

    def _check_encoding(self, version: str, encoding: str | None, standalone: int) -> None:
        if not is_xml_encoding(encoding):
            raise self._damaged(f"XML in the encoding {quote_list([encoding or ''])}")

    def _damaged(self, reason: str) -> UnreadableError:
        return UnreadableError(f"{self._name} is a damaged spreadsheet: {reason}")


@dataclass
class _ExcelExtent:
    """The last row and column with a value in the sheets of an Excel workbook."""

    rows: int = 0
    columns: int = 1

    @property
    def cells(self) -> int:
        """The number of cells up to there."""
        return self.rows * self.columns

    def scan(self, text: bytes) -> None:
        """Take the rows and cells of a piece of XML into account."""
        for letters, row, is_empty in _EXCEL_PLACE.findall(text):
            if not is_empty:
                self.rows = max(self.rows, int(row[:12]))
                if letters:
                    self.columns = max(self.columns, _column_number(letters))


@dataclass
class _OpenDocumentExtent:
    """The rectangle of filled cells of the largest table so far in an OpenDocument file."""

    cells: int = 0
    rows: int = 0
    columns: int = 1
    column: int = 0
    repeated_rows: int = 0

    def scan(self, text: bytes) -> None:
        """Take the rows and cells of a piece of XML into account."""
        for tag, attributes, is_closed in _OPEN_DOCUMENT_TAG.findall(text):
            repeated = _REPEATED.search(attributes)
            # What is not a number is an error like any other in the archive.
            count = int(repeated[1]) if repeated else 1
            if tag == b"table":
                self.rows, self.columns, self.repeated_rows = 0, 1, 0
            elif tag == b"table-row":
                self.rows += self.repeated_rows
                self.column, self.repeated_rows = 0, count
            else:
                self.column += count
                if not is_closed or b"office:" in attributes:
                    self.columns = max(self.columns, self.column)
                    self.cells = max(self.cells, (self.rows + self.repeated_rows) * self.columns)


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters[:8].upper():
        number = number * 26 + letter - ord("A") + 1
    return number


def _load_sheets(file: LocalFile, is_checked: bool) -> dict[str, Any]:
    if find_spec("python_calamine") is None:
        raise MissingExtraError(
            f"{file.name} is a spreadsheet; pip install 'mhpc[excel]' to read it"
        )
    load = load_sheets if is_checked else load_sheets_apart
    try:
        return load(file.path, file.sheet)
    except EncryptedError:
        raise _encrypted_error(file.name) from None
    except DamagedError as error:
        reason = " ".join(str(error).split())
        raise UnreadableError(f"{file.name} is a damaged spreadsheet, or none: {reason}") from None


def _choose_rows(workbook: dict[str, Any], file: LocalFile) -> list[list[Any]]:
    """Return the rows of the chosen sheet, or of the first one that is not empty."""
    names, sheets = workbook["names"], workbook["sheets"]
    if file.sheet is not None and file.sheet not in names:
        raise DataError(f"{file.path} has no sheet {file.sheet!r}; it has {quote_list(names)}")
    if len(sheets) > 1:
        first, *others = sheets
        # Standard input and a file in an archive have no path to which a sheet could be added.
        has_path = str(file.path) == file.name
        choice = f" (choose one with {file.name}:{others[0]})" if has_path else ""
        warn(
            f"{file.name}: reading sheet {first!r}; there are also {quote_list(others)}{choice}",
            ReadingWarning,
            stacklevel=2,
        )
    rows: list[list[Any]] = next(iter(sheets.values()), [])
    return rows


def _clean_cell(cell: Any) -> Any:
    """Return None for an empty cell and ISO 8601 for dates; numbers are left as they are."""
    if cell == "":
        return None
    return cell.isoformat() if isinstance(cell, date | time) else cell


def _name_column(name: Any) -> str:
    cell = _clean_cell(name)
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return "" if cell is None else str(cell)
