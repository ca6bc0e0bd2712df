"""The findings of a run in sentences, for the end of a run in a terminal and for the report."""

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mhpc.data.combination import Combination
from mhpc.data.decision import RULE_SAMPLE
from mhpc.data.exclusive import ExclusiveConflicts
from mhpc.data.profiles import SourceProfile
from mhpc.data.summary import RunSummary
from mhpc.errors import pluralize, quote_list

_MAX_NAMES = 3
"""Correlated sources that a sentence names."""

_MIN_COVERAGE, _MIN_SAME_SETS, _MIN_ANSWERS = 0.95, 0.97, 20
"""A source does as well as all together if it answered at least this share of the instances, has
the decided label set on at least this share of them, and they are not too few to tell."""

_MIN_SOURCES, _MAX_EFFECTIVE = 2.0, 1.5
"""Sources are too similar if more than the former number answered the mean instance, and they are
worth less than the latter number of independent ones."""

_MIN_SHARE = 1 / 3
"""The share of a source's rejected labels from which on a sentence names the subtree with them."""

_FRACTIONS = ((1 / 3, "a third"), (1 / 2, "half"), (2 / 3, "two thirds"), (1.0, "all"))
"""Shares that are written as words if they are within `_NEAR` of it; all of them only exactly."""

_NEAR = 0.015


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
    return f"Method: {method}, a combination of {_join_names(combination.members)}"


def describe_panel(combination: Combination | None) -> Iterator[str]:
    """Say how many sources answered an instance, and how many independent ones they are worth."""
    if combination is None:
        return
    answers, effective = (
        f"{number:.1f}".removesuffix(".0")
        for number in (combination.answers_per_instance, combination.effective_sources)
    )
    if answers == "1":
        yield "On average, one source answered an instance"
        return
    value = (
        "independently of each other"
        if answers == effective
        else f"worth {effective} independent {'one' if effective == '1' else 'ones'}"
    )
    yield f"On average, {answers} sources answered an instance, {value}"


def describe_gold(combination: Combination | None) -> Iterator[str]:
    """Say how much gold labels improved the calibration."""
    if combination is None or combination.gold is None:
        return
    gold = combination.gold
    yield (
        f"Probabilities were calibrated on {pluralize(gold.instances, 'instance')} with gold "
        f"labels (calibration error {gold.before:.3f} before, {gold.after:.3f} after)"
    )


def describe_sufficient_sources(sources: Sequence[SourceProfile]) -> Iterator[str]:
    """Name the source that alone would give nearly the same result as all together."""
    sufficient = [
        source
        for source in sources
        if source.answers >= _MIN_ANSWERS
        and source.coverage >= _MIN_COVERAGE
        and source.same_set >= _MIN_SAME_SETS
    ]
    if len(sources) < 2 or not sufficient:
        return
    best = max(sufficient, key=lambda source: source.same_set)
    # Rounded down, so that 100 % means all of them.
    share = format_percent(math.floor(100 * best.same_set) / 100)
    others = len(sufficient) - 1
    yield (
        f"Source {best.source} alone would give the same label sets on {share} of its instances"
        + (
            f"; so would {pluralize(others, 'other source')} on at least "
            f"{format_percent(_MIN_SAME_SETS)}"
            if others
            else ""
        )
    )


def describe_similarity(combination: Combination | None) -> Iterator[str]:
    """Warn of sources that are so similar that they count as little more than one."""
    if (
        combination is not None
        and combination.answers_per_instance > _MIN_SOURCES
        and combination.effective_sources < _MAX_EFFECTIVE
    ):
        yield (
            "Sources are so similar that the result is little more than one opinion; "
            "its probabilities are likely too high"
        )


def describe_left_out(combination: Combination | None) -> Iterator[str]:
    """Name the sources that were left out."""
    if combination is not None and combination.left_out:
        names = quote_list(combination.left_out)
        yield f"Left out, since they add no information (constant, random or copied): {names}"


