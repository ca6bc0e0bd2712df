"""The end of a run as a person wants to read it in a terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from mhpc.data.disagreement import Disagreement, Disagreements
from mhpc.data.profiles import Proportion, SourceProfile
from mhpc.data.selection import Selection
from mhpc.data.summary import RunSummary
from mhpc.report.terminal import render_scorecards, render_sets, shown

_MOST_SOURCES = 12
_MOST_CONFLICTS = 3
_MOST_DISPUTES = 3


def render_summary(summary: RunSummary) -> RenderableType:
    """Return what was done and why, what to look at first, and how sources fare."""
    parts: list[RenderableType] = [shown(line) for line in _lines(summary)]
    parts += ["", _sources(summary)]
    if summary.scorecards:
        rows = [(f"{card.view} view", card) for card in summary.scorecards]
        parts += ["", render_scorecards(rows, title="against the truth")]
        parts.append(render_sets(summary.scorecards[0]))
    return Group(*parts)


def _lines(summary: RunSummary) -> Iterator[str]:
    counts, decision = summary.counts, summary.decision
    yield (
        f"{counts['instances']:,} instances, {counts['sources']:,} sources, "
        f"{counts['answers']:,} answers; {counts['labels']:,} labels in {counts['levels']} levels"
    )
    if summary.selection is None:
        yield f"method {summary.method}: {_parameters(summary.parameters)}{_settled(summary)}"
    else:
        yield from _choice(summary.selection)
    yield from summary.notes
    yield (
        f"labels: {decision['labels_per_instance']:.2f} an instance {_rule(decision)}; "
        f"{decision['instances_without_label']:,} without any"
    )
    yield from _contested(summary.conflicts)
    yield from _weakest(summary.sources)


def _choice(choice: Selection) -> Iterator[str]:
    closed, specific = " + ".join(choice.closed), " + ".join(choice.specific)
    chosen = closed if closed == specific else f"{closed}; for the specific view {specific}"
    of = f" of {len(choice.candidates)}" if choice.candidates else ""
    yield f"chosen{of}: {chosen}; {choice.reason} ({choice.seconds:.1f} s)"
    if choice.gold is not None:
        yield (
            f"gold: {choice.gold.instances:,} instances; scores were off the truth by "
            f"{choice.gold.before:.3f} in the mean, and are by {choice.gold.after:.3f}"
        )


def _contested(conflicts: Disagreements) -> Iterator[str]:
    if not conflicts.instances:
        yield "nobody contradicts another"
        return
    yield f"in dispute: {conflicts.disputed:,} instances; one more opinion is worth most on"
    for conflict in conflicts.instances[:_MOST_CONFLICTS]:
        yield f"  {conflict.instance}: {_disputes(conflict)}"


def _disputes(conflict: Disagreement) -> str:
    disputes = [
        f"{each.label} ({each.support} for, {each.against} against)"
        for each in conflict.disputed[:_MOST_DISPUTES]
    ]
    more = len(conflict.disputed) - len(disputes)
    listed = ", ".join(disputes) + (f" and {more} more" if more else "")
    return listed + (f"; all agree on {conflict.agreed}" if conflict.agreed else "")


def _weakest(sources: tuple[SourceProfile, ...]) -> Iterator[str]:
    """Name the source that the result contradicts most, by what is sure of it."""
    known = [facts for facts in sources if facts.wrong.low == facts.wrong.low]
    if len(known) > 1:
        weakest = max(known, key=lambda facts: facts.wrong.low)
        where = f", most below {weakest.weaknesses[0].label}" if weakest.weaknesses else ""
        yield (
            f"weakest source: {weakest.source}; {_interval(weakest.wrong)} of its most specific "
            f"labels are not in the result{where}"
        )
    copies = [facts for facts in sources if facts.copy]
    if copies:
        listed = ", ".join(
            f"{facts.source} of {facts.nearest_source}" for facts in copies[:_MOST_CONFLICTS]
        )
        more = len(copies) - _MOST_CONFLICTS
        yield f"copies or nearly so: {listed}" + (f" and {more} more" if more > 0 else "")


def _rule(decision: Mapping[str, Any]) -> str:
    if "threshold" not in decision:
        return f"by the rule {decision['rule']}"
    how = {
        "matched": "matched to the size of the answers",
        "method": "the method's own level",
        "given": "as given",
        "expected-f": f"highest expected F, {decision.get('expected_f', 0):.3g}",
        "min-probability": f"as sure as {decision.get('min_probability', 0):.3g}",
    }
    return f"at score >= {decision['threshold']:.3g} ({how[decision['threshold_from']]})"


def _sources(summary: RunSummary) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="")
    table.add_column("source")
    for name in ("answers", "coverage", "mean depth", "accurate", "vague", "wrong", "independence"):
        table.add_column(name, justify="right", no_wrap=True)
    by_answers = sorted(summary.sources, key=lambda s: -s.answers)
    for facts in by_answers[:_MOST_SOURCES]:
        depth = "" if facts.mean_depth != facts.mean_depth else f"{facts.mean_depth:.2f}"
        shares = (_share(share) for share in (facts.accurate, facts.vague, facts.wrong))
        table.add_row(
            shown(facts.source), f"{facts.answers:,}", f"{facts.coverage:.1%}", depth, *shares,
            f"{facts.independence:.2f}",
        )  # fmt: skip
    if len(by_answers) > _MOST_SOURCES:
        table.add_row(f"… {len(by_answers) - _MOST_SOURCES:,} more")
    return table


def _parameters(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters.items() if value is not None)


def _settled(summary: RunSummary) -> str:
    if not summary.trace:
        return ""
    last, solves = summary.trace[-1], len(summary.trace)
    if solves == 1:
        return f"; one solve, spread {last.spread:.2f}"
    state = "settled" if summary.converged else "NOT settled"
    return f"; {state} after {solves} solves, change {last.change:.1e}, spread {last.spread:.2f}"


def _share(share: Proportion) -> str:
    return "-" if share.value != share.value else f"{share.value:.1%}"


def _interval(share: Proportion) -> str:
    return f"{share.value:.1%} ({share.low:.0%} to {share.high:.0%})"
