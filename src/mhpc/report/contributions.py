"""What sources are worth: in sentences, as tables for terminals and files, and for the page."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from mhpc.data.contributions import PanelPoint, SourceContribution, SourceContributions
from mhpc.data.profiles import SourceProfile
from mhpc.errors import pluralize
from mhpc.explanation.source_groups import CORRELATED, NEAR_DUPLICATE
from mhpc.report.sentences import format_percent
from mhpc.report.terminal import escape_text

_MAX_NAMES = 6
"""Sources that a sentence names."""

_MAX_GROUPS = 3
"""Groups that are listed."""

_MAX_ROWS = 30
"""Rows of a table in a terminal."""

COLUMNS = (
    "source", "answers", "changed", "agreement", "same_alone", "duplicates", "kept",
    "exact_match_without", "f_without",
)  # fmt: skip
"""The columns of the table in a file."""


def describe_contributions(found: SourceContributions) -> Iterator[str]:
    """Say what sources are worth, findings first."""
    yield _describe_number(found)
    yield from _describe_changes(found.sources)
    yield from _describe_groups(found.groups, "near-duplicates")
    others = [group for group in found.correlated if group not in found.groups]
    yield from _describe_groups(others, "correlated")
    yield from _describe_alone(found.sources)
    yield from _describe_accuracy(found)
    yield from _describe_kept(found)


def _describe_number(found: SourceContributions) -> str:
    total, answered = len(found.sources), _format_number(found.answers_per_instance)
    effective = _format_number(found.effective_sources)
    if answered == effective:
        worth = "independent of each other"
    else:
        worth = f"worth {effective} independent {'one' if effective == '1' else 'ones'}"
    if answered == str(total):
        return f"{pluralize(total, 'source')}, {worth}."
    verb = "is" if answered == "1" else "are"
    return (
        f"{pluralize(total, 'source')}. The {answered} that answered an average instance "
        f"{verb} {worth}."
    )


def _format_number(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _describe_changes(sources: Sequence[SourceContribution]) -> Iterator[str]:
    measured = [each for each in sources if each.changed is not None and each.answers]
    if not measured:
        return
    most = measured[0]
    if not most.changed:
        yield "No label set changes without any one of the sources."
        return
    yield (
        f"The result depends most on {most.source}: {format_percent(most.changed)} of the label "
        "sets change without it."
    )
    idle = [each.source for each in measured if not each.changed]
    if len(idle) == 1:
        yield f"Without {idle[0]} nothing changes."
    elif idle:
        yield f"Nothing changes without any one of {_join(idle)}."


def _describe_groups(groups: Sequence[Sequence[str]], kind: str) -> Iterator[str]:
    for group in groups[:_MAX_GROUPS]:
        yield f"{pluralize(len(group), 'source')} are {kind}: {_join(group)}."
    if len(groups) > _MAX_GROUPS:
        more = pluralize(len(groups) - _MAX_GROUPS, "more group")
        yield f"{more} of sources are {kind}."


def _describe_alone(sources: Sequence[SourceContribution]) -> Iterator[str]:
    known = [each for each in sources if each.alone == each.alone]
    if known:
        # Of equal ones, the one with the most answers says most.
        best = max(known, key=lambda each: (each.alone, each.answers))
        yield (
            f"Alone, {best.source} would give the same label set on {format_percent(best.alone)} "
            f"of the {pluralize(best.answers, 'instance')} that it answered."
        )


def _describe_accuracy(found: SourceContributions) -> Iterator[str]:
    if found.accuracy is None:
        return
    yield (
        f"On {pluralize(found.gold, 'instance')} with gold labels, all sources together have a "
        f"mean F of {found.accuracy.f:.3f}; {format_percent(found.accuracy.exact_match)} of the "
        "label sets match exactly."
    )
    without = [(each.accuracy.f, each.source) for each in found.sources if each.accuracy]
    (lowest, needed), (highest, harmful) = min(without), max(without)
    if round(lowest, 3) < round(found.accuracy.f, 3):
        yield f"Without {needed} it falls most, to {lowest:.3f}."
    if round(highest, 3) > round(found.accuracy.f, 3):
        yield f"Without {harmful} it rises most, to {highest:.3f}."


def _describe_kept(found: SourceContributions) -> Iterator[str]:
    if found.kept_point is None:
        return
    total, full = len(found.sources), found.curve[0]
    if len(found.kept) == total:
        yield (
            f"No smaller panel has {format_percent(found.keep)} of the quality of all sources; "
            "keep all of them."
        )
        return
    quality = found.kept_point.quality.value / (full.quality.value or 1.0)
    yield (
        f"Keep {len(found.kept)} of the {total} sources ({_join(found.kept)}): "
        f"{format_percent(quality)} of the quality for "
        f"{format_percent(found.kept_point.cost / (full.cost or 1.0))} of the cost."
    )


def describe_measurement(found: SourceContributions) -> str:
    """Say how it was measured."""
    quality = (
        "Quality is the mean F against gold labels"
        if found.gold
        else "Quality is the mean F between the label sets of a panel and those of all sources"
    )
    price = "the prices given" if found.has_prices else "1 per answer"
    curve = (
        f" {quality}, on {pluralize(found.gold or found.instances, 'instance')}; cost is {price}."
    )
    most = pluralize(max(each.instances for each in found.sources), "instance")
    return (
        "Measured with the fitted model, which was not fitted again without the sources, on at "
        f"most {most} per source.{curve if found.curve else ''}"
    )


def _join(names: Sequence[str]) -> str:
    listed = list(names[:_MAX_NAMES])
    if len(names) > _MAX_NAMES:
        return f"{', '.join(listed)} and {len(names) - _MAX_NAMES:,} more"
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))


def render_contributions(found: SourceContributions) -> RenderableType:
    """Render findings, sources and the curve for a terminal."""
    parts: list[RenderableType] = [escape_text(line) for line in describe_contributions(found)]
    parts += ["", _render_sources(found)]
    if len(found.sources) > _MAX_ROWS:
        parts.append(f"… and {len(found.sources) - _MAX_ROWS:,} more; -o FILE.csv has all")
    if found.curve:
        parts += ["", _render_curve(found), "* the panel to keep"]
    return Group(*parts, "", describe_measurement(found))


def _render_sources(found: SourceContributions) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("source", overflow="fold")
    headers = ["answers", "changes without it", "agreement", "same set alone"]
    if found.accuracy:
        headers += ["F without it", "exact match without it"]
    for header in headers:
        table.add_column(header, justify="right")
    table.add_column("keep")
    for each in found.sources[:_MAX_ROWS]:
        accuracy = [] if each.accuracy is None else [each.accuracy.f, each.accuracy.exact_match]
        table.add_row(
            escape_text(each.source),
            f"{each.answers:,}",
            _cell(each.changed, format_percent),
            _cell(each.agreement, _three_digits),
            _cell(each.alone, format_percent),
            *map(_three_digits, accuracy),
            "keep" if each.source in found.kept else "",
        )
    return table


def _render_curve(found: SourceContributions) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("sources", "cost", "quality", "95 % interval"):
        table.add_column(header, justify="right")
    table.add_column("dropped", overflow="fold")
    for point in _select_points(found.curve):
        value, low, high = point.quality
        mark = " *" if point == found.kept_point else ""
        table.add_row(
            f"{point.sources}{mark}",
            f"{point.cost:,.6g}",
            _three_digits(value),
            "" if low != low else f"{low:.3f} to {high:.3f}",
            escape_text(_join(point.dropped)) if point.dropped else "",
        )
    return table


def _select_points(curve: Sequence[PanelPoint]) -> Sequence[PanelPoint]:
    return curve if len(curve) <= _MAX_ROWS else (*curve[:1], *curve[1 - _MAX_ROWS :])


def _three_digits(value: float) -> str:
    return f"{value:.3f}"


def _cell(value: float | None, render: Any) -> str:
    return "" if value is None or value != value else str(render(value))


def list_rows(found: SourceContributions) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table with `COLUMNS`, one per source."""
    for each in found.sources:
        group = () if each.group is None else found.groups[each.group]
        exact_match, f = each.accuracy or (None, None)
        kept = None if not found.kept else ("yes" if each.source in found.kept else "no")
        yield (
            each.source, each.answers, each.changed, each.agreement, each.alone,
            ", ".join(name for name in group if name != each.source), kept, exact_match, f,
        )  # fmt: skip


