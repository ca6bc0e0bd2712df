"""The command line: one command a file, loaded when it is called.

Data go to standard output, talk and progress to standard error.
"""

import io
import logging
import os
import sys
import warnings
from importlib import import_module
from typing import Any

import click

from mhpc.cli.signals import exit_if_signalled, exit_on_signal
from mhpc.errors import MhpcError, MhpcWarning
from mhpc.system.display import escape_control

COMMANDS = {
    "demo": "mhpc.cli.demo:demo",
    "inspect": "mhpc.cli.inspect:inspect",
    "consolidate": "mhpc.cli.consolidate:consolidate",
    "compare": "mhpc.cli.compare:compare",
    "evaluate": "mhpc.cli.evaluate:evaluate",
    "explain": "mhpc.cli.explain:explain",
    "conflicts": "mhpc.cli.explain:conflicts",
    "report": "mhpc.cli.report:report",
    "simulate": "mhpc.cli.simulate:simulate",
    "convert": "mhpc.cli.convert:convert",
    "reproduce": "mhpc.cli.reproduce:reproduce",
    "methods": "mhpc.cli.methods:methods",
}
"""Name and home of every command, in the order of the help."""

EXIT_CODES = {
    0: "done",
    1: "the data are wrong, or the machine failed",
    2: "the usage is wrong",
    130: "interrupted",
    143: "told to end",
}


class LazyCommands(click.Group):
    """Commands that are imported when they are called or helped with."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, naming the nearest ones when there is none."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from mhpc.errors import suggest

            ctx.fail(f"no command {args[0]!r}{suggest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> None:
        """Call a command; a reader who has had enough, as `head` has, is no error of ours."""
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # What is left in the buffer goes nowhere, instead of failing once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=LazyCommands,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
    epilog=f"Exit codes: {', '.join(f'{code} {what}' for code, what in EXIT_CODES.items())}.",
)
@click.version_option(package_name="mhpc")
@click.option("--debug", is_flag=True, help="Show where an error arose.")
@click.option("--verbose", is_flag=True, help="Log stages, their times and what was chosen.")
def cli(debug: bool, verbose: bool) -> None:
    """Consolidate labels that many sources took from one hierarchy.

    Start with `mhpc demo`, then look at your own data with `mhpc inspect VOTES --taxonomy T`.
    """
    if verbose:
        logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", stream=sys.stderr)
        logging.getLogger("mhpc").setLevel(logging.DEBUG)


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit; every error is one line unless --debug is given."""
    given = sys.argv[1:] if args is None else args
    if args is None:
        exit_on_signal()
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", MhpcWarning)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        # Tables are UTF-8 on the way in, so also on the way out, whatever the locale says.
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        code = _called(given)
    except (KeyboardInterrupt, click.Abort):
        click.echo("mhpc: interrupted", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (MhpcError, OSError, MemoryError) as error:
        if "--debug" in given:
            raise
        hints = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        click.echo(f"mhpc: error: {_one_line(error)}{hints}", err=True)
        code = getattr(error, "exit_code", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _called(given: list[str]) -> Any:
    """Call a command; after a signal, end here, whatever libraries made of it."""
    try:
        return cli.main(args=given, prog_name="mhpc", standalone_mode=False)
    except BaseException as error:
        exit_if_signalled(error)
        raise


def _one_line(error: BaseException) -> str:
    return _plain(error) or type(error).__name__


def _plain(message: object) -> str:
    """Return a message in one line; ids and names of files in it may hold anything."""
    return escape_control(" ".join(str(message).split()))


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, MhpcWarning):
        click.echo(f"mhpc: warning: {_plain(message)}", err=True)
