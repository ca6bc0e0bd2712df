"""Inspection: what there is to know of votes before anything is consolidated."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class UnknownLabel:
    """A label that the taxonomy lacks, how often it is said, and which are near."""

    label: str
    votes: int
    nearest: tuple[str, ...]


@dataclass(frozen=True)
class Inspection:
    """Facts about votes and their taxonomy.

    Attributes
    ----------
    instances, sources, answers, votes : int
        How many of each; an answer is what one source said of one instance.
    labels, levels, labels_used : int
        Of the taxonomy, and how many of its labels are said, ancestors not counted.
    coverage : float
        Answers over instances x sources.
    answers_per_instance : mapping
        ``mean``, ``min``, ``max``, and ``single``: the share of instances with one answer.
    none_answers : int
        Answers without a label.
    votes_per_level : mapping of int to int
        How deep sources answer.
    conflict : float
        Of the instances with several answers, the share where no answer holds all that the
        others said; nan if there are none.
    silent_sources : tuple of str
        Sources that never gave a known label.
    unknown_labels : tuple of UnknownLabel
        The most frequent first.
    """

    instances: int
    sources: int
    answers: int
    votes: int
    labels: int
    levels: int
    labels_used: int
    coverage: float
    answers_per_instance: Mapping[str, float]
    none_answers: int
    votes_per_level: Mapping[int, int]
    conflict: float
    silent_sources: tuple[str, ...]
    unknown_labels: tuple[UnknownLabel, ...]