def contributions_facts(
    found: SourceContributions, profiles: Sequence[SourceProfile]
) -> dict[str, Any]:
    """Return what the page shows, with sources as positions in the list of profiles."""
    position = {profile.source: m for m, profile in enumerate(profiles)}
    by_source = {each.source: each for each in found.sources}
    entries = [by_source[profile.source] for profile in profiles]
    return {
        "sentences": [*describe_contributions(found)],
        "measured": describe_measurement(found),
        "effective_sources": round(found.effective_sources, 3),
        "answers_per_instance": round(found.answers_per_instance, 3),
        "changed": [_round(each.changed) for each in entries],
        "agreement": [_round(each.agreement) for each in entries],
        "alone": [_round(each.alone) for each in entries],
        "f_without": None if not found.gold else [_f_without(each) for each in entries],
        "thresholds": {"near_duplicate": NEAR_DUPLICATE, "correlated": CORRELATED},
        "groups": [[position[name] for name in group] for group in found.groups],
        "correlated": [[position[name] for name in group] for group in found.correlated],
        "tree": {
            "sources": [position[name] for name in found.tree.sources],
            "merges": [[a, b, round(dependence, 4)] for a, b, dependence in found.tree.merges],
        },
        "curve": [
            {
                "sources": point.sources,
                "cost": point.cost,
                "quality": [_round(value) for value in point.quality],
                "dropped": [position[name] for name in point.dropped],
            }
            for point in found.curve
        ],
        "kept": [position[name] for name in found.kept],
        "keep": found.keep,
        "gold": found.gold,
        "instances": found.instances,
    }


def _f_without(each: SourceContribution) -> float | None:
    return None if each.accuracy is None else round(each.accuracy.f, 4)


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
