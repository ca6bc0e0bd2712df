"""Render formulas as MathML, which browsers draw without scripts or downloads."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_LOG = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True}


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f"<div>{_mathml(node, as_block=True)}</div>\n")
    raise nodes.SkipNode


def _mathml(node: nodes.Element, *, as_block: bool) -> str:
    """Return the formula; warn if it cannot be read, which fails a strict build."""
    try:
        return str(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        _LOG.warning("%s: %s", error, node.astext(), location=node)
        return ""
