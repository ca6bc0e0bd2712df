"""``mhpc methods``: the registry."""

from typing import Any

import click

from mhpc.cli.options import as_json, show


@click.command(short_help="List methods and parameters.")
@as_json
def methods(as_json: bool) -> None:
    """List the methods with their parameters, ranges, defaults and references."""
    from mhpc.methods.registry import METHODS, method_class
    from mhpc.report.terminal import render_methods

    facts: list[dict[str, Any]] = []
    for name in METHODS:
        found = method_class(name)
        facts.append(
            {
                "name": name,
                "summary": found.summary,
                "reference": found.reference,
                "parameters": found.describe(),
            }
        )
    show(facts, render_methods, as_json=as_json)
