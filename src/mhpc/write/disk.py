"""What DuckDB says when it cannot write, as Python would say it."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from mhpc.errors import UnwritableError

_FULL = {
    r"No space left|max_temp_directory_size": errno.ENOSPC,
    r"quota": errno.EDQUOT,
    r"File too large": errno.EFBIG,
}
"""What it says of a disk that takes no more; what waits there for memory counts too."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Let DuckDB write to a path; a full disk is an OSError as it is everywhere else.

    Raises
    ------
    OSError, UnwritableError
        When the disk is full; when it cannot be written for another reason.
    """
    try:
        yield
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        text = str(error)
        for said, number in _FULL.items():
            if re.search(said, text, re.IGNORECASE):
                raise OSError(number, os.strerror(number), str(path)) from None
        raise UnwritableError(f"{path} cannot be written: {' '.join(text.split())}") from None