def describe_exclusive(conflicts: ExclusiveConflicts) -> Iterator[str]:
    """Say how many instances got labels that exclude each other, and name the first ones."""
    if conflicts.instances:
        verb = "has" if conflicts.instances == 1 else "have"
        more = conflicts.instances - _MAX_NAMES
        yield (
            f"{pluralize(conflicts.instances, 'instance')} {verb} labels that exclude each other, "
            f"according to the taxonomy: {quote_list(conflicts.first[:_MAX_NAMES])}"
            + (f" and {more:,} more" if more > 0 else "")
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


def describe_result(summary: RunSummary) -> Iterator[str]:
    """Say in about ten lines what was found, and what to do next in Python."""
    yield describe_data(summary.counts)
    yield describe_method(summary.method, summary.combination)
    yield from describe_panel(summary.combination)
    yield from describe_gold(summary.combination)
    yield describe_decision(summary.decision)
    disputed, first = summary.conflicts.disputed, summary.conflicts.instances[:_MAX_NAMES]
    yield describe_disagreement(disputed, summary.counts["instances"])
    if first:
        yield f"Review first: {', '.join(each.instance for each in first)}"
    yield from describe_most_reliable(summary.sources)
    yield from describe_least_reliable(summary.sources)
    yield from describe_dependence(summary.sources)
    instance = repr(first[0].instance) if first else "instance"
    yield (
        f"Next: result.to_frame(), mhpc.conflicts(result), mhpc.explain(result, {instance}), "
        "result.sources.plot(), result.report('report.html')"
    )


def describe_most_reliable(sources: Sequence[SourceProfile]) -> Iterator[str]:
    """Name the source with the lowest upper bound of its proportion of rejected labels."""
    known = [source for source in sources if source.wrong.high == source.wrong.high]
    if len(known) < 2:
        return
    best = min(known, key=lambda source: source.wrong.high)
    yield f"Most reliable source: {best.source}. {_describe_rejected(best)}"


def describe_least_reliable(
    sources: Sequence[SourceProfile], names: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Name the source with the highest lower bound of its proportion of rejected labels.

    The bound counts answers, not labels (see `explanation.sources`), so that a source is not named
    for a few answers with many labels. `names` are those of labels, as `name_label` takes them.
    """
    known = [source for source in sources if source.wrong.low == source.wrong.low]
    if len(known) < 2:
        return
    worst = max(known, key=lambda source: source.wrong.low)
    if not worst.wrong.value:
        return
    under = describe_weakness(worst, names)
    yield f"Least reliable source: {worst.source}. {_describe_rejected(worst)}" + (
        f"; {under}" if under else ""
    )


def describe_weakness(source: SourceProfile, names: Mapping[str, str]) -> str:
    """Say where a source errs most, if at least a third of its errors are there; else nothing.

    `names` are those of labels, as `name_label` takes them.
    """
    if not source.weaknesses or not source.rejected:
        return ""
    worst = source.weaknesses[0]
    share = worst.wrong / source.rejected
    if share < _MIN_SHARE:
        return ""
    return (
        f"{format_share(share)} of its rejected labels are under {name_label(worst.label, names)}"
    )


def _describe_rejected(source: SourceProfile) -> str:
    value, low, high = source.wrong
    return (
        f"On average, {format_percent(value)} of the labels in an answer were rejected "
        f"(95 % interval {format_interval(low, high)})"
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


def name_label(label: str, names: Mapping[str, str]) -> str:
    """Return the id of a label and its name, if there is one that differs.

    >>> name_label("GO:0008150", {"GO:0008150": "biological process"})
    'GO:0008150 biological process'
    >>> name_label("bee", {})
    'bee'
    """
    return f"{label} {names[label]}" if label in names else label


def format_percent(value: float) -> str:
    """Return a proportion as ``38 %``, with one decimal below 1 %, or ``-`` if it is nan.

    >>> format_percent(0.382), format_percent(0.004), format_percent(0.0)
    ('38 %', '0.4 %', '0 %')
    """
    if value != value:
        return "-"
    percent = 100 * value
    return f"{percent:.1f} %" if 0 < percent < 0.95 else f"{percent:.0f} %"


def format_share(share: float) -> str:
    """Return a share as a word where one fits, or as a percentage.

    >>> format_share(0.34), format_share(0.62), format_share(1.0)
    ('a third', '62 %', 'all')
    """
    for value, word in _FRACTIONS:
        if abs(share - value) < (_NEAR if value < 1 else 1e-9):
            return word
    return format_percent(min(share, 0.99))


def format_interval(low: float, high: float) -> str:
    """Return the ends of an interval of proportions as ``32 to 45 %``."""
    return f"{format_percent(low).removesuffix(' %')} to {format_percent(high)}"


def _join_names(names: Sequence[str]) -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def describe_rule_sample(
    decision: Mapping[str, Any], instances: int, *, sample: int = RULE_SAMPLE
) -> Iterator[str]:
    """Say that a threshold was computed on a sample, if it was."""
    if instances > sample and decision.get("threshold_from") in ("matched", "expected-f"):
        yield f"The threshold was computed on a sample of {sample:,} instances"


def _describe_rule(decision: Mapping[str, Any]) -> str:
    if not {"threshold", "threshold_from"} <= decision.keys():
        return f"rule {decision['rule']}"
    origin = {
        "matched": "set to give instances as many labels as answers have",
        "method": "set by the method",
        "given": "as given",
        "expected-f": f"expected F {decision.get('expected_f') or 0:.2f}",
        "min-probability": f"minimum probability {decision.get('min_probability') or 0:.3g}",
    }
    # Somebody may have edited run.json.
    name = str(decision.get("threshold_from"))
    return f"threshold {decision['threshold']:.3g}, {origin.get(name, name)}"
