"""ICD-10-CM, in the edition that the package simple-icd-10-cm contains."""

import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import MissingExtraError
from mhpc.process import no_fork
from mhpc.read.taxonomy_formats.base import TaxonomyInput

_PACKAGE = "simple_icd_10_cm"


class Icd10Cm:
    """Chapters, blocks, categories and everything below them.

    39 codes are both a block and its only category: such a block is called ``C7A (block)``. Codes
    may be written without their dot.
    """

    name = "icd-10-cm"
    kinds = ()

    def matches(self, source: TaxonomyInput) -> bool:
        """Return whether the user asked for it by name."""
        return isinstance(source.value, str) and source.value.lower() == self.name

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of all codes."""
        icd = _import_package()
        codes = icd.get_all_codes()
        last_position = {code: position for position, code in enumerate(codes)}
        names: dict[str, str] = {}
        edges: list[tuple[str, str]] = []
        for position, code in enumerate(codes):
            # A block comes before the category that shares its code.
            is_block = position < last_position[code]
            label = _block_label(code) if is_block else code
            names[label] = icd.get_description(code, prioritize_blocks=is_block)
            if parent := _parent_label(icd, code, is_block=is_block):
                edges.append((label, parent))
        without_dot = {bare: code for code in names if (bare := code.replace(".", "")) not in names}
        return build_taxonomy(
            list(names), edges, names=list(names.values()), alternative_ids=without_dot,
            origin=self.name,
        )  # fmt: skip


def _import_package() -> ModuleType:
    try:
        if _PACKAGE in sys.modules:
            return import_module(_PACKAGE)
        # The filters of warnings belong to all threads, so they are changed only this once.
        with no_fork, warnings.catch_warnings():
            # The package reads its files in a deprecated way.
            warnings.simplefilter("ignore", DeprecationWarning)
            return import_module(_PACKAGE)
    except ImportError:
        raise MissingExtraError(
            f"the taxonomy {Icd10Cm.name} needs a package; pip install 'mhpc[icd]'"
        ) from None


def _parent_label(icd: Any, code: str, *, is_block: bool) -> str:
    parent: str = icd.get_parent(code, prioritize_blocks=is_block)
    return _block_label(parent) if parent == code else parent


def _block_label(code: str) -> str:
    return f"{code} (block)"
