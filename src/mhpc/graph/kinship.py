"""Who speaks for themselves: skill and kinship of sources from how they agree.

R_mn: correlation of two sources' answers. Independent sources of skills a_m and a_n agree by
R_mn = a_m a_n; what they agree beyond that, as a share of what is left to agree on, is kinship:
1 for copies, 0 for strangers. No truth is needed.
"""

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray
from mhpc.core.kinship import Kinship, strangers

_LEAST, _MOST = 0.01, 0.99
"""Skills are kept off 0 and 1, where correlations say nothing."""

_ROUNDS = 200
_SETTLED = 1e-4


def kinship(R: FloatArray, common: FloatArray) -> Kinship:
    """Return skills and kinship that explain the agreement of sources.

    Skills are a weighted least-squares fit of R_mn = a_m a_n, pulled a little towards their mean;
    a pair counts by its common instances, by the other's voice, and less the more it is kin,
    since kin agree for another reason than skill. Kinship is shrunk where few common instances
    speak for it, and measured against skills that are not pulled down: what the pull takes from
    the best sources would otherwise pass for kinship among them as soon as others are kin. The
    two are estimated in turn until skills and voices settle.

    Parameters
    ----------
    R : float array, (M, M)
        Correlations.
    common : float array, (M, M)
        Instances that both answered.
    """
    M = len(R)
    pairs = ~np.eye(M, dtype=bool) & (common > 1)
    # With two sources any agreement is explained by skill; with none in common nothing is told.
    if M < 3 or not pairs.any():
        return strangers(M)
    weight = np.where(pairs, common, 0.0)
    a = np.full(M, np.sqrt(np.clip((weight * R).sum() / weight.sum(), _LEAST, _MOST)))
    pull = float(np.median(common[pairs]))
    alike, voice = np.zeros((M, M)), np.ones(M)
    for _ in range(_ROUNDS):
        before = np.concatenate([a, voice])
        counted = weight * (1 - alike) ** 2 * voice
        a = _skills(R, counted, a, voice, pull)
        latest = _alike(R, np.maximum(a, _fitted(R, counted, a, 0.0, 0.0)), common, weight)
        alike = (alike + latest) / 2
        voice = (voice + 1.0 / (1.0 + latest.sum(axis=1))) / 2
        if np.abs(np.concatenate([a, voice]) - before).max() < _SETTLED:
            break
    return Kinship(a, sparse.csr_array(alike))


def _skills(
    R: FloatArray, weight: FloatArray, a: FloatArray, voice: FloatArray, pull: float
) -> FloatArray:
    """Return one damped least-squares step; the prior is worth one usual pair of mean skill."""
    mean = float(np.average(a, weights=voice))
    return np.asarray(np.sqrt(a * _fitted(R, weight, a, pull, mean)))


def _fitted(
    R: FloatArray, weight: FloatArray, a: FloatArray, pull: float, mean: float
) -> FloatArray:
    part, whole = (weight * R) @ a + pull * mean**3, weight @ a**2 + pull * mean**2
    fit = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return np.clip(fit, _LEAST, _MOST)


def _alike(R: FloatArray, a: FloatArray, common: FloatArray, weight: FloatArray) -> FloatArray:
    """Return what R has beyond skills, as a share of the most possible, shrunk by its noise."""
    expected = np.outer(a, a)
    noise = (1 - expected**2) ** 2 / np.maximum(common - 1, 1)
    excess = np.where(weight > 0, R - expected, 0.0)
    between = max(float((weight * (excess**2 - noise)).sum() / weight.sum()), 0.0)
    free = np.sqrt(np.outer(1 - a**2, 1 - a**2))
    share = between / (between + noise + 1e-12) * excess / free
    return np.where(weight > 0, np.clip(share, 0.0, 1.0), 0.0)
