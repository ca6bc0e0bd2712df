"""Views: what is concluded of some instances."""

from dataclasses import dataclass

from mhpc.core.arrays import Block


@dataclass(frozen=True, eq=False)
class Views:
    """Both numbers of every instance and label.

    Attributes
    ----------
    score, specific : array or csr_array, (n, K)
        As in `Consolidation`.
    said : pair of matrices or None
        As in `Consolidation`.
    """

    score: Block
    specific: Block
    said: tuple[Block, Block] | None = None
