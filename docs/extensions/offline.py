"""Pages that ask no other host for anything: what would be fetched from one ends the build."""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

_LOG = logging.getLogger(__name__)

_FETCHED = re.compile(
    r"<(?:script|img|iframe|source|link(?![^>]*rel=\"canonical\"))\b[^>]*"
    r"(?:src|href)=\"((?:https?:)?//[^\"]*)|(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')]*)"
)
"""What a browser gets by itself when it opens a page or a style sheet; links are for people."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at all pages when they are written."""
    app.connect("build-finished", _look)
    return {"parallel_read_safe": True}


def _look(app: Sphinx, exception: Exception | None) -> None:
    for suffix in ("html", "css"):
        for file in sorted(Path(app.outdir).rglob(f"*.{suffix}")):
            for found in _FETCHED.findall(file.read_text(encoding="utf-8")):
                _LOG.warning("%s fetches %s", file.name, "".join(found))
