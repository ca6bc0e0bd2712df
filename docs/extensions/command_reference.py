"""The reference of the command line, from the commands themselves."""

from collections.abc import Iterator
from typing import Any

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from mhpc.cli import EXIT_CODES, cli


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the directives."""
    app.add_directive("commands", Commands)
    app.add_directive("exit-codes", ExitCodes)
    return {"parallel_read_safe": True}


class Commands(SphinxDirective):
    """Every command: how it is called, what it does, its arguments and options."""

    def run(self) -> list[nodes.Node]:
        """Return a section a command."""
        context = click.Context(cli, info_name="mhpc")
        text = "\n".join(
            line
            for name in cli.list_commands(context)
            for line in _section(cli.get_command(context, name), name, context)  # type: ignore[arg-type]
        )
        own = "\n".join(_options(cli, context))
        text = f"## mhpc\n\n{_paragraphs(cli.help)}\n\n{own}\n\n{text}"
        return self.parse_text_to_nodes(text, allow_section_headings=True)


class ExitCodes(SphinxDirective):
    """What the exit codes mean."""

    def run(self) -> list[nodes.Node]:
        """Return a table."""
        rows = "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
        return self.parse_text_to_nodes(f"| code | meaning |\n|---:|---|\n{rows}\n")


def _section(command: click.Command, name: str, above: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=above)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## mhpc {name}\n\n```text\nmhpc {name} {usage}\n```\n\n{_paragraphs(command.help)}\n"
    yield from _options(command, context)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Give a table of what the help lists, wording included."""
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    yield "| option | |\n|---|---|"
    for spelt, meaning in (record for record in records if record and record[1]):
        yield f"| `{_cell(spelt)}` | {_cell(_escaped(meaning))} |"
    yield ""


def _paragraphs(text: str | None) -> str:
    return _escaped("\n".join(line.strip() for line in (text or "").splitlines()))


def _escaped(text: str) -> str:
    """Keep Markdown from taking other signs than code for its own."""
    for sign in ("[", "]", "*", "_", "<", "$"):
        text = text.replace(sign, f"\\{sign}")
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
