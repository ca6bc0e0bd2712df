"""Model: what a run learnt, so that new answers can be scored without learning again."""

from dataclasses import dataclass
from typing import Any

from mhpc.core.arrays import Sparse
from mhpc.core.decision import Settled
from mhpc.core.index import Index


@dataclass(frozen=True, eq=False)
class Model:
    """A method's parameters and what it learnt, the rule it decides by, and whom it knows.

    Attributes
    ----------
    method : str
        The registered name.
    parameters : mapping
        All its parameters.
    fitted : Fitted
        What it learnt.
    settled : Settled
        The rule that makes label sets of its scores.
    sources : Index
        The sources it knows, in the order in which it knows them.
    scope : csr_array, (M, K), or None
        What they can speak about, as in `Panel`.
    """

    method: str
    parameters: dict[str, Any]
    fitted: Any
    settled: Settled
    sources: Index
    scope: Sparse | None = None
