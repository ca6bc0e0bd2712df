"""Fail the build if a page would fetch anything from another host."""

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
"""What a browser fetches by itself to show a page or a style sheet. Links are allowed."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Check all pages after they are written."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True}


def _check(app: Sphinx, exception: Exception | None) -> None:
    for suffix in ("html", "css"):
        for file in sorted(Path(app.outdir).rglob(f"*.{suffix}")):
            for addresses in _FETCHED.findall(file.read_text(encoding="utf-8")):
                _LOG.warning("%s fetches %s", file.name, "".join(addresses))
