r"""JSON that is read whole: where it goes wrong is told; what no file can hold is refused.

Python takes more than JSON has: NaN, halves of characters. A text with half a character in it,
as ``"\ud800"`` is, cannot be put into any file.
"""

import json
import math
import re
from typing import Any, NoReturn

from mhpc.errors import UnreadableError

MAX_DEPTH = 200
"""Levels that a nested document may have; the deepest taxonomies known have 40."""

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""How half a character begins where JSON spells it out."""


def load_json(content: bytes, origin: str) -> Any:
    """Return what JSON in UTF-8 says; `origin` is what messages call it."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"{origin}, line {line:,}: byte 0x{content[error.start]:02x} is not UTF-8; save the "
            "file as UTF-8"
        ) from None
    try:
        found = json.loads(text, parse_constant=_refuse_constant, parse_float=_number)
        if _HALF.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise UnreadableError(
            f"{origin}, line {error.lineno:,}: not JSON, at character {error.colno:,}: {error.msg}"
        ) from None
    except RecursionError:
        raise too_deep(origin) from None
    except UnicodeEncodeError:
        raise UnreadableError(
            f"{origin}: a text in it has half a character, such as \\ud800; write it in full"
        ) from None
    except ValueError as error:
        raise UnreadableError(f"{origin}: not JSON: {error}") from None
    return found


def too_deep(origin: str) -> UnreadableError:
    """Return the error that something nests deeper than anything should."""
    return UnreadableError(
        f"{origin}: nested deeper than {MAX_DEPTH} levels, the most there may be"
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number
