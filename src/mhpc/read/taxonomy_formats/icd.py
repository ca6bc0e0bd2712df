"""ICD-10-CM, in the edition that the package simple-icd-10-cm ships.

39 codes are both a block and its only category: such a block is called ``C7A (block)``. Codes may
be given without their dot.
"""

import warnings
from typing import Any

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import MissingExtraError
from mhpc.read.taxonomy_formats.base import TaxonomyInput

NAME = "icd-10-cm"


def matches(told: TaxonomyInput) -> bool:
    """Tell whether it was asked for by name."""
    return isinstance(told.source, str) and told.source.lower() == NAME


def read(told: TaxonomyInput) -> Taxonomy:
    """Return chapters, blocks, categories and all below them."""
    try:
        with warnings.catch_warnings():
            # It reads its files in a way that Python wants to give up.
            warnings.simplefilter("ignore", DeprecationWarning)
            import simple_icd_10_cm as icd
    except ImportError:
        raise MissingExtraError(
            f"the taxonomy {NAME} needs a package; pip install 'mhpc[icd]'"
        ) from None
    codes = icd.get_all_codes()
    last = {code: at for at, code in enumerate(codes)}
    names: dict[str, str] = {}
    edges: list[tuple[str, str]] = []
    for at, code in enumerate(codes):
        # A block comes before the category that shares its code.
        block = at < last[code]
        label = _block(code) if block else code
        names[label] = icd.get_description(code, prioritize_blocks=block)
        if above := _above(icd, code, block=block):
            edges.append((label, above))
    others = {bare: code for code in names if (bare := code.replace(".", "")) not in names}
    return build_taxonomy(
        list(names), edges, names=list(names.values()), alternative_ids=others, origin=NAME
    )


def _above(icd: Any, code: str, *, block: bool) -> str:
    parent: str = icd.get_parent(code, prioritize_blocks=block)
    return _block(parent) if parent == code else parent


def _block(code: str) -> str:
    return f"{code} (block)"
