"""A truth meets the taxonomy and the instances of a consolidation."""

import warnings

import numpy as np
from scipy import sparse

from mhpc.core.hierarchy import deepest
from mhpc.core.index import UNKNOWN, Index
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.truth import EncodedTruth, Truth
from mhpc.encode.augment import augment
from mhpc.encode.labels import Unknown, locate_labels
from mhpc.errors import MhpcWarning, UnknownInstanceError, UnknownLabelError, counted, nearest


def encode_truth(
    truth: Truth, taxonomy: Taxonomy, instances: Index, *, unknown: Unknown = "error"
) -> EncodedTruth:
    """Return the truth as sparse rows, with ancestors and without.

    Parameters
    ----------
    truth : Truth
        What is known.
    taxonomy, instances
        The axes to lay it on.
    unknown : "error", "drop" or "graft"
        What to do with labels the taxonomy lacks and instances nobody voted on; a truth never
        adds to either, so ``"graft"`` drops them too.
    """
    policy: Unknown = "error" if unknown == "error" else "drop"
    row = instances.locate(truth.instances)
    _check_instances(truth, instances, strange=np.flatnonzero(row == UNKNOWN), policy=policy)
    located = locate_labels(taxonomy, truth.labels, unknown=policy, origin=truth.origin)
    at = row[truth.instance]
    label = np.append(located.position, UNKNOWN)[truth.label]
    known = (at != UNKNOWN) & (label != UNKNOWN)
    # Who has none of the labels counts; who had some, all of them left out, is not known.
    told = (at != UNKNOWN) & ((label != UNKNOWN) | (truth.label == UNKNOWN))
    rows = np.unique(at[told])
    if not len(rows):
        raise UnknownLabelError(
            f"{truth.origin}: no label of it is in the taxonomy, so that nothing can be measured"
        )
    entries = (np.ones(known.sum()), (np.searchsorted(rows, at[known]), label[known]))
    given = sparse.coo_array(entries, shape=(len(rows), len(taxonomy))).tocsr()
    given.data[:] = 1.0
    closed = augment(given, taxonomy.closure)
    return EncodedTruth(rows, deepest(closed, taxonomy), closed)


def _check_instances(truth: Truth, instances: Index, *, strange: np.ndarray, policy: str) -> None:
    if len(strange) == len(truth.instances):
        raise UnknownInstanceError(
            f"{truth.origin}: none of its {counted(len(strange), 'instance')} has votes (it has "
            f"{truth.instances[0]!r}, the votes have {instances[0]!r}); are the ids the same?"
        )
    if not len(strange):
        return
    first = truth.instances[strange[0]]
    if policy == "error":
        raise UnknownInstanceError(
            f"{truth.origin}: instance {first!r} has no votes{nearest(first, instances)} "
            f"({counted(len(strange), 'such instance')} in all); remove it, or leave "
            "such instances out with --unknown drop"
        )
    warnings.warn(
        f"{truth.origin}: {counted(len(strange), 'instance')} without votes left out "
        f"(first: {first!r})",
        MhpcWarning,
        stacklevel=4,
    )
