"""Options that several commands share, most of them made from `RunSettings`, and their output."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

import click

from mhpc.cli.progress import Display
from mhpc.methods.registry import METHODS
from mhpc.rules.registry import RULES
from mhpc.settings import RunSettings

Function = TypeVar("Function", bound=Callable[..., Any])

FILE_WIDTH = 120
"""Columns of a table in a pipe or a file, which have no width of their own."""


def parse_pair(text: str) -> tuple[str, str]:
    """Split ``KEY=VALUE`` at the first ``=``."""
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise click.BadParameter(f"{text!r} is not KEY=VALUE")
    return key.strip(), value.strip()


def parse_parameter(text: str) -> tuple[str, str | None]:
    """Split ``KEY=VALUE``; ``none`` becomes None, as `mhpc methods` writes it."""
    key, value = parse_pair(text)
    return key, None if value.lower() == "none" else value


def _complete(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def _vote_formats() -> Iterable[str]:
    from mhpc.read.vote_formats import VOTE_FORMATS

    return VOTE_FORMATS


def _taxonomy_formats() -> Iterable[str]:
    from mhpc.read.taxonomy_formats import TAXONOMY_FORMATS

    return TAXONOMY_FORMATS


_SPELLING: dict[str, dict[str, Any]] = {
    "format": {"metavar": "NAME", "shell_complete": _complete(_vote_formats)},
    "taxonomy": {"metavar": "FILE"},
    "taxonomy_format": {"metavar": "NAME", "shell_complete": _complete(_taxonomy_formats)},
    "method": {"metavar": "NAME", "shell_complete": _complete(lambda: METHODS)},
    "parameters": {"flag": "--set", "metavar": "KEY=VALUE", "type": parse_parameter},
    "columns": {"flag": "--column", "metavar": "[TABLE.]ROLE=NAME", "type": parse_pair},
    "separator": {"metavar": "TEXT"},
    "score_max": {"flag": "--score-max", "metavar": "NUMBER", "type": float},
    "negative": {"type": click.Choice(["mark", "score"])},
    "map": {"metavar": "FILE"},
    "scope": {"metavar": "all|used|FILE"},
    "abstain": {"metavar": "WORD"},
    "rule": {"metavar": "NAME", "shell_complete": _complete(lambda: RULES)},
    "threshold": {"metavar": "NUMBER"},
    "paths": {"metavar": "COUNT", "type": int},
    "depth_bias": {"flag": "--depth-bias", "metavar": "NUMBER", "type": float},
    "top": {"metavar": "COUNT|all"},
    "apply": {"metavar": "OUT/"},
    "update": {"metavar": "OUT/"},
    "memory": {"metavar": "SIZE"},
    "engine": {"metavar": "local|dask[=ADDRESS]"},
    "truth": {"metavar": "FILE"},
    "gold": {"metavar": "FILE"},
    "show": {"metavar": "FILE"},
    "embed_images": {"metavar": "SIZE"},
}
"""What the command line adds to the declaration of a setting: how its option is spelled."""


def setting(name: str) -> Callable[[Function], Function]:
    """Return a decorator that adds the option of one run setting."""
    field = RunSettings.model_fields[name]
    extra = dict(_SPELLING.get(name, {}))
    flag = extra.pop("flag", f"--{name.replace('_', '-')}")
    help_text = " ".join((field.description or "").split())
    if get_origin(field.annotation) in (dict, tuple):
        extra["multiple"] = True
        help_text += " May be given several times."
    elif field.annotation is bool:
        # None if it is not given, so that a settings file can turn it on.
        return click.option(flag, name, help=help_text, is_flag=True, default=None)
    elif get_origin(field.annotation) is Literal:
        extra["type"] = click.Choice(get_args(field.annotation))
    if not field.is_required() and field.default_factory is None and field.default is not None:
        help_text += f"  [default: {field.default}]"
    # Click gets no default: an option that is not given is left to the settings file, then to
    # RunSettings itself.
    return click.option(flag, name, help=help_text, **extra)


def given_settings(values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that were given on the command line, as RunSettings takes them."""
    return {
        name: dict(value) if _is_mapping(name) else value
        for name, value in values.items()
        if value not in (None, ())
    }


def _is_mapping(name: str) -> bool:
    field = RunSettings.model_fields.get(name)
    return field is not None and get_origin(field.annotation) is dict


def votes_argument(*, required: bool = True) -> Callable[[Function], Function]:
    """Return a decorator that adds the argument VOTES, of which there may be several."""
    return click.argument("votes", nargs=-1, required=required, metavar="VOTES…")


def one_or_all(votes: tuple[str, ...]) -> str | tuple[str, ...]:
    """Return inputs as `RunSettings` holds them: a single one is not a list."""
    return votes[0] if len(votes) == 1 else votes


def check_taxonomy_options(settings: Mapping[str, Any]) -> None:
    """Refuse options that say how to read a taxonomy if none is given."""
    if settings.get("taxonomy"):
        return
    if settings.get("taxonomy_format"):
        raise click.UsageError("--taxonomy-format needs a taxonomy; give --taxonomy FILE")
    if any(key.startswith("taxonomy.") for key in settings.get("columns", {})):
        raise click.UsageError("--column taxonomy.… needs a taxonomy; give --taxonomy FILE")


def progress_option(function: Function) -> Function:
    """Add ``--progress``, which changes no result."""
    option = click.option(
        "--progress", "display", type=click.Choice(get_args(Display)), default="auto",
        envvar="MHPC_PROGRESS", show_default=True,
        help="How to show progress on standard error, for stages that take longer than a second: a "
        "bar, plain lines, or none. auto: a bar on a terminal, plain lines elsewhere. The "
        "environment variable MHPC_PROGRESS sets the default.",
    )  # fmt: skip
    return option(function)


def votes_option(function: Function) -> Function:
    """Add ``--votes``, for commands that read the votes of a run again."""
    option = click.option(
        "--votes", metavar="FILE", multiple=True,
        help="The votes that OUT/ was made from, if they have been moved. May be given several "
        "times.",
    )  # fmt: skip
    return option(function)


def json_option(function: Function) -> Function:
    """Add ``--json``."""
    option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return option(function)


def show(facts: Any, render: Callable[[Any], Any], *, as_json: bool) -> None:
    """Print facts on standard output, as JSON or rendered for people."""
    if as_json:
        click.echo(format_json(facts))
    else:
        print_rich(render(facts))


def format_json(facts: Any) -> str:
    """Return facts as JSON, with line breaks for people."""
    from mhpc.report.summary import to_json

    return json.dumps(to_json(facts), indent=1)


def print_rich(renderable: Any) -> None:
    """Print on standard output, without colours if it is not a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else FILE_WIDTH
    # Ids are data: a word between two colons is not an emoji.
    Console(file=sys.stdout, highlight=False, emoji=False, width=width).print(renderable)
