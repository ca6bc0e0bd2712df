"""A page about one experiment: self-contained, the published figures beside ours."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.figure { background: white; padding: .5rem; overflow-x: auto; }
.figure img { width: 100%; min-width: 40rem; height: auto; display: block; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding: .4rem 0; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #8884; }
th, td { text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid #8888; }
code { font-size: .9em; }
footer { margin-top: 2rem; font-size: .85rem; opacity: .8; }
@media print { body { max-width: none; } .figure { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Table:
    """A small table of text, numbers formatted already."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Account:
    """What an experiment has to say: what was done, what came of it, and the figures."""

    setting: str
    findings: Sequence[str]
    tables: Sequence[Table]


def render_page(*, title: str, account: Account, svg: str, figure_text: str, made_by: str) -> str:
    """Return the page as HTML that needs nothing else."""
    picture = base64.b64encode(svg.encode()).decode()
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(account.setting)}</p>",
            "<ul>",
            *(f"<li>{escape(finding)}</li>" for finding in account.findings),
            "</ul>",
            f'<div class="figure"><img alt="{escape(figure_text)}" '
            f'src="data:image/svg+xml;base64,{picture}"></div>',
            *(_table(table) for table in account.tables),
            f"<footer>{escape(made_by)}</footer>",
            "</body></html>",
            "",
        ]
    )


def render_index(entries: Sequence[tuple[str, str, str]]) -> str:
    """Return a page that leads to the others: name, title and first finding of each."""
    items = [
        f'<li><a href="{escape(name)}.html">{escape(title)}</a>: {escape(finding)} '
        f'(<a href="{escape(name)}.csv">table</a>, <a href="{escape(name)}.svg">figure</a>)</li>'
        for name, title, finding in entries
    ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>The paper and this package</title><style>{_STYLE}</style></head><body>",
            "<h1>The paper's experiments, beside the published figures</h1>",
            "<ul>",
            *items,
            "</ul></body></html>",
            "",
        ]
    )


def _table(table: Table) -> str:
    header = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    return (
        f'<div class="wide"><table><caption>{escape(table.caption)}</caption>'
        f"<thead><tr>{header}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )
