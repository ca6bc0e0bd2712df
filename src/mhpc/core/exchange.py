"""Two folders change places in one step, so that there is never a moment with neither."""

import ctypes
import os
import sys
from pathlib import Path

_HERE = -100
"""What Linux takes for "relative to the current folder"."""

_EXCHANGE = 2
"""The flag by which both Linux and macOS exchange instead of replacing."""


def exchange(one: Path, other: Path) -> bool:
    """Let two paths change places; False where the system or the file system cannot do that."""
    paths = os.fsencode(one), os.fsencode(other)
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if sys.platform == "darwin":
        call = getattr(library, "renamex_np", None)
        return call is not None and call(*paths, _EXCHANGE) == 0
    call = getattr(library, "renameat2", None)
    return call is not None and call(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) == 0
