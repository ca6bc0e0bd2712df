"""The reference of the Python interface, from its docstrings."""

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
    """Offer the directive, and lead from where things are made to where they are told of."""
    app.add_directive("interface", Interface)
    app.connect("missing-reference", _elsewhere)
    return {"parallel_read_safe": True}


class Interface(SphinxDirective):
    """Everything of a kind that `import mhpc` gives."""

    required_arguments = 1
    relate_labels: ClassVar[dict[str, Callable[[], list[str]]]] = {
        "verbs": lambda: [name for name in mhpc.__all__ if inspect.isfunction(_of(name))],
        "nouns": lambda: [name for name in mhpc.__all__ if _is_noun(_of(name))],
        "methods": lambda: [method_class(name).__name__ for name in METHODS],
        "rules": lambda: [rule_class(name).__name__ for name in RULES],
        "errors": lambda: [name for name in mhpc.__all__ if _is_error(_of(name))],
    }

    def run(self) -> list[nodes.Node]:
        """Return what autodoc makes of them."""
        text = "\n".join(map(_told, self.relate_labels[self.arguments[0]]()))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def _told(name: str) -> str:
    found = _of(name)
    if inspect.isfunction(found):
        return _directive(name, f".. autofunction:: mhpc.{name}")
    if _is_parameters(found):
        # Ranges stand in the table; types that carry them would bury the names.
        given = ", ".join(f"{each['name']}={each['default']!r}" for each in found.describe())
        return _directive(name, f".. autoclass:: mhpc.{name}(*, {given})") + _parameters(found)
    return _directive(name, f".. autoclass:: mhpc.{name}\n   :members:")


def _directive(name: str, text: str) -> str:
    return f"### {name}\n\n```{{eval-rst}}\n{text}\n```\n"


def _parameters(found: type[Parameters]) -> str:
    """Return what a method or rule is told, with its range, as `mhpc methods` lists it."""
    rows = [
        f"| `{each['name']}` | {_cell(each['range'])} | `{_cell(each['default'])}` | "
        f"{_cell(each['meaning'])} |"
        for each in found.describe()
    ]
    return "\n".join(["| parameter | range | default | |", "|---|---|---|---|", *rows, ""])


def _cell(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")


def _of(name: str) -> Any:
    return getattr(mhpc, name)


def _is_parameters(found: Any) -> bool:
    return inspect.isclass(found) and issubclass(found, Parameters)


def _is_error(found: Any) -> bool:
    return inspect.isclass(found) and issubclass(found, BaseException | Warning)


def _is_noun(found: Any) -> bool:
    return inspect.isclass(found) and not _is_parameters(found) and not _is_error(found)


def _elsewhere(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: nodes.Element
) -> nodes.Node | None:
    """Resolve what a signature names: public things by their public name, others not at all."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"].rpartition(".")[2]
    if name not in dir(mhpc):
        return contnode
    python = env.domains.python_domain
    return python.resolve_xref(
        env, node["refdoc"], app.builder, "obj", f"mhpc.{name}", node, contnode
    ) or contnode  # fmt: skip
