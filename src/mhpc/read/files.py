"""What a file is: compression and format by content; size limits.

Only the lengths of frames and blocks are looked at (RFC 8878, section 3.1), nothing is unpacked.

A gzip file can unpack to 1,032 times its size, a zstd file to 30,000 times. Tables seldom pack
tenfold; a matrix of zeros packs more, but is small.
"""

import gzip
import re
import shutil
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import duckdb

from mhpc.errors import UnreadableError, suggest
from mhpc.system.database import database, reason, text_lines
from mhpc.system.files import temporary_folder

MAGIC = b"\x28\xb5\x2f\xfd"

_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_DICTIONARY_BYTES = (0, 1, 2, 4)
_SIZE_BYTES = (0, 2, 4, 8)
_ONE_BYTE_REPEATED = 1
_PACKED = 2
_BLOCK_MOST = 1 << 17
"""Bytes that a block holds at most."""


def is_whole(path: Path) -> bool:
    """Tell whether a file is nothing but frames, the last of them up to its end."""
    return most_unpacked(path) is not None


def most_unpacked(path: Path) -> int | None:
    """Return the bytes that a file can unpack to at most; None if it is cut short."""
    size, most = path.stat().st_size, 0
    with path.open("rb") as file:
        try:
            while file.tell() < size:
                most += _skip_frame(file)
        except EOFError:
            return None
        return most if file.tell() == size else None


def _skip_frame(file: BinaryIO) -> int:
    """Go to the end of a frame, and return the bytes that it unpacks to at most."""
    magic = _number(file, 4)
    if magic in _SKIPPABLE:
        _skip(file, _number(file, 4))
        return 0
    if magic.to_bytes(4, "little") != MAGIC:
        raise EOFError
    descriptor = _number(file, 1)
    single = descriptor >> 5 & 1
    window, size = 1 - single, _SIZE_BYTES[descriptor >> 6] or single
    _skip(file, window + _DICTIONARY_BYTES[descriptor & 3] + size)
    last = most = 0
    while not last:
        block = _number(file, 3)
        last, kind, length = block & 1, block >> 1 & 3, block >> 3
        _skip(file, 1 if kind == _ONE_BYTE_REPEATED else length)
        most += _BLOCK_MOST if kind == _PACKED else length
    checksum = descriptor >> 2 & 1
    _skip(file, 4 * checksum)
    return most


def _number(file: BinaryIO, length: int) -> int:
    found = file.read(length)
    if len(found) < length:
        raise EOFError
    return int.from_bytes(found, "little")


def _skip(file: BinaryIO, length: int) -> None:
    file.seek(length, 1)


MAX_RATIO = 200
"""How many times larger than what it was packed into content may be."""

MAX_UNPACKED = 1 << 30
"""Bytes that a packed file may unpack to whatever its own size: 1 GiB."""

_DEFLATE_MOST = 1032
"""Deflate cannot pack better than this, so that small files need no look."""

_BLOCK = 1 << 20


def check_unpacked_size(path: Path, compression: str, name: str) -> None:
    """Refuse a packed file that unpacks to too much; `name` is what messages call it."""
    size = path.stat().st_size
    most = max(MAX_UNPACKED, size * MAX_RATIO)
    if compression == "zip":
        found = _declared(path)
    elif compression == "zstd":
        # None is cut short, which is told where it is read.
        found = most_unpacked(path) or 0
    else:
        found = _unzipped(path, size, most)
    if found > most:
        raise UnreadableError(
            f"{name} unpacks to more than {MAX_RATIO} times its size, and more than "
            f"{MAX_UNPACKED >> 20:,} MiB; unpack it yourself if you trust it"
        )


def _declared(path: Path) -> int:
    """Return what the members of an archive declare: no more than that is ever read of them."""
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def _unzipped(path: Path, size: int, most: int) -> int:
    """Return the size of what a gzip file holds, or any number above `most` once it is passed."""
    if size * _DEFLATE_MOST <= most:
        return 0
    found = 0
    with gzip.open(path) as file:
        try:
            while found <= most and (block := file.read(_BLOCK)):
                found += len(block)
        except (OSError, EOFError, zlib.error):
            # Damage is told by whoever reads it, with its place.
            return found
    return found


Format = Literal["csv", "jsonl", "json", "xml", "zip", "parquet", "arrow", "arff"]
Compression = Literal["none", "gzip", "zstd"]

STDIN = "-"
GZIP_ERRORS = (OSError, EOFError, zlib.error)
"""What unpacking raises when a gzip file is damaged or cut short."""

_HEAD_BYTES = 1 << 16
_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
)
_XML = re.compile(r"<(\?xml|!|[A-Za-z_][\w.-]*(:[A-Za-z_][\w.-]*)?[\s/>])")
"""A tag, not the ``<http://…>`` of Turtle."""


@dataclass(frozen=True)
class LocalFile:
    """A file on this machine, what it is, and what to call it in messages."""

    path: Path
    format: Format
    compression: Compression
    head: str
    name: str
    parts: tuple[Path, ...] = ()
    """The files of a folder of Parquet, by name; none where it is one file."""


