"""Labels of votes and truths meet the taxonomy: what to do with those it does not know."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.core.arrays import IntArray
from mhpc.core.index import UNKNOWN, Index
from mhpc.core.taxonomy import Taxonomy, unknown_label_message
from mhpc.errors import MhpcWarning, UnknownLabelError, counted, quoted

Unknown: TypeAlias = Literal["error", "drop", "graft"]
"""Refuse labels that the taxonomy lacks, leave their votes out, or add them as new labels."""


@dataclass(frozen=True, eq=False)
class Located:
    """A taxonomy, grown if labels were grafted, and the position of every given text in it."""

    taxonomy: Taxonomy
    position: IntArray


def locate_labels(
    taxonomy: Taxonomy,
    labels: Index,
    *,
    unknown: Unknown,
    origin: str,
    who: Callable[[int], str] = lambda label: "",
) -> Located:
    """Find every label; `who` tells, for the message, who named the one at a position."""
    position = taxonomy.locate(labels)
    missing = np.flatnonzero(position == UNKNOWN)
    if not len(missing):
        return Located(taxonomy, position)
    strange = [labels[at] for at in missing]
    if unknown == "error":
        more = f" ({counted(len(strange), 'such label')} in all)" if len(strange) > 1 else ""
        raise UnknownLabelError(
            f"{origin}: {unknown_label_message(taxonomy, strange[0])}{who(missing[0])}{more}; "
            "correct it, or leave such labels out with --unknown drop, or add them to the "
            "taxonomy with --unknown graft"
        )
    if unknown == "graft":
        taxonomy = graft(taxonomy, strange)
        position = taxonomy.locate(labels)
    done = "left out" if unknown == "drop" else "added to the taxonomy"
    warnings.warn(
        f"{origin}: {counted(len(strange), 'label')} not in the taxonomy, {done}: "
        f"{quoted(strange)}",
        MhpcWarning,
        stacklevel=4,
    )
    return Located(taxonomy, position)


def graft(taxonomy: Taxonomy, labels: Sequence[str]) -> Taxonomy:
    """Add labels as new roots, or below a known label that is their path's longest prefix."""
    old = len(taxonomy)
    ids = Index((*taxonomy.labels, *labels))
    known = taxonomy.labels.positions
    edges = [
        (old + at, known[prefix])
        for at, label in enumerate(labels)
        if (prefix := _longest_prefix(label, known)) is not None
    ]
    parents = taxonomy.parents.tocoo()
    child = np.concatenate([parents.row, [c for c, _ in edges]]).astype(np.int64)
    parent = np.concatenate([parents.col, [p for _, p in edges]]).astype(np.int64)
    grown = sparse.coo_array((np.ones(len(child)), (child, parent)), shape=(len(ids), len(ids)))
    return Taxonomy(ids, (*taxonomy.names, *labels), grown.tocsr(), taxonomy.others)


def _longest_prefix(label: str, known: dict[str, int]) -> str | None:
    """Return the longest known label that this one continues after a separator."""
    for separator in (" > ", "/"):
        steps = label.split(separator)
        for length in range(len(steps) - 1, 0, -1):
            prefix = separator.join(steps[:length])
            if prefix in known:
                return prefix
    return None
