"""The support of labels, counted from answers (equations 8 to 10)."""

from mhpc.core.arrays import FloatArray
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts
from mhpc.graph.support import clopper_pearson_lower


def support_in(parts: Parts, *, alpha: float) -> FloatArray:
    """Return S, (K,): occurrences among augmented answers, trials one an answer in scope."""
    return clopper_pearson_lower(*parts.total(_counts), alpha=alpha)


def _counts(panel: Panel) -> tuple[FloatArray, FloatArray]:
    return panel.occurrences, panel.answers_per_label