@contextmanager
def local_file(source: str | Path) -> Iterator[LocalFile]:
    """Give a file that can be read twice; ``-`` is standard input.

    What comes through a pipe, standard input or a shell's ``<(command)``, is kept aside
    meanwhile. A folder of Parquet files is read as one file.
    """
    path = Path(source)
    if str(source) == STDIN:
        with _kept_aside(sys.stdin.buffer) as copy:
            yield identify(copy, name="standard input")
    elif path.is_fifo():
        with path.open("rb") as pipe, _kept_aside(pipe) as copy:
            yield identify(copy, name=str(source))
    elif parts := _parquet_in(path):
        for part in parts:
            _check_file_name(part)
        yield LocalFile(path, "parquet", "none", "", str(source), parts)
    else:
        yield identify(path, name=str(source))


@contextmanager
def _kept_aside(stream: BinaryIO) -> Iterator[Path]:
    with temporary_folder("mhpc-") as folder:
        copy = folder / "copy"
        with copy.open("wb") as out:
            shutil.copyfileobj(stream, out)
        yield copy


def _parquet_in(path: Path) -> tuple[Path, ...]:
    """Return the Parquet files of a folder, by name; what other tools leave there is hidden."""
    if not path.is_dir():
        return ()
    return tuple(sorted(file for file in path.glob("[!._]*.parquet") if file.is_file()))


def identify(path: Path, *, name: str) -> LocalFile:
    """Tell what a file is; `name` is what messages call it."""
    _check_file_name(path)
    head = _head(path, name)
    if magic := _magic(head):
        return LocalFile(path, magic, "none", "", name)
    compression: Compression = "none"
    if head.startswith(b"\x1f\x8b"):
        compression, head = "gzip", _unzipped_head(path, name)
    elif head.startswith(MAGIC):
        compression, head = "zstd", _zstd_head(path, name)
    if compression != "none":
        check_unpacked_size(path, compression, name)
    if magic := _magic(head):
        raise UnreadableError(f"{name} is {magic.title()} packed with {compression}; unpack it")
    text = _decoded(head, name)
    if not text.strip():
        raise UnreadableError(f"{name} is empty; give a table with a header and rows")
    return LocalFile(path, _text_format(text), compression, text, name)


def _check_file_name(path: Path) -> None:
    """Refuse a name that is not UTF-8, which neither DuckDB nor run.json can hold."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise UnreadableError(f"{str(path)!r}: the name is not UTF-8; rename the file") from None


def _head(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except FileNotFoundError:
        raise UnreadableError(f"{name}: no such file{_beside(path)}") from None
    except IsADirectoryError:
        raise UnreadableError(
            f"{name} is a directory; give a file in it, or a folder of Parquet files"
        ) from None
    except OSError as error:
        raise UnreadableError(f"{name} cannot be read: {error.strerror}") from None


def _beside(path: Path) -> str:
    if not path.parent.is_dir():
        return f"; there is no folder {str(path.parent)!r} either"
    return suggest(path.name, [other.name for other in path.parent.iterdir()])


def _magic(head: bytes) -> Format | None:
    return next((format_ for magic, format_ in _MAGIC if head.startswith(magic)), None)


def _unzipped_head(path: Path, name: str) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(_HEAD_BYTES)
    except GZIP_ERRORS as error:
        raise UnreadableError(f"{name} starts like gzip but does not unpack: {error}") from None


def _zstd_head(path: Path, name: str) -> bytes:
    """Let DuckDB unpack the first lines: the standard library cannot read zstd before 3.14."""
    if not is_whole(path):
        raise UnreadableError(f"{name} starts like zstd but is cut short; pack it again")
    query = f"SELECT coalesce(line, '') FROM {text_lines(path, 'zstd')} LIMIT 20"
    try:
        with database() as connection:
            lines = connection.execute(query).fetchall()
    except duckdb.Error as error:
        raise UnreadableError(f"{name}, packed with zstd{reason(error)}") from None
    return "".join(f"{line}\n" for (line,) in lines).encode()


def _decoded(head: bytes, name: str) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UnreadableError(f"{name} is UTF-16 text; save it as UTF-8")
    if b"\0" in head:
        raise UnreadableError(
            f"{name} is binary data, not a table; give CSV, TSV, JSON Lines, Parquet or Arrow"
        )
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # A character cut in two by the end of the head is not an error of the file.
        if len(head) == _HEAD_BYTES and error.start >= len(head) - 4:
            return head[: error.start].decode("utf-8-sig")
        line = head.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"{name}, line {line:,}: byte 0x{head[error.start]:02x} is not UTF-8; "
            "save the file as UTF-8"
        ) from None


def _text_format(text: str) -> Format:
    start = text.lstrip()
    if start.startswith("{"):
        return "jsonl" if _is_one_line(start) else "json"
    if start.startswith("["):
        return "json"
    if _XML.match(start):
        return "xml"
    # Only the first line that is no comment tells: further down, @data may be somebody's id.
    declared = next((line for line in start.splitlines() if not line.startswith("%")), "")
    return "arff" if declared.lower().startswith(("@relation", "@attribute")) else "csv"


def _is_one_line(start: str) -> bool:
    """Tell whether an object ends on the line where it begins, as in JSON Lines."""
    line, _, rest = start.partition("\n")
    return not rest.strip() or line.rstrip().endswith("}") or rest.lstrip().startswith("{")
