"""What the page shows about the accuracy of the label sets that nobody reviewed."""

from typing import Any

import numpy as np

from mhpc.accuracy import predict_sets
from mhpc.data.accuracy import Accuracy, ShareEstimate
from mhpc.data.decision import Decision
from mhpc.data.scores import Consolidation
from mhpc.data.votes import EncodedTruth
from mhpc.numerics.arrays import IntArray


def accuracy_facts(accuracy: Accuracy | None) -> dict[str, Any] | None:
    """Return an estimate as JSON; None if nothing was drawn at random."""
    if accuracy is None or not accuracy.measured:
        return None
    return {
        **_share_facts(accuracy),
        "levels": [{"level": each.level, **_share_facts(each)} for each in accuracy.levels],
        "needed": accuracy.needed,
        "left_out": accuracy.left_out,
        "curve": [_share_facts(point) for point in accuracy.curve],
    }


def _share_facts(estimate: ShareEstimate) -> dict[str, Any]:
    """Return a share; `population` is what its instances were drawn from."""
    return {
        # As of no others when all are reviewed: JSON has no nan.
        "value": round(estimate.value, 6) if estimate.value == estimate.value else None,
        "interval": [round(estimate.low, 6), round(estimate.high, 6)],
        "measured": estimate.measured,
        "population": estimate.measured + estimate.others,
        "power": round(estimate.power, 6),
    }


def prediction_facts(
    consolidation: Consolidation, decision: Decision, gold: EncodedTruth | None, listed: IntArray
) -> dict[str, Any]:
    """Return the probabilities that label sets are right, by which answers in the page count more.

    Parameters
    ----------
    consolidation, decision, gold
        The result, and its gold labels.
    listed : int array
        The instances that the page lists.
    """
    predicted = predict_sets(consolidation, decision.reason).predicted
    is_unknown = np.ones(len(predicted), dtype=bool)
    if gold is not None:
        is_unknown[gold.rows] = False
    return {
        "right": predicted[listed].round(4).tolist(),
        "mean": float(predicted[is_unknown].mean()) if is_unknown.any() else 0.0,
    }
