"""The support of labels, counted from a panel (equations 8 to 10)."""

import numpy as np

from mhpc.core.arrays import FloatArray
from mhpc.core.panel import Panel
from mhpc.graph.support import clopper_pearson_lower


def label_support(panel: Panel, *, alpha: float) -> FloatArray:
    """Return S, (K,): occurrences among augmented answers, trials one an answer in scope."""
    C = np.asarray(panel.augmented.sum(axis=0)).ravel()
    return clopper_pearson_lower(C, panel.answers_per_label, alpha=alpha)
