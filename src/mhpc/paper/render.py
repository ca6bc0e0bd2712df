"""Figures and HTML pages of the experiments."""

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from mhpc.errors import MissingExtraError
from mhpc.methods.registry import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METRIC_NAMES = {
    "ranking_loss": "ranking loss",
    "micro_auc": "micro-AUC",
    "coverage_error": "coverage error (labels)",
}
"""Axis labels of the metrics, with units."""

BETTER = {"ranking_loss": "lower", "micro_auc": "higher", "coverage_error": "lower"}

PUBLISHED_STYLE: dict[str, Any] = {
    "color": "black", "linestyle": "none", "marker": "x", "markersize": 7, "markeredgewidth": 1.8,
    "zorder": 5,
}  # fmt: skip
"""Crosses for published figures."""

# Colours from dark to light, so that they differ in greyscale; marks and dashes differ too.
_COLOURS = ("#00204c", "#7a1f3d", "#2a6f4e", "#b0521b", "#3f6fb5", "#8a8a00", "#9a6fb0", "#4fb0a5")
_MARKS = "osD^vP*X<>hd"
_HOLLOW = ("sa", "mpc-u")
"""Methods often covered by another one: a larger, hollow mark remains visible."""
_DASHES = ("-", "--", "-.", ":")

_SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "svg.fonttype": "path",
    # Ids in the SVG are random unless they are salted.
    "svg.hashsalt": "mhpc",
}


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in our style; Matplotlib reads text sizes when a text is created."""
    check_matplotlib()
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def check_matplotlib() -> None:
    """Raise if Matplotlib is missing; call this before the work that figures show."""
    try:
        import matplotlib  # noqa: F401 - only its presence matters
    except ImportError:
        raise MissingExtraError(
            "figures need the package matplotlib; pip install 'mhpc[report]'"
        ) from None


def new_figure(rows: int, columns: int, *, width: float = 9.0, height: float) -> "Figure":
    """Return an empty figure with a grid of axes, `figure.axes`, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.subplots(rows, columns, squeeze=False)
    return figure


def style(name: str, names: Iterable[str] = METHODS) -> dict[str, Any]:
    """Return the colour, mark and dash of a line; a registered method always has the same."""
    known = [*METHODS, *(other for other in names if other not in METHODS)]
    position = known.index(name)
    return {
        "color": _COLOURS[position % len(_COLOURS)],
        "marker": _MARKS[position % len(_MARKS)],
        "linestyle": _DASHES[position % len(_DASHES)],
        **({"fillstyle": "none", "markersize": 7.5} if name in _HOLLOW else {}),
    }


def plot_side_by_side(
    axes: "Axes",
    names: Sequence[str],
    series: Mapping[str, Sequence[tuple[float, float | None]]],
) -> None:
    """Draw one mark per method at every name, with its standard deviation."""
    step = 0.7 / len(series)
    for n, (method, points) in enumerate(series.items()):
        offset = (n - (len(series) - 1) / 2) * step
        axes.errorbar(
            [x + offset for x in range(len(names))],
            [value for value, _ in points],
            yerr=[sd or 0.0 for _, sd in points],
            label=method, capsize=2, **{**style(method), "linestyle": "none"},
        )  # fmt: skip
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axes.grid(visible=False, axis="x")
    for between in range(len(names) - 1):
        axes.axvline(between + 0.5, color="#dddddd", linewidth=0.6, zorder=0)


def log_scale(axes: "Axes") -> None:
    """Make the vertical axis logarithmic, with plain numbers as ticks."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def label_axes(axes: "Axes", *, x: str, metric: str) -> None:
    """Label both axes; an arrow beside the metric says which way is better."""
    arrow = "↓" if BETTER[metric] == "lower" else "↑"
    axes.set_xlabel(x)
    axes.set_ylabel(f"{METRIC_NAMES[metric]} {arrow}")


def legend_below(figure: "Figure", axes: "Axes", *, columns: int = 6) -> None:
    """Put one legend below all axes."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)))


def to_svg(figure: "Figure") -> str:
    """Return the figure as SVG that can be embedded in a page."""
    text = io.StringIO()
    with drawing():
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    content = text.getvalue()
    return "\n".join(line.rstrip() for line in content[content.index("<svg") :].splitlines()) + "\n"


def to_png(figure: "Figure") -> bytes:
    """Return the figure as PNG, for print at half a page width."""
    content = io.BytesIO()
    with drawing():
        figure.savefig(content, format="png", dpi=200, metadata={"Software": None})
    return content.getvalue()


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
    """A small table of formatted cells."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class ExperimentReport:
    """The setting of an experiment, its findings and its tables."""

    setting: str
    findings: Sequence[str]
    tables: Sequence[Table]


def render_page(
    *, title: str, report: ExperimentReport, svg: str, figure_text: str, made_by: str
) -> str:
    """Return a self-contained HTML page."""
    picture = base64.b64encode(svg.encode()).decode()
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(report.setting)}</p>",
            "<ul>",
            *(f"<li>{escape(finding)}</li>" for finding in report.findings),
            "</ul>",
            f'<div class="figure"><img alt="{escape(figure_text)}" '
            f'src="data:image/svg+xml;base64,{picture}"></div>',
            *(_table(table) for table in report.tables),
            f"<footer>{escape(made_by)}</footer>",
            "</body></html>",
            "",
        ]
    )


def render_index(entries: Sequence[tuple[str, str, str]]) -> str:
    """Return the index page: name, title and first finding of each experiment."""
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
