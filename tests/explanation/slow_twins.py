"""Slow, obvious twins of what is said of labels: sets and loops."""

from mhpc.data.panel import Panel


def said_by(panel: Panel, answer: int) -> set[int]:
    """The labels of an answer, ancestors included, at least half as sure as its surest."""
    row = panel.augmented[[answer]].toarray()[0]
    return {k for k, score in enumerate(row) if score > 0 and score >= row.max() / 2}


def deepest_of(panel: Panel, labels: set[int]) -> set[int]:
    """Those that are no ancestor of another."""
    above = {int(up) for k in labels for up in panel.taxonomy.ancestors_of(k)}
    return labels - above


def stance(panel: Panel, answer: int, label: int) -> str | None:
    """What an answer says of a label."""
    said = said_by(panel, answer)
    if panel.scope is not None and not panel.scope[panel.source[answer], label]:
        return None
    if label in said:
        return "direct" if panel.raw[answer, label] > 0 else "below"
    if deepest_of(panel, said) & set(panel.taxonomy.ancestors_of(label).tolist()):
        return "vague"
    return "against"


def answers_to(panel: Panel, instance: int) -> list[int]:
    """The answers of an instance."""
    return [a for a, owner in enumerate(panel.instance) if owner == instance]


def contradicts(panel: Panel, one: int, other: int) -> bool:
    """Whether an answer contradicts what another says most specifically."""
    labels = deepest_of(panel, said_by(panel, other))
    return any(stance(panel, one, label) == "against" for label in labels)
