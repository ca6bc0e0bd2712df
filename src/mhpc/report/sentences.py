"""The findings of a run in sentences, for the end of a run in a terminal and for the report."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mhpc.data.combination import Combination
from mhpc.data.disagreement import ConfusedPair
from mhpc.data.profiles import SourceProfile
from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import pluralize

_MAX_NAMES = 3
"""Correlated sources that a sentence names."""


def describe_data(counts: Mapping[str, int]) -> str:
    """Say how many sources answered about how many instances, with how many labels."""
    return (
        f"{pluralize(counts['sources'], 'source')} gave {pluralize(counts['answers'], 'answer')} "
        f"about {pluralize(counts['instances'], 'instance')}. The taxonomy has "
        f"{pluralize(counts['labels'], 'label')} on {pluralize(counts['levels'], 'level')}."
    )


def describe_method(method: str, combination: Combination | None) -> str:
    """Name the method and, where it combines others, these."""
    if combination is None:
        return f"Method: {method}"
    return f"Method: {method}, which combined {', '.join(combination.members)}"


def describe_panel(combination: Combination) -> str:
    """Say how many of the sources are independent."""
    return (
        f"An instance was answered by {combination.answers_per_instance:.1f} sources on average, "
        f"who tell as much as {combination.effective_sources:.1f} independent ones"
    )


def describe_decision(decision: Mapping[str, Any]) -> str:
    """Say how many labels instances got, by which rule, and how many got none."""
    unlabelled = decision["instances_without_label"]
    ending = (
        f"{pluralize(unlabelled, 'instance')} got no label"
        if unlabelled
        else "every instance got a label"
    )
    return (
        f"{decision['labels_per_instance']:.1f} labels per instance ({_describe_rule(decision)}); "
        f"{ending}"
    )


def describe_disagreement(disputed: int, instances: int) -> str:
    """Say on how many instances sources contradict each other."""
    if not disputed:
        return "Sources never contradict each other."
    share = format_percent(disputed / max(instances, 1))
    return (
        f"Sources disagree on {pluralize(disputed, 'instance')} ({share}). An answer that is only "
        "less specific than another does not count as disagreement."
    )


def describe_confused_pair(pair: ConfusedPair, taxonomy: Taxonomy) -> str:
    """Name two labels that sources confuse; pairs are ranked by their excess over chance."""

    def name(label: str) -> str:
        return repr(taxonomy.names[taxonomy.labels.positions[label]])

    under = "" if pair.under is None else f", both under {name(pair.under)}"
    return (
        f"Most confused labels, given how common they are: {name(pair.first)} and "
        f"{name(pair.second)} ({pluralize(pair.count, 'time')}{under})."
    )


def describe_least_reliable(sources: Sequence[SourceProfile]) -> Iterator[str]:
    """Name the source with the highest lower bound of its proportion of rejected labels."""
    known = [source for source in sources if source.wrong.low == source.wrong.low]
    if len(known) < 2:
        return
    worst = max(known, key=lambda source: source.wrong.low)
    if not worst.wrong.value:
        return
    under = f", most of all under {worst.weaknesses[0].label}" if worst.weaknesses else ""
    yield (
        f"Least reliable source: {worst.source}. {format_percent(worst.wrong.value)} of its labels "
        f"were rejected (95 % interval {format_interval(worst.wrong.low, worst.wrong.high)}){under}"
    )


def describe_dependence(sources: Sequence[SourceProfile]) -> Iterator[str]:
    """Name the sources that agree with another one more than their reliability explains."""
    for kind, finding, preposition in (
        ("near-duplicate", "Near-duplicate sources", "of"),
        ("correlated", "Correlated sources", "with"),
    ):
        pairs = [
            f"{source.source} ({preposition} {source.nearest_source})"
            for source in sources
            if source.relation == kind
        ]
        if pairs:
            more = len(pairs) - _MAX_NAMES
            yield f"{finding}: {', '.join(pairs[:_MAX_NAMES])}" + (
                f" and {more:,} more" if more > 0 else ""
            )


def format_percent(value: float) -> str:
    """Return a proportion as ``38 %``, with one decimal below 1 %, or ``-`` if it is nan.

    >>> format_percent(0.382), format_percent(0.004), format_percent(0.0)
    ('38 %', '0.4 %', '0 %')
    """
    if value != value:
        return "-"
    percent = 100 * value
    return f"{percent:.1f} %" if 0 < percent < 0.95 else f"{percent:.0f} %"


def format_interval(low: float, high: float) -> str:
    """Return the ends of an interval of proportions as ``32 to 45 %``."""
    return f"{format_percent(low).removesuffix(' %')} to {format_percent(high)}"


def _describe_rule(decision: Mapping[str, Any]) -> str:
    if "threshold" not in decision:
        return f"rule {decision['rule']}"
    origin = {
        "matched": "set to give instances as many labels as answers have",
        "method": "set by the method",
        "given": "as given",
        "expected-f": f"expected F {decision.get('expected_f', 0):.2f}",
        "min-probability": f"minimum probability {decision.get('min_probability', 0):.3g}",
    }
    return f"threshold {decision['threshold']:.3g}, {origin[decision['threshold_from']]}"
