"""What smoothing over a graph takes, of all instances or of landmarks."""

from mhpc.core.memory import as_text, memory_budget
from mhpc.core.size import Size
from mhpc.errors import TooLargeError

_FACTORED = 3000
"""Landmarks up to which a graph of them is solved by a dense factor."""


def exact_memory(instances: int, labels: int, distinct: int, *, dense: bool) -> int:
    """Return what a graph of all instances takes; a dense one joins all that are distinct."""
    return 8 * (6 * instances * labels + (distinct**2 if dense else 0))


def landmark_memory(size: Size, landmarks: int, views: int) -> int:
    """Return what a graph of landmarks takes, in one view or in both."""
    landmarks = min(size.instances, landmarks)
    return 8 * (3 * views * landmarks * size.labels + min(landmarks, _FACTORED) ** 2)


def too_large(instances: int, labels: int, needed: int, *, dense: bool) -> TooLargeError:
    """Return the refusal of a graph of all instances, with what would do."""
    graph = "a dense graph" if dense else "an exact graph"
    return TooLargeError(
        f"{graph} of {instances:,} instances and {labels:,} labels needs about {as_text(needed)}, "
        f"and {as_text(memory_budget())} may be used; give --set solver=graph, raise --memory, or "
        "use --method sa"
    )
