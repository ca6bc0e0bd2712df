"""Arrow files are validated in another process before they are read in this one.

pyarrow trusts the metadata of a file: a flipped byte in it, or in the offsets of texts, makes it
read memory that is not its own. So another process, which runs this file and nothing else of the
package, reads the whole file and checks every offset, text and dictionary index. If it crashes,
this process does not.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mhpc.read.files import LocalFile

ROWS_PER_BYTE = 200
"""How many rows a file may have per byte: columns of nulls take no bytes at all."""

_FAILED = 4


def check_arrow_file(file: "LocalFile") -> None:
    """Raise an error if an Arrow file is damaged."""
    # Imported here because the other process runs this file by itself.
    from importlib.resources import as_file, files

    from mhpc.errors import UnreadableError
    from mhpc.system.child_process import MAX_MEMORY, ScriptError, run_script

    # Only large files need more, and only their largest batch is decompressed at a time.
    memory = MAX_MEMORY + 4 * file.path.stat().st_size
    try:
        with as_file(files("mhpc.read") / Path(__file__).name) as script:
            run_script(script, [str(file.path.absolute())], memory=memory)
    except ScriptError as error:
        raise UnreadableError(f"{file.name} is a damaged Arrow file: {error}") from None


def _validate(path: Path) -> None:
    """Read every batch of a file and validate it in full."""
    import pyarrow
    from pyarrow import ipc

    rows, most = 0, ROWS_PER_BYTE * path.stat().st_size
    with pyarrow.memory_map(str(path)) as content:
        reader = ipc.open_file(content)
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            rows += batch.num_rows
            if rows > most:
                raise ValueError(f"it says that it has {rows:,} rows, which do not fit in it")
            batch.validate(full=True)


def _main() -> int:
    try:
        _validate(Path(sys.argv[1]))
    except Exception as error:  # noqa: BLE001 - the errors of pyarrow, and those of damaged names
        sys.stdout.write(str(error) or type(error).__name__)
        return _FAILED
    return 0


if __name__ == "__main__":
    sys.exit(_main())
