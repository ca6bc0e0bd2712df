"""``mhpc methods``: the methods and their parameters."""

from typing import Any

import click

from mhpc.cli.options import json_option, show


@click.command(short_help="List the methods and their parameters.")
@json_option
def methods(as_json: bool) -> None:
    """List the methods with their references, and their parameters with ranges and defaults."""
    from mhpc.methods.registry import METHODS, method_class
    from mhpc.report.terminal import render_methods

    show([_describe(name, method_class(name)) for name in METHODS], render_methods, as_json=as_json)


def _describe(name: str, method: Any) -> dict[str, Any]:
    return {
        "name": name,
        "summary": method.summary,
        "reference": method.reference,
        "parameters": method.describe(),
    }
