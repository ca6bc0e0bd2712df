"""The sheets of a workbook, read by python-calamine, in this process or in one of its own.

Binary workbooks (.xls, .xlsb) cannot be looked through beforehand, and damaged ones can make the
library run forever or end the process. So they are read in another process, which runs this file
and nothing else of the package.
"""

import json
import sys
from pathlib import Path
from typing import Any

MAX_SECONDS = 300.0
"""How long a process may take to read a binary workbook; the largest ones take seconds."""

_ENCRYPTED = 3
_DAMAGED = 4


class EncryptedError(Exception):
    """A workbook needs a password."""


class DamagedError(Exception):
    """A workbook cannot be read."""


def load_sheets(path: Path, sheet: str | None) -> dict[str, Any]:
    """Return the ``names`` of all sheets, and the rows of some as ``sheets`` by name.

    Parameters
    ----------
    path : Path
        The workbook.
    sheet : str, optional
        The sheet to read if there is one of this name; by default all that are visible and filled.
    """
    import python_calamine as calamine

    try:
        with calamine.CalamineWorkbook.from_path(str(path)) as workbook:
            names = workbook.sheet_names
            chosen = [sheet] if sheet is not None else _visible_sheets(workbook) or names
            rows = {
                name: workbook.get_sheet_by_name(name).to_python()
                for name in chosen
                if name in names
            }
    except calamine.PasswordError:
        raise EncryptedError from None
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise DamagedError(str(error)) from None
    except BaseException as error:
        # A failed assertion of the library is not even an Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise DamagedError(str(error)) from None
    return {"names": names, "sheets": {name: cells for name, cells in rows.items() if cells}}


def load_sheets_apart(
    path: Path, sheet: str | None, *, seconds: float = MAX_SECONDS
) -> dict[str, Any]:
    """Return the same as `load_sheets` from another process, with dates as text."""
    # Imported here because that process runs this file by itself.
    from importlib.resources import as_file, files

    from mhpc.system.child_process import ScriptError, run_script

    arguments = [str(path.absolute()), *([] if sheet is None else [sheet])]
    try:
        with as_file(files("mhpc.read") / Path(__file__).name) as script:
            code, output = run_script(script, arguments, seconds=seconds)
    except ScriptError as error:
        raise DamagedError(str(error)) from None
    if code == _ENCRYPTED:
        raise EncryptedError
    content: dict[str, Any] = json.loads(output)
    return content


def _visible_sheets(workbook: Any) -> list[str]:
    return [
        sheet.name
        for sheet in workbook.sheets_metadata
        if sheet.typ == type(sheet.typ).WorkSheet and sheet.visible == type(sheet.visible).Visible
    ]


def _cell_to_text(cell: Any) -> str:
    return str(cell.isoformat() if hasattr(cell, "isoformat") else cell)


def _main() -> int:
    """Write the sheets of a workbook to standard output."""
    try:
        content = load_sheets(Path(sys.argv[1]), sys.argv[2] if sys.argv[2:] else None)
    except EncryptedError:
        return _ENCRYPTED
    except DamagedError as error:
        sys.stdout.write(str(error))
        return _DAMAGED
    json.dump(content, sys.stdout, default=_cell_to_text)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
