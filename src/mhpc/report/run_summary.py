"""The end of a run as people read it in a terminal: findings, what to review, and the sources."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from mhpc.data.disagreement import Disagreement
from mhpc.data.profiles import SourceProfile
from mhpc.data.summary import RunSummary
from mhpc.report.sentences import (
    describe_data,
    describe_decision,
    describe_dependence,
    describe_gold,
    describe_least_reliable,
    describe_method,
    describe_panel,
    format_percent,
    name_label,
)
from mhpc.report.terminal import escape_text, render_label_sets, render_scorecards

_MAX_SOURCES = 12
_MAX_INSTANCES = 3
_MAX_LABELS = 3


def render_summary(summary: RunSummary) -> RenderableType:
    """Render the findings of a run, the table of its sources, and the metrics if there are any."""
    parts: list[RenderableType] = [
        *map(escape_text, _describe_run(summary)),
        *_review(summary),
        *map(escape_text, describe_least_reliable(summary.sources, summary.names)),
        *map(escape_text, describe_dependence(summary.sources)),
        "",
        _source_table(summary.sources),
    ]
    if summary.scorecards:
        rows = [(f"{card.view} view", card) for card in summary.scorecards]
        parts += ["", render_scorecards(rows, title="Compared with the truth")]
        parts.append(render_label_sets(summary.scorecards[0]))
    return Group(*parts)


def _describe_run(summary: RunSummary) -> Iterator[str]:
    yield describe_data(summary.counts)
    yield _method(summary)
    yield from describe_panel(summary.combination)
    yield from describe_gold(summary.combination)
    yield from summary.notes
    yield describe_decision(summary.decision)


def _method(summary: RunSummary) -> str:
    line = describe_method(summary.method, summary.combination)
    if summary.combination is not None:
        return line
    parameters = _format_parameters(summary.parameters)
    return line + (f" ({parameters})" if parameters else "") + _convergence(summary)


def _format_parameters(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters.items() if value is not None)


def _convergence(summary: RunSummary) -> str:
    if not summary.trace:
        return ""
    last, iterations = summary.trace[-1], len(summary.trace)
    if iterations == 1:
        return f"; solved once, spread of the scores {last.spread:.2f}"
    state = "converged after" if summary.converged else "stopped before it converged, after"
    return (
        f"; {state} {iterations} iterations, last change {last.change:.1e}, spread of the scores "
        f"{last.spread:.2f}"
    )


def _review(summary: RunSummary) -> Iterator[RenderableType]:
    conflicts = summary.conflicts
    if not conflicts.instances:
        several = len(summary.sources) > 1
        yield conflicts.heading if several else "There is only one source"
        return
    yield f"{conflicts.heading} first:"
    table = Table(box=None, pad_edge=False, show_header=False)
    for disagreement in conflicts.instances[:_MAX_INSTANCES]:
        disputed = _disputed_labels(disagreement, conflicts.names)
        table.add_row(escape_text(f"  {disagreement.instance}"), escape_text(disputed))
    yield table


def _disputed_labels(disagreement: Disagreement, names: Mapping[str, str]) -> str:
    labels = [
        f"{name_label(dispute.label, names)} ({dispute.support} for, {dispute.against} against)"
        for dispute in disagreement.disputed[:_MAX_LABELS]
    ]
    more = len(disagreement.disputed) - len(labels)
    text = ", ".join(labels) + (f" and {more} more" if more else "")
    text = text or "uncertain, though no source contradicts another"
    if disagreement.agreed is None:
        return text
    return f"{text}; all agree on {name_label(disagreement.agreed, names)}"


def _source_table(sources: tuple[SourceProfile, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    table.add_column("source")
    for name in ("answers", "coverage", "mean depth", "accurate", "vague", "wrong", "independence"):
        table.add_column(name, justify="right", no_wrap=True)
    by_answers = sorted(sources, key=lambda source: -source.answers)
    for source in by_answers[:_MAX_SOURCES]:
        proportions = (source.accurate, source.vague, source.wrong)
        table.add_row(
            escape_text(source.source),
            f"{source.answers:,}",
            format_percent(source.coverage),
            "" if source.mean_depth != source.mean_depth else f"{source.mean_depth:.2f}",
            *(format_percent(proportion.value) for proportion in proportions),
            f"{source.independence:.2f}",
        )
    if len(by_answers) > _MAX_SOURCES:
        table.add_row(f"… {len(by_answers) - _MAX_SOURCES:,} more")
    return table
