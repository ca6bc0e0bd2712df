"""The command line: one file per command, imported when the command is called.

Data go to standard output, messages and progress to standard error.
"""

import logging
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from mhpc.cli.messages import explain_error, say, show_no_traceback, show_warning, to_one_line
from mhpc.cli.signals import exit_if_signalled, exit_on_signal
from mhpc.cli.streams import flush_output, flush_output_quietly, guard_streams
from mhpc.errors import MhpcError, MhpcWarning, spell_options
from mhpc.system.checkpoints import RESUME, RESUME_HINT
from mhpc.system.limits import COMMAND_NEEDS, check_limits, save_memory

COMMANDS = {
    "demo": "mhpc.cli.demo:demo",
    "inspect": "mhpc.cli.inspect:inspect",
    "consolidate": "mhpc.cli.consolidate:consolidate",
    "compare": "mhpc.cli.compare:compare",
    "evaluate": "mhpc.cli.evaluate:evaluate",
    "explain": "mhpc.cli.explain:explain",
    "conflicts": "mhpc.cli.explain:conflicts",
    "sources": "mhpc.cli.sources:sources",
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


HELP = ["--help", "-h"]


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
        if not ctx.resilient_parsing:
            save_memory()
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyCommands,
    context_settings={"help_option_names": HELP, "max_content_width": 100},
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
    warnings.showwarning = show_warning
    if args is None and "--debug" not in words:
        show_no_traceback()
    warnings.simplefilter("always", MhpcWarning)
    try:
        if args is None:
            guard_streams()
            _check_limits(words)
            exit_on_signal()
        code = _call(words)
    except (KeyboardInterrupt, click.Abort):
        say("mhpc: interrupted")
        code = 130
    except click.ClickException as error:
        # Arguments may be anything; for type checkers, the message is final.
        vars(error)["message"] = to_one_line(error.message)
        error.show()
        code = error.exit_code
    except SystemExit:
        raise
    except BaseException as error:
        if "--debug" in words:
            raise
        notes = (RESUME if note == RESUME_HINT else note for note in _notes(error))
        hints = "".join(f"; {spell_options(note)}" for note in notes)
        say(f"mhpc: error: {explain_error(error)}{hints}")
        code = error.exit_code if isinstance(error, MhpcError) else 1
    sys.exit(code if isinstance(code, int) else 0)


def _check_limits(words: list[str]) -> None:
    """Refuse a command for which the limits of the system are too low.

    Before a thread is started, and before the command loads libraries: both may hang or crash for
    want of memory.
    """
    command = next((word for word in words if word in COMMANDS), None)
    if command and not {*HELP} & {*words}:
        check_limits(COMMAND_NEEDS, f"mhpc {command}")


def _call(words: list[str]) -> Any:
    """Call a command; after a signal, exit here, whatever libraries made of the signal."""
    try:
        code = cli.main(args=words, prog_name="mhpc", standalone_mode=False)
        flush_output()
    except SystemExit as error:
        exit_if_signalled(error)
        # Completion exits by itself, as does a reader that goes away.
        flush_output()
        raise
    except BaseException as error:
        exit_if_signalled(error)
        flush_output_quietly()
        raise
    return code


def _notes(error: BaseException) -> Sequence[str]:
    return getattr(error, "__notes__", ())
