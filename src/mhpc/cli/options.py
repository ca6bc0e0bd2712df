"""Options from RunSettings; output."""

import json
import sys
from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_args, get_origin

import click

from mhpc.cli.progress import Show
from mhpc.methods.registry import METHODS
from mhpc.rules.registry import RULES
from mhpc.settings import RunSettings

Function = TypeVar("Function", bound=Callable[..., Any])


def pair(text: str) -> tuple[str, str]:
    """Split ``KEY=VALUE`` at the first ``=``."""
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise click.BadParameter(f"{text!r} is not KEY=VALUE")
    return key.strip(), value.strip()


def parameter(text: str) -> tuple[str, str | None]:
    """Split ``KEY=VALUE``; ``none`` is None, as `mhpc methods` writes it."""
    key, value = pair(text)
    return key, None if value.lower() == "none" else value


def _methods(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in METHODS if name.startswith(incomplete)]


def _rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in RULES if name.startswith(incomplete)]


def _formats(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from mhpc.read.vote_formats import VOTE_FORMATS

    return [name for name in VOTE_FORMATS if name.startswith(incomplete)]


def _hierarchies(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from mhpc.read.taxonomy_formats import TAXONOMY_FORMATS

    return [name for name in TAXONOMY_FORMATS if name.startswith(incomplete)]


_FLAGS: dict[str, dict[str, Any]] = {
    "format": {"metavar": "NAME", "shell_complete": _formats},
    "taxonomy": {"metavar": "FILE"},
    "taxonomy_format": {"metavar": "NAME", "shell_complete": _hierarchies},
    "method": {"metavar": "NAME", "shell_complete": _methods},
    "parameters": {"flag": "--set", "metavar": "KEY=VALUE", "type": parameter},
    "columns": {"flag": "--column", "metavar": "ROLE=NAME", "type": pair},
    "scope": {"metavar": "all|used|FILE"},
    "rule": {"metavar": "NAME", "shell_complete": _rules},
    "threshold": {"metavar": "LEVEL"},
    "paths": {"metavar": "COUNT", "type": int},
    "depth_bias": {"flag": "--depth-bias", "metavar": "NUMBER", "type": float},
    "top": {"metavar": "COUNT|all"},
    "apply": {"metavar": "OUT/"},
    "memory": {"metavar": "SIZE"},
    "engine": {"metavar": "local|dask[=ADDRESS]"},
    "truth": {"metavar": "FILE"},
    "gold": {"metavar": "FILE"},
}
"""What the command line adds to a setting's declaration: how it is spelt."""


def setting(name: str) -> Callable[[Function], Function]:
    """Return a decorator that adds the option of one run setting."""
    field = RunSettings.model_fields[name]
    extra = dict(_FLAGS.get(name, {}))
    flag = extra.pop("flag", f"--{name.replace('_', '-')}")
    help_text = " ".join((field.description or "").split())
    if field.annotation is not None and get_origin(field.annotation) is dict:
        extra["multiple"] = True
        help_text += " May be given several times."
    elif field.annotation is bool:
        # None unless given, so that a settings file may say yes.
        return click.option(flag, name, help=help_text, is_flag=True, default=None)
    elif get_origin(field.annotation) is Literal:
        extra["type"] = click.Choice(get_args(field.annotation))
    if not field.is_required() and field.default_factory is None and field.default is not None:
        help_text += f"  [default: {field.default}]"
    # No default reaches click: what is not given is left to the settings file, then to
    # RunSettings itself.
    return click.option(flag, name, help=help_text, **extra)


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that the command line names, as RunSettings takes them."""
    named = {name: value for name, value in values.items() if value not in (None, ())}
    return {
        name: dict(value) if isinstance(value, tuple) else value for name, value in named.items()
    }


def progress_option(function: Function) -> Function:
    """Add ``--progress``: how to show it, which changes no result."""
    option = click.option(
        "--progress", "show_progress", type=click.Choice(get_args(Show)), default="auto",
        show_default=True,
        help="How to show on standard error what takes longer than a second: a bar, plain lines, "
        "or nothing. auto: a bar on a terminal, lines elsewhere.",
    )  # fmt: skip
    return option(function)


def votes_option(function: Function) -> Function:
    """Add ``--votes``, for commands that read a run's votes again."""
    option = click.option(
        "--votes", metavar="FILE",
        help="Where the votes are that OUT/ was made of, if they are no longer where they were.",
    )  # fmt: skip
    return option(function)


def as_json(function: Function) -> Function:
    """Add ``--json``."""
    option = click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
    return option(function)


WIDTH_OF_A_FILE = 120


def show(facts: Any, render: Callable[[Any], Any], *, as_json: bool) -> None:
    """Print facts on standard output, as JSON or as a person reads them."""
    if as_json:
        from mhpc.report.summary import plain

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
