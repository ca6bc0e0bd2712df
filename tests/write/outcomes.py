"""A small outcome, written out."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from mhpc.core.consolidation import Consolidation
from mhpc.core.index import Index
from mhpc.core.outcome import Outcome
from mhpc.core.taxonomy import Taxonomy
from tests.build import GARDEN


def outcome_of_sets(
    sets: Mapping[str, Mapping[str, float]],
    *,
    taxonomy: Taxonomy = GARDEN,
    fields: Mapping[str, Mapping[str, Any]] | None = None,
) -> Outcome:
    """Return an outcome from the labels of every instance and their scores, all of them chosen."""
    score = np.zeros((len(sets), len(taxonomy)))
    for row, labels in enumerate(sets.values()):
        score[row, taxonomy.labels.locate(labels)] = list(labels.values())
    found = Consolidation(
        taxonomy=taxonomy, instances=Index(tuple(sets)), score=score, specific=score / 2,
        method="sa",
    )  # fmt: skip
    return Outcome(found, sparse.csr_array(score), fields or {})


SURE = {"plant": 1.0, "flower": 0.75, "monarda": 0.5}
UNSURE = {"animal": 0.5, "bird": 0.25}

THREE = outcome_of_sets({"1": SURE, "2": UNSURE, "3": {}})
"""One instance with three labels, a less sure one with two, one with none."""
