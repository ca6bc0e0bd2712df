"""Slow, obvious versions of what an answer says about a label: sets and loops."""

from mhpc.data.panel import Panel


def labels_of_answer(panel: Panel, answer: int) -> set[int]:
    """Return the labels with at least half of the answer's highest score, and their ancestors."""
    row = panel.augmented[[answer]].toarray()[0]
    return {label for label, score in enumerate(row) if score > 0 and score >= row.max() / 2}


def most_specific(panel: Panel, labels: set[int]) -> set[int]:
    """Return the labels that are not ancestors of another one."""
    ancestors = {int(above) for label in labels for above in panel.taxonomy.ancestors_of(label)}
    return labels - ancestors


def stance(panel: Panel, answer: int, label: int) -> str | None:
    """Return the stance of an answer on a label; None outside the scope of its source."""
    labels = labels_of_answer(panel, answer)
    if panel.scope is not None and not panel.scope[panel.source[answer], label]:
        return None
    if label in labels:
        return "direct" if panel.raw[answer, label] > 0 else "below"
    if most_specific(panel, labels) & set(panel.taxonomy.ancestors_of(label).tolist()):
        return "vague"
    return "against"


def answers_about(panel: Panel, instance: int) -> list[int]:
    """Return the answers about an instance."""
    return [answer for answer, owner in enumerate(panel.instance) if owner == instance]


def contradicts(panel: Panel, answer: int, opponent: int) -> bool:
    """Return whether an answer contradicts a most specific label of another one."""
    labels = most_specific(panel, labels_of_answer(panel, opponent))
    return any(stance(panel, answer, label) == "against" for label in labels)
