"""Support: how far a label's share of the answers can be trusted (equations 8 to 10).

C: occurrences, eq. 8. S: support, eq. 10. The paper writes Beta(C_k, N - C_k + 1) with C_k
counted over all sources, which has no quantile once C_k passes N; the trials are the
augmented label vectors that were counted, one an answer.
"""

import numpy as np
from scipy.special import betaincinv

from mhpc.core.arrays import FloatArray


def clopper_pearson_lower(
    occurrences: FloatArray, trials: FloatArray, *, alpha: float
) -> FloatArray:
    """Return the lower Clopper-Pearson bound of each share: S_k = B(alpha/2; C_k, n_k - C_k + 1).

    Parameters
    ----------
    occurrences : float array, (K,)
        C_k, how often a label occurs; fractional when answers carry scores.
    trials : float array, (K,)
        n_k, how many answers could have held it.
    alpha : float
        Significance level.

    Returns
    -------
    float array, (K,)
        0 where a label never occurs.

    Examples
    --------
    >>> clopper_pearson_lower(np.array([0.0, 5.0]), np.array([10.0, 10.0]), alpha=0.05).round(3)
    array([0.   , 0.187])
    """
    occurs = occurrences > 0
    # The placeholder 1 keeps the quantile defined where nothing occurs.
    C = np.where(occurs, occurrences, 1.0)
    return np.where(occurs, betaincinv(C, np.maximum(trials - C, 0.0) + 1.0, alpha / 2), 0.0)
