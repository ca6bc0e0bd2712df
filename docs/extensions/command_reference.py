"""Document the command line from the commands themselves."""

from collections.abc import Iterator
from typing import Any

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from mhpc.cli import EXIT_CODES, cli


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    app.add_directive("commands", Commands)
    app.add_directive("exit-codes", ExitCodes)
    return {"parallel_read_safe": True}


class Commands(SphinxDirective):
    """Document every command: usage, purpose, arguments and options."""

    def run(self) -> list[nodes.Node]:
        """Return one section per command."""
        context = click.Context(cli, info_name="mhpc")
        text = "\n".join(
            line
            for name in cli.list_commands(context)
            for line in _section(cli.get_command(context, name), name, context)  # type: ignore[arg-type]
        )
        group = "\n".join(_options(cli, context))
        text = f"## mhpc\n\n{_paragraphs(cli.help)}\n\n{group}\n\n{text}"
        return self.parse_text_to_nodes(text, allow_section_headings=True)


class ExitCodes(SphinxDirective):
    """Document the exit codes."""

    def run(self) -> list[nodes.Node]:
        """Return one table."""
        rows = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
        return self.parse_text_to_nodes(f"| code | meaning |\n|---:|---|\n{rows}\n")


def _section(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## mhpc {name}\n\n```text\nmhpc {name} {usage}\n```\n\n{_paragraphs(command.help)}\n"
    yield from _options(command, context)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield a table of the options, in the words of the help."""
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    yield "| option | |\n|---|---|"
    for option, meaning in (record for record in records if record and record[1]):
        yield f"| `{_cell(option)}` | {_cell(_escape(meaning))} |"
    yield ""


def _paragraphs(text: str | None) -> str:
    return _escape("\n".join(line.strip() for line in (text or "").splitlines()))


def _escape(text: str) -> str:
    """Escape everything that Markdown would interpret, except code."""
    for character in ("[", "]", "*", "_", "<", "$"):
        text = text.replace(character, f"\\{character}")
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
