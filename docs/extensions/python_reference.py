"""Document the public Python names from their docstrings."""

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

import mhpc
from mhpc.methods.registry import METHODS, method_class
from mhpc.parameters import Parameters
from mhpc.rules.registry import RULES, rule_class


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive, and link names in signatures to where they are documented."""
    app.add_directive("interface", Interface)
    app.connect("missing-reference", _resolve_by_public_name)
    return {"parallel_read_safe": True}


class Interface(SphinxDirective):
    """Document every public name of one kind."""

    required_arguments = 1
    names: ClassVar[dict[str, Callable[[], list[str]]]] = {
        "functions": lambda: [name for name in mhpc.__all__ if inspect.isfunction(_get(name))],
        "data": lambda: [name for name in mhpc.__all__ if _is_data(_get(name))],
        "methods": lambda: [method_class(name).__name__ for name in METHODS],
        "rules": lambda: [rule_class(name).__name__ for name in RULES],
        "errors": lambda: [name for name in mhpc.__all__ if _is_error(_get(name))],
    }

    def run(self) -> list[nodes.Node]:
        """Return the output of autodoc."""
        text = "\n".join(map(_document, self.names[self.arguments[0]]()))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def _document(name: str) -> str:
    item = _get(name)
    if inspect.isfunction(item):
        return _directive(name, f".. autofunction:: mhpc.{name}")
    if _is_parameters(item):
        # The table gives the ranges; in the signature their types would bury the names.
        defaults = ", ".join(f"{field['name']}={field['default']!r}" for field in item.describe())
        signature = f".. autoclass:: mhpc.{name}(*, {defaults})"
        return _directive(name, signature) + _parameter_table(item)
    return _directive(name, f".. autoclass:: mhpc.{name}\n   :members:")


def _directive(name: str, text: str) -> str:
    return f"### {name}\n\n```{{eval-rst}}\n{text}\n```\n"


def _parameter_table(item: type[Parameters]) -> str:
    """Return the parameters of a method or rule with their ranges, as `mhpc methods` does."""
    rows = [
        f"| `{field['name']}` | {_cell(field['range'])} | `{_cell(field['default'])}` | "
        f"{_cell(field['meaning'])} |"
        for field in item.describe()
    ]
    return "\n".join(["| parameter | range | default | |", "|---|---|---|---|", *rows, ""])


def _cell(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")


def _get(name: str) -> Any:
    return getattr(mhpc, name)


def _is_parameters(item: Any) -> bool:
    return inspect.isclass(item) and issubclass(item, Parameters)


def _is_error(item: Any) -> bool:
    return inspect.isclass(item) and issubclass(item, BaseException | Warning)


def _is_data(item: Any) -> bool:
    return inspect.isclass(item) and not _is_parameters(item) and not _is_error(item)


def _resolve_by_public_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: nodes.Element
) -> nodes.Node | None:
    """Link the public names in a signature; leave the others as plain text."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"].rpartition(".")[2]
    if name not in dir(mhpc):
        return contnode
    python = env.domains.python_domain
    return python.resolve_xref(
        env, node["refdoc"], app.builder, "obj", f"mhpc.{name}", node, contnode
    ) or contnode  # fmt: skip
