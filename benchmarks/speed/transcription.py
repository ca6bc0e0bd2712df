"""The paper's iteration as its text reads, with the library calls that come to mind first.

Y_bar: mean label matrix, eq. 6. C, S: occurrences and support of labels, eq. 8 to 10. W:
similarity, eq. 7. D: degrees. L: Laplacian, eq. 3. Anchored to Y_bar, so that it settles.
"""

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import beta

from mhpc.data.panel import Panel
from mhpc.numerics.arrays import FloatArray, dense


def source_matrices(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return the labels as said and with ancestors, (M, N, K) each: the paper's input."""
    shape = (len(panel.sources), len(panel.instances), len(panel.taxonomy))
    said, augmented = np.zeros(shape), np.zeros(shape)
    said[panel.source, panel.instance] = dense(panel.raw)
    augmented[panel.source, panel.instance] = dense(panel.augmented)
    return said, augmented


def transcription(
    said: FloatArray, augmented: FloatArray, *, lam: float, sigma: float, solves: int
) -> FloatArray:
    """Return the consolidated label matrix, (N, K)."""
    Y_bar = said.mean(axis=0)
    S = support(augmented)
    Y = Y_bar
    for _ in range(solves):
        W = np.exp(-cdist(Y, Y, "euclidean", w=S) / sigma)
        D = np.diag(W.sum(axis=1))
        D_root = np.diag(1.0 / np.sqrt(W.sum(axis=1)))
        L = D_root @ (D - W) @ D_root
        Y = np.linalg.inv(np.eye(len(Y)) + lam * L) @ Y_bar
    return np.asarray(Y)


def support(augmented: FloatArray, *, alpha: float = 0.05) -> FloatArray:
    """Return the lower Clopper-Pearson bounds, 0 for a label that never occurs."""
    C = augmented.sum(axis=(0, 1))
    trials = augmented.shape[0] * augmented.shape[1]
    return np.asarray(np.nan_to_num(beta.ppf(alpha / 2, C, trials - C + 1)))
