"""The support of labels, counted from a panel (equations 8 to 10)."""

from mhpc.core.arrays import FloatArray
from mhpc.core.panel import Panel
from mhpc.graph.support import clopper_pearson_lower


def label_support(panel: Panel, *, alpha: float) -> FloatArray:
    """Return S, (K,): occurrences among augmented answers, trials one an answer in scope."""
    return clopper_pearson_lower(panel.occurrences, panel.answers_per_label, alpha=alpha)
