"""What a file is: its format and compression, found from its content, within safe sizes.

A gzip file can decompress to 1,032 times its size, a zstd file to 30,000 times. Tables rarely
compress more than tenfold, so files that grow far more are rejected. For zstd only the lengths of
frames and blocks are read (RFC 8878, section 3.1); nothing is decompressed.
"""

import errno
import gzip
import lzma
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import duckdb

from mhpc.errors import UnreadableError, suggest
from mhpc.read.streams import is_endless_stream, refuse_endless, standard_input, temporary_copy
from mhpc.system.database import database, reason, text_lines
from mhpc.system.files import restore_folder

FileFormat = Literal[
    "csv", "jsonl", "json", "xml", "zip", "parquet", "arrow", "arff", "spreadsheet"
]
Compression = Literal["none", "gzip", "zstd"]

STDIN = "-"
"""The path that stands for standard input."""

GZIP_ERRORS = (OSError, EOFError, zlib.error)
"""What decompressing a damaged or truncated gzip file raises."""

ZIP_ERRORS = (
    zipfile.BadZipFile, EOFError, LookupError, NotImplementedError, OSError, OverflowError,
    RuntimeError, ValueError,
    struct.error, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""What reading a damaged archive raises, also if names in it are not UTF-8."""

MAX_RATIO = 200
"""How many times larger than the compressed file its content may be."""

MAX_UNPACKED = 1 << 30
"""How many bytes a compressed file may decompress to regardless of the ratio: 1 GiB."""

MAX_DOCUMENT = 1 << 28
"""The largest document to read at once: 256 MiB. Ontologies of a million terms are smaller."""

HEAD_BYTES = 1 << 16
"""How much of a file decides what it is."""

MAX_HEADER_BYTES = 1 << 22
"""The longest header of a table: 4 MiB."""

_READ_BYTES = 1 << 20
_MAGIC: tuple[tuple[bytes, FileFormat], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "spreadsheet"),
)
_WORKBOOK_MEMBERS = ("xl/workbook.xml", "xl/workbook.bin")
_OPEN_DOCUMENT = b"application/vnd.oasis.opendocument.spreadsheet"
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_XML = re.compile(r"<(\?xml|!|[A-Za-z_][\w.-]*(:[A-Za-z_][\w.-]*)?[\s/>])")
"""A tag, in contrast to the ``<http://…>`` of Turtle."""

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class LocalFile:
    """A file on this machine.

    Attributes
    ----------
    path : Path
        Where it is.
    format, compression : str
        What its content is.
    head : str
        How it begins, decompressed; empty if it is not text.
    name : str
        How messages refer to it.
    parts : tuple of Path
        The files of a folder of Parquet files, by name; empty if it is a single file.
    names : tuple of str
        The names of the columns of a table that has no header; empty if it has one.
    sheet : str, optional
        The sheet of a spreadsheet that the user chose.
    """

    path: Path
    format: FileFormat
    compression: Compression
    head: str
    name: str
    parts: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()
    sheet: str | None = None


@contextmanager
def local_file(
    source: str | Path, *, max_unpacked: int = MAX_UNPACKED, max_ratio: int = MAX_RATIO
) -> Iterator[LocalFile]:
    """Identify a file and make sure that it can be read twice.

    Parameters
    ----------
    source : path or "-"
        ``-`` is standard input. Standard input and named pipes such as a shell's ``<(command)`` are
        copied to a temporary file. A folder of Parquet files counts as one file.
        ``votes.xlsx:Sheet 2`` is one sheet of a spreadsheet.
    max_unpacked, max_ratio : int
        The limits of `check_unpacked_size`.
    """
    path = Path(source)
    check_path(path, str(source))
    if str(source) == STDIN:
        with temporary_copy(standard_input()) as copy:
            yield identify(
                copy, name="standard input", max_unpacked=max_unpacked, max_ratio=max_ratio
            )
    elif path.is_fifo():
        with path.open("rb") as pipe, temporary_copy(pipe) as copy:
            yield identify(copy, name=str(source), max_unpacked=max_unpacked, max_ratio=max_ratio)
    elif parts := _parquet_files_in(path):
        for part in parts:
            _check_file_name(part)
        yield LocalFile(path, "parquet", "none", "", str(source), parts)
    else:
        yield identify(path, name=str(source), max_unpacked=max_unpacked, max_ratio=max_ratio)


def identify(
    path: Path, *, name: str, max_unpacked: int = MAX_UNPACKED, max_ratio: int = MAX_RATIO
) -> LocalFile:
    """Find out what a file is, which messages refer to as `name`."""
    _check_file_name(path)
    path, sheet = split_sheet(path)
    head = _read_head(path, name)
    format_ = _binary_format(head)
    if format_ == "zip" and _is_workbook(path):
        format_ = "spreadsheet"
    if sheet is not None and format_ != "spreadsheet":
        raise UnreadableError(f"{path} is not a spreadsheet, so it has no sheet {sheet!r}")
    if format_:
        return LocalFile(path, format_, "none", "", name, sheet=sheet)
    compression: Compression = "none"
    if head.startswith(_GZIP_MAGIC):
        compression, head = "gzip", _read_gzip_head(path, name)
    elif head.startswith(_ZSTD_MAGIC):
        compression, head = "zstd", _read_zstd_head(path, name)
    if compression != "none":
        check_unpacked_size(path, compression, name, max_unpacked=max_unpacked, max_ratio=max_ratio)
    if format_ := _binary_format(head):
        raise UnreadableError(
            f"{name} is {format_.title()} compressed with {compression}; decompress it"
        )
    text = _decode_head(head, name)
    if not text.strip():
        raise UnreadableError(f"{name} is empty; give a table with a header and rows")
    return LocalFile(path, _text_format(text), compression, text, name)


def split_sheet(source: str | Path) -> tuple[Path, str | None]:
    """Split ``votes.xlsx:Sheet 2`` into the file and the sheet, which is None for other paths.

    A colon may be part of a file's name, so the part before it must be a file and the whole none.
    """
    path, (file, colon, sheet) = Path(source), str(source).rpartition(":")
    if colon and sheet and not path.exists() and Path(file).is_file():
        return Path(file), sheet
    return path, None


def read_document(file: LocalFile, *, max_bytes: int = MAX_DOCUMENT) -> bytes:
    """Return the whole content of a file, decompressed, unless it is too large."""
    try:
        with _open_binary(file) as stream:
            content: bytes = stream.read(max_bytes + 1)
    except GZIP_ERRORS as error:
        raise UnreadableError(f"{file.name} cannot be read: {describe_error(error)}") from None
    if len(content) > max_bytes:
        raise UnreadableError(
            f"{file.name} is larger than {max_bytes >> 20} MiB, the limit for such a document"
        )
    return content


def decode_document(content: bytes, origin: str) -> str:
    """Return a document as text; bytes that are not UTF-8 are an error, which names the line."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"{origin}, line {line:,}: byte 0x{content[error.start]:02x} is not UTF-8; save the "
            "file as UTF-8"
        ) from None


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, which end as in any editor.

    `str.splitlines` also ends them at characters that may be in a label, such as U+2028.
    """
    return _LINE_END.split(text)


def describe_error(error: Exception) -> str:
    """Return what an error says, without the number that the system gives it."""
    return str(getattr(error, "strerror", None) or error)


def check_unpacked_size(
    path: Path,
    compression: Compression,
    name: str,
    *,
    max_unpacked: int = MAX_UNPACKED,
    max_ratio: int = MAX_RATIO,
) -> None:
    """Raise an error if a file decompresses to far too much.

    Parameters
    ----------
    path : Path
        The compressed file.
    compression : "gzip" or "zstd"
        How it is compressed.
    name : str
        How messages refer to it.
    max_unpacked : int
        How many bytes are acceptable in any case.
    max_ratio : int
        How many times its own size is acceptable in any case.
    """
    size = path.stat().st_size
    limit = max(max_unpacked, size * max_ratio)
    unpacked = max_zstd_size(path) if compression == "zstd" else _gzip_size(path, size, limit)
    # A truncated zstd file has no size; the error comes when it is read.
    if unpacked is not None and unpacked > limit:
        raise UnreadableError(
            f"{name} decompresses to more than {max_ratio} times its size, and to more than "
            f"{max_unpacked >> 20:,} MiB; decompress it yourself if you trust it"
        )


def max_zstd_size(path: Path) -> int | None:
    """Return an upper bound of the decompressed size of a zstd file; None if it is truncated."""
    size, unpacked = path.stat().st_size, 0
    with path.open("rb") as file:
        try:
            while file.tell() < size:
                unpacked += _skip_zstd_frame(file)
        except EOFError:
            return None
        return unpacked if file.tell() == size else None


def _parquet_files_in(path: Path) -> tuple[Path, ...]:
    """Return the Parquet files of a folder, by name, without hidden files of other tools."""
    if not path.is_dir():
        return ()
    return tuple(sorted(file for file in path.glob("[!._]*.parquet") if file.is_file()))


def _check_file_name(path: Path) -> None:
    """Raise an error for a name that no file has, or that neither DuckDB nor run.json can hold."""
    if "\0" in str(path):
        raise UnreadableError(f"{str(path)!r}: no file name has a NUL character; correct it")
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise UnreadableError(f"{str(path)!r}: the name is not UTF-8; rename the file") from None


def check_path(path: Path, name: str) -> None:
    """Raise an error for a path that the system cannot follow, before anything else is tried."""
    _check_file_name(path)
    restore_folder(path)
    try:
        state = path.stat()
    except ValueError:
        raise UnreadableError(f"{name!r}: the name has a NUL, so it is not a file's") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            raise UnreadableError(f"{name[:200]} cannot be read: {error.strerror}") from None
        return
    is_endless = False
    if stat.S_ISBLK(state.st_mode) or stat.S_ISCHR(state.st_mode):
        # If it cannot be opened, the reader of the file says why.
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            try:
                is_endless = is_endless_stream(handle)
            finally:
                os.close(handle)
    refuse_endless(name, is_endless=is_endless)


def _read_head(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            if len(head) == HEAD_BYTES and b"\n" not in head and head.lstrip()[:1] not in b"{[":
                # The header of a table with thousands of columns.
                head += file.readline(MAX_HEADER_BYTES)
            return head
    except FileNotFoundError:
        raise UnreadableError(f"{name}: no such file{_suggest_path(path)}") from None
    except IsADirectoryError:
        raise UnreadableError(
            f"{name} is a directory; give a file in it, or a folder of Parquet files"
        ) from None
    except OSError as error:
        raise UnreadableError(f"{name} cannot be read: {error.strerror}") from None


def _suggest_path(path: Path) -> str:
    if not path.parent.is_dir():
        return f"; there is no folder {str(path.parent)!r} either"
    return suggest(path.name, [neighbor.name for neighbor in path.parent.iterdir()])


def _binary_format(head: bytes) -> FileFormat | None:
    return next((format_ for magic, format_ in _MAGIC if head.startswith(magic)), None)


def _is_workbook(path: Path) -> bool:
    """Return whether an archive is a spreadsheet of Excel or in the OpenDocument format."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if any(member in names for member in _WORKBOOK_MEMBERS):
                return True
            if "mimetype" not in names:
                return False
            with archive.open("mimetype") as file:
                return file.read(len(_OPEN_DOCUMENT)) == _OPEN_DOCUMENT
    except ZIP_ERRORS:
        # The error comes when the archive is read.
        return False


def _read_gzip_head(path: Path, name: str) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(HEAD_BYTES)
    except GZIP_ERRORS as error:
        raise UnreadableError(
            f"{name} starts like gzip but does not decompress: {describe_error(error)}"
        ) from None


def _read_zstd_head(path: Path, name: str) -> bytes:
    """Let DuckDB decompress the first lines: Python itself cannot read zstd before 3.14."""
    if max_zstd_size(path) is None:
        raise UnreadableError(f"{name} starts like zstd but is truncated; compress it again")
    query = f"SELECT coalesce(line, '') FROM {text_lines(path, 'zstd')} LIMIT 20"
    try:
        with database() as connection:
            lines = connection.execute(query).fetchall()
    except duckdb.Error as error:
        raise UnreadableError(f"{name}, compressed with zstd{reason(error)}") from None
    return "".join(f"{line}\n" for (line,) in lines).encode()


def _decode_head(head: bytes, name: str) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UnreadableError(f"{name} is UTF-16 text; save it as UTF-8")
    if b"\0" in head:
        raise UnreadableError(
            f"{name} is binary data, not a table; give CSV, TSV, Excel, JSON Lines, Parquet or "
            "Arrow"
        )
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The end of the head may cut a character in two, which is not an error of the file.
        if len(head) == HEAD_BYTES and error.start >= len(head) - 4:
            return head[: error.start].decode("utf-8-sig")
        line = head.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"{name}, line {line:,}: byte 0x{head[error.start]:02x} is not UTF-8; "
            "save the file as UTF-8"
        ) from None


def _text_format(text: str) -> FileFormat:
    start = text.lstrip()
    if start.startswith("{"):
        return "jsonl" if _is_object_on_one_line(start) else "json"
    if start.startswith("["):
        return "json"
    if _XML.match(start):
        return "xml"
    # Only the first line that is not a comment decides: further down, @data may be an id.
    first = next((line for line in split_lines(start) if not line.startswith("%")), "")
    return "arff" if first.lower().startswith(("@relation", "@attribute")) else "csv"


def _is_object_on_one_line(start: str) -> bool:
    line, _, rest = start.partition("\n")
    return not rest.strip() or line.rstrip().endswith("}") or rest.lstrip().startswith("{")


def _open_binary(file: LocalFile) -> Any:
    if file.compression == "zstd":
        raise UnreadableError(f"{file.name}: such a document can be plain or gzip, not zstd")
    return gzip.open(file.path) if file.compression == "gzip" else file.path.open("rb")


def _gzip_size(path: Path, size: int, limit: int, *, max_deflate_ratio: int = 1032) -> int:
    """Return the size of the content of a gzip file, or any number above the limit."""
    if size * max_deflate_ratio <= limit:
        # Deflate cannot compress any better, so there is no need to decompress.
        return 0
    unpacked = 0
    with gzip.open(path) as file:
        try:
            while unpacked <= limit and (block := file.read(_READ_BYTES)):
                unpacked += len(block)
        except GZIP_ERRORS:
            # The error comes with its place when the file is read.
            return unpacked
    return unpacked


_ZSTD_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_ZSTD_DICTIONARY_BYTES = (0, 1, 2, 4)
_ZSTD_SIZE_BYTES = (0, 2, 4, 8)
_ZSTD_REPEATED_BYTE = 1
_ZSTD_COMPRESSED = 2
_ZSTD_MAX_BLOCK = 1 << 17


def _skip_zstd_frame(file: BinaryIO) -> int:
    """Move to the end of a frame, and return an upper bound of its decompressed size."""
    magic = _read_integer(file, 4)
    if magic in _ZSTD_SKIPPABLE:
        _skip_bytes(file, _read_integer(file, 4))
        return 0
    if magic.to_bytes(4, "little") != _ZSTD_MAGIC:
        raise EOFError
    descriptor = _read_integer(file, 1)
    is_single_segment = descriptor >> 5 & 1
    window_bytes = 1 - is_single_segment
    size_bytes = _ZSTD_SIZE_BYTES[descriptor >> 6] or is_single_segment
    _skip_bytes(file, window_bytes + _ZSTD_DICTIONARY_BYTES[descriptor & 3] + size_bytes)
    is_last = unpacked = 0
    while not is_last:
        block = _read_integer(file, 3)
        is_last, kind, length = block & 1, block >> 1 & 3, block >> 3
        _skip_bytes(file, 1 if kind == _ZSTD_REPEATED_BYTE else length)
        unpacked += _ZSTD_MAX_BLOCK if kind == _ZSTD_COMPRESSED else length
    has_checksum = descriptor >> 2 & 1
    _skip_bytes(file, 4 * has_checksum)
    return unpacked


def _read_integer(file: BinaryIO, length: int) -> int:
    content = file.read(length)
    if len(content) < length:
        raise EOFError
    return int.from_bytes(content, "little")


def _skip_bytes(file: BinaryIO, length: int) -> None:
    file.seek(length, 1)
