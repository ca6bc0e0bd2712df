"""What a run found, in sentences that someone who did not make it can read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mhpc.data.disagreement import ConfusedPair, Explanation
from mhpc.data.profiles import SourceProfile
from mhpc.data.summary import RunCounts
from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import pluralize, quote_list

_ENOUGH = 10
"""Answers from which on a source can be called the weakest."""


def sentences(
    document: Mapping[str, Any],
    taxonomy: Taxonomy,
    sources: Sequence[SourceProfile],
    found: RunCounts,
    confusions: Sequence[ConfusedPair],
    explained: Sequence[Explanation],
) -> list[str]:
    """Return the sentences, the most important first."""
    counts = document["counts"]
    return [
        f"{pluralize(counts['sources'], 'source')} gave {pluralize(counts['answers'], 'answer')} on "
        f"{pluralize(counts['instances'], 'instance')}, with labels from a hierarchy of "
        f"{counts['labels']:,} in {pluralize(counts['levels'], 'level')}.",
        _method(document),
        _sets(document["decision"], counts["instances"]),
        _dispute(found),
        *_look(explained),
        *_confused(confusions, taxonomy),
        *_weakest(sources),
        *_copies(sources),
        *([] if document["converged"] else ["The method stopped before it had settled."]),
    ]


def _method(document: Mapping[str, Any]) -> str:
    choice = document.get("selection")
    if not choice:
        return f"Scores are by the method {document['method']}."
    closed, specific = (" and ".join(choice[view]) for view in ("closed", "specific"))
    both = (
        closed if closed == specific else f"{closed} (and {specific} for the most specific label)"
    )
    if not choice["candidates"]:
        return f"Scores are by {both}: {choice['reason']}."
    return (
        f"Of {len(choice['candidates'])} candidates {both} was taken: {choice['reason']}, that is, "
        "best at foretelling what sources say that were not heard."
    )


def _sets(decision: Mapping[str, Any], instances: int) -> str:
    without = decision["instances_without_label"]
    return (
        f"An instance gets {decision['labels_per_instance']:.1f} labels on average, ancestors "
        f"included; {without:,} of {instances:,} get none."
    )


def _dispute(found: RunCounts) -> str:
    share = found.disagreements.count / max(found.instances, 1)
    if not found.disagreements.count:
        return "No answer contradicts another."
    return (
        f"On {found.disagreements.count:,} instances ({share:.0%}) some source contradicts another; "
        "being vague alone does not count as that."
    )


def _look(explained: Sequence[Explanation]) -> Iterator[str]:
    first = [each.instance for each in explained[:3]]
    if first:
        yield f"One more opinion is worth most on {quote_list(first)}: look there first."


def _confused(confusions: Sequence[ConfusedPair], taxonomy: Taxonomy) -> Iterator[str]:
    if confusions:
        most = confusions[0]
        one, other = (
            taxonomy.names[taxonomy.labels.positions[each]] for each in (most.one, most.other)
        )
        under = ""
        if most.under is not None:
            under = f", both under {taxonomy.names[taxonomy.labels.positions[most.under]]!r}"
        yield f"Sources confuse {one!r} with {other!r} most often{under}."


def _weakest(sources: Sequence[SourceProfile]) -> Iterator[str]:
    """Tell of the source that is surely wrong most often, if there is one to compare it with."""
    known = [each for each in sources if each.answers >= _ENOUGH and each.wrong.value >= 0]
    if len(known) > 1:
        weakest = max(known, key=lambda each: each.wrong.low)
        wrong = weakest.wrong
        yield (
            f"The result contradicts {weakest.source!r} most often: {wrong.value:.0%} of its most "
            f"specific labels ({wrong.low:.0%} to {wrong.high:.0%}) are not in it."
        )


def _copies(sources: Sequence[SourceProfile]) -> Iterator[str]:
    for kind, said in (
        ("copy", "hardly differ from another source beyond what skill explains, as copies do"),
        ("near-copy", "share more than half of their answers beyond skill with another source"),
    ):
        names = [each.source for each in sources if each.copy == kind]
        if names:
            yield f"{quote_list(names)} {said}; they count as fewer voices than they are."
