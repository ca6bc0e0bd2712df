"""``report.html``: the facts of a run in one self-contained page.

The page is built from ``web/`` and stored beside this file. The facts are embedded compressed, so
that labels and ids are always data and never markup.
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

_FACTS_TAG = '<script id="facts" type="application/gzip+base64">'
"""The tag after which the page expects the facts."""

BEST_COMPRESSION, FAST_COMPRESSION = 9, 4
MAX_BEST_COMPRESSED = 1 << 24
"""Bytes of facts up to which the page is made as small as possible; beyond that, it takes long."""


def render_page(facts: Mapping[str, Any]) -> str:
    """Return the page that shows these facts.

    Parameters
    ----------
    facts : mapping
        The fields that ``docs/report.md`` describes.

    Examples
    --------
    >>> page = render_page({"format": 1, "title": "</script>"})
    >>> page.count("</script>") == render_page({}).count("</script>")
    True
    """
    before, tag, after = _template().partition(_FACTS_TAG)
    # Without a time in the gzip header the same facts give the same page.
    text = dump_json(facts).encode()
    level = BEST_COMPRESSION if len(text) <= MAX_BEST_COMPRESSED else FAST_COMPRESSION
    packed = gzip.compress(text, compresslevel=level, mtime=0)
    return before + tag + base64.b64encode(packed).decode() + after


def dump_json(facts: Mapping[str, Any]) -> str:
    """Return the facts as compact JSON; nan must have been replaced by null."""
    return json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def write_report(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write ``report.html`` and ``report.json`` into a folder, each atomically.

    Earlier files stay until both are complete.
    """
    contents = {"report.html": render_page(facts), "report.json": dump_json(facts)}
    try:
        with temporary_folder(".report-", inside=folder) as temporary:
            for name, content in contents.items():
                (temporary / name).write_text(content, encoding="utf-8")
            with stable_path:
                for name in contents:
                    (temporary / name).replace(folder / name)
    except UnwritableError:
        raise
    except OSError as error:
        raise UnwritableError(f"{folder}/report.html cannot be written: {error.strerror}") from None


@cache
def _template() -> str:
    return files("mhpc.report").joinpath("page.html").read_text(encoding="utf-8")
