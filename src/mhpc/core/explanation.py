"""Explanation: why an instance has a label, or has not."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Stance: TypeAlias = Literal["direct", "below", "vague", "against"]
"""What an answer says of a label: the label itself; one below it; only an ancestor of it; or
neither, though its source could."""


@dataclass(frozen=True)
class Answer:
    """What a source said of an instance, as given: labels and scores; none: "none of these"."""

    source: str
    said: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Voice:
    """What one source says of a label, and what its answer does to the score.

    `effect` is the score less what it would be without this answer, all else that was learnt
    staying as it is; None where that cannot be told.
    """

    source: str
    stance: Stance
    effect: float | None


@dataclass(frozen=True)
class LabelExplanation:
    """Why one label.

    Attributes
    ----------
    label, name : str
        Its id, and its path of names.
    score, specific : float
        As in `Consolidation`.
    chosen : bool
        Whether the label set has it.
    disputed : bool
        Whether some answers uphold it and others contradict it.
    own : float or None
        The share of the instance's answers that uphold it, of those that could; None where none
        could. What an answer with scores gives it counts as it is given.
    learnt : float or None
        `score` less `own`: what was added, or taken away, by what was learnt of sources, labels
        and other instances.
    voices : tuple of Voice
        Every source that answered and could speak about the label, in the order of the answers.
    """

    label: str
    name: str
    score: float
    specific: float
    chosen: bool
    disputed: bool
    own: float | None
    learnt: float | None
    voices: tuple[Voice, ...]


@dataclass(frozen=True)
class Explanation:
    """Why an instance has the labels it has.

    Attributes
    ----------
    instance : str
        Its id.
    gain : float
        What one more opinion is worth, as in `Conflict`.
    agreed : str or None
        The deepest label that all its answers say or imply.
    answers : tuple of Answer
        All that was said of it.
    labels : tuple of LabelExplanation
        Those asked for; else those chosen or in dispute.
    effects : str
        How effects were found, or why they were not.
    """

    instance: str
    gain: float
    agreed: str | None
    answers: tuple[Answer, ...]
    labels: tuple[LabelExplanation, ...]
    effects: str
