"""Printing: tables for people, JSON for programs."""

import json
import sys
from collections.abc import Callable
from typing import Any

import click

WIDTH_OF_A_FILE = 120


def show(facts: Any, render: Callable[[Any], Any], *, as_json: bool) -> None:
    """Print facts on standard output, as JSON or as a person reads them."""
    if as_json:
        from mhpc.report.document import plain

        click.echo(json.dumps(plain(facts), indent=1))
    else:
        print_rich(render(facts))


def print_rich(renderable: Any) -> None:
    """Print on standard output; plain text where that is no terminal."""
    from rich.console import Console

    # A pipe or a log file has no width of its own; tables should not be squeezed for it.
    width = None if sys.stdout.isatty() else WIDTH_OF_A_FILE
    # Ids are data: what is between two colons is no name of a picture.
    Console(file=sys.stdout, highlight=False, emoji=False, width=width).print(renderable)
