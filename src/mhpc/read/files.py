"""Which file is it: compression and format by content, not by suffix."""

import gzip
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from mhpc.errors import UnreadableError

Format = Literal["csv", "jsonl", "parquet", "arrow", "arff"]
Compression = Literal["none", "gzip", "zstd"]

STDIN = "-"
_HEAD_BYTES = 1 << 16
_MAGIC: tuple[tuple[bytes, Format], ...] = ((b"PAR1", "parquet"), (b"ARROW1", "arrow"))


@dataclass(frozen=True)
class LocalFile:
    """A file on this machine, what it is, and what to call it in messages."""

    path: Path
    format: Format
    compression: Compression
    head: str
    name: str


@contextmanager
def local_file(source: str | Path) -> Iterator[LocalFile]:
    """Give a file that can be read twice: ``-`` is standard input, kept aside while it is read."""
    if str(source) != STDIN:
        yield _identify(Path(source), name=str(source))
        return
    with tempfile.TemporaryDirectory(prefix="mhpc-") as folder:
        copy = Path(folder) / "stdin"
        with copy.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        yield _identify(copy, name="standard input")


def _identify(path: Path, *, name: str) -> LocalFile:
    head = _head(path, name)
    if not head.strip():
        raise UnreadableError(f"{name} is empty; give a table with a header and rows")
    for magic, format_ in _MAGIC:
        if head.startswith(magic):
            return LocalFile(path, format_, "none", "", name)
    compression: Compression = "none"
    if head.startswith(b"\x1f\x8b"):
        compression, head = "gzip", _unzipped_head(path, name)
    elif head.startswith(b"\x28\xb5\x2f\xfd"):
        compression, head = "zstd", _zstd_head(path, name)
    text = _decoded(head, name)
    if not text.strip():
        raise UnreadableError(f"{name} is empty; give a table with a header and rows")
    return LocalFile(path, _text_format(text), compression, text, name)


def _head(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except FileNotFoundError:
        raise UnreadableError(f"{name}: no such file{_beside(path)}") from None
    except IsADirectoryError:
        raise UnreadableError(f"{name} is a directory; give a file in it") from None
    except OSError as error:
        raise UnreadableError(f"{name} cannot be read: {error.strerror}") from None


def _beside(path: Path) -> str:
    if not path.parent.is_dir():
        return f"; there is no folder {str(path.parent)!r} either"
    from mhpc.errors import nearest

    return nearest(path.name, [other.name for other in path.parent.iterdir()])


def _unzipped_head(path: Path, name: str) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(_HEAD_BYTES)
    except (OSError, EOFError) as error:
        raise UnreadableError(f"{name} starts like gzip but does not unpack: {error}") from None


def _zstd_head(path: Path, name: str) -> bytes:
    """Let DuckDB unpack the first lines: the standard library cannot read zstd before 3.14."""
    query = (
        "SELECT line FROM read_csv(?, compression='zstd', header=false, auto_detect=false, "
        "delim='\x01', quote='', escape='', columns={'line': 'VARCHAR'}) LIMIT 20"
    )
    try:
        with duckdb.connect() as connection:
            lines = connection.execute(query, [str(path)]).fetchall()
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise UnreadableError(f"{name} starts like zstd but does not unpack: {reason}") from None
    return "".join(f"{line or ''}\n" for (line,) in lines).encode()


def _decoded(head: bytes, name: str) -> str:
    if b"\0" in head:
        hint = "UTF-16 text; save it as UTF-8" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise UnreadableError(
            f"{name} is {hint or 'binary data, not a table; give CSV, TSV, JSON Lines or Parquet'}"
        )
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # A character cut in two by the end of the head is not an error of the file.
        if len(head) == _HEAD_BYTES and error.start >= len(head) - 4:
            return head[: error.start].decode("utf-8-sig")
        line = head.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"{name}, line {line}: byte 0x{head[error.start]:02x} is not UTF-8; "
            "save the file as UTF-8"
        ) from None


def _text_format(text: str) -> Format:
    start = text.lstrip()
    if start.startswith("{"):
        return "jsonl"
    declarations = (line.strip().lower() for line in text.splitlines())
    if any(line.startswith(("@relation", "@attribute", "@data")) for line in declarations):
        return "arff"
    return "csv"
