"""The command line: one file per command, imported when the command is called.

Data go to standard output, messages and progress to standard error.
"""

import io
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from mhpc.cli.signals import exit_if_signalled, exit_on_signal
from mhpc.errors import MhpcError, MhpcWarning, spell_options
from mhpc.system.checkpoints import RESUME, RESUME_HINT
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
    "review": "mhpc.cli.review:review",
    "simulate": "mhpc.cli.simulate:simulate",
    "convert": "mhpc.cli.convert:convert",
    "reproduce": "mhpc.cli.reproduce:reproduce",
    "methods": "mhpc.cli.methods:methods",
}
"""The name and place of every command, in the order of the help."""

EXIT_CODES = {
    0: "success",
    1: "the data are wrong or the machine failed",
    2: "wrong usage",
    130: "interrupted",
    143: "terminated",
}


class LazyCommands(click.Group):
    """Commands that are imported when they are called or their help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
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
        """Find a command, or name the nearest ones if there is none."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from mhpc.errors import suggest

            ctx.fail(f"no command {args[0]!r}{suggest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> None:
        """Call a command; that a reader such as `head` closes the pipe is not an error."""
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # What is left in the buffer would fail once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=LazyCommands,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
    epilog=f"Exit codes: {'; '.join(f'{code} {what}' for code, what in EXIT_CODES.items())}.",
)
@click.version_option(package_name="mhpc")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option("--verbose", is_flag=True, help="Log the stages, their times and the methods used.")
def cli(debug: bool, verbose: bool) -> None:
    """Consolidate labels that many sources gave to the same instances, from one taxonomy.

    Start with `mhpc demo`, then look at your own data with `mhpc inspect VOTES --taxonomy T`.
    """
    if verbose:
        logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", stream=sys.stderr)
        logging.getLogger("mhpc").setLevel(logging.DEBUG)


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit; every error is one line unless --debug is given."""
    words = sys.argv[1:] if args is None else args
    if args is None:
        exit_on_signal()
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", MhpcWarning)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        # Tables are read as UTF-8, so they are written as UTF-8, whatever the locale is.
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        code = _call(words)
    except (KeyboardInterrupt, click.Abort):
        click.echo("mhpc: interrupted", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (MhpcError, OSError, MemoryError) as error:
        if "--debug" in words:
            raise
        notes = (RESUME if note == RESUME_HINT else note for note in _notes(error))
        hints = "".join(f"; {spell_options(note)}" for note in notes)
        message = _to_one_line(error) or type(error).__name__
        click.echo(f"mhpc: error: {message}{hints}", err=True)
        code = getattr(error, "exit_code", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _call(words: list[str]) -> Any:
    """Call a command; after a signal, exit here, whatever libraries made of the signal."""
    try:
        return cli.main(args=words, prog_name="mhpc", standalone_mode=False)
    except BaseException as error:
        exit_if_signalled(error)
        raise


def _notes(error: BaseException) -> Sequence[str]:
    return getattr(error, "__notes__", ())


def _to_one_line(message: object) -> str:
    """Return a message in one line, with options; ids and file names in it may be anything."""
    return escape_control(" ".join(spell_options(message).split()))


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, MhpcWarning):
        click.echo(f"mhpc: warning: {_to_one_line(message)}", err=True)
