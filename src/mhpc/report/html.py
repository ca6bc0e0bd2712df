"""``report.html``: the facts of a run as one page that needs nothing else.

The page is built once from ``web/`` and lies beside this file; here it only receives the facts,
packed, so that labels and ids are data from end to end and never markup.
"""

import base64
import gzip
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from mhpc.errors import UnwritableError
from mhpc.system.files import stable_path, temporary_folder

_PLACE = '<script id="facts" type="application/gzip+base64">'
"""After this tag the page expects the facts."""


def page_of(facts: Mapping[str, Any]) -> str:
    """Return the page that shows these facts.

    Parameters
    ----------
    facts : mapping
        What ``docs/report.md`` describes, as plain as JSON is.

    Examples
    --------
    >>> page_of({"format": 1, "title": "</script>"}).count("</script>") == page_of({}).count(
    ...     "</script>"
    ... )
    True
    """
    before, place, after = _page().partition(_PLACE)
    # No time in the gzip header: the same facts give the same page.
    packed = gzip.compress(json_of(facts).encode(), compresslevel=9, mtime=0)
    return before + place + base64.b64encode(packed).decode() + after


def json_of(facts: Mapping[str, Any]) -> str:
    """Return the facts as JSON without blanks; what is not a number must be null by now."""
    return json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def write_report(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write ``report.html`` and ``report.json`` into a folder, each whole or not at all.

    What was there before stays until both are complete.
    """
    contents = {"report.html": page_of(facts), "report.json": json_of(facts)}
    try:
        with temporary_folder(".report-", inside=folder) as beside:
            for name, content in contents.items():
                (beside / name).write_text(content, encoding="utf-8")
            with stable_path:
                for name in contents:
                    (beside / name).replace(folder / name)
    except UnwritableError:
        raise
    except OSError as error:
        raise UnwritableError(f"{folder}/report.html cannot be made: {error.strerror}") from None


@cache
def _page() -> str:
    return files("mhpc.report").joinpath("page.html").read_text(encoding="utf-8")
