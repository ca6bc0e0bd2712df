"""Bare path codes: a label a line, no header, each spelling its ancestors.

What separates the steps is found, or given: ``--taxonomy-format "paths=;"``.
"""

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import TaxonomyError
from mhpc.read.columns import TAXONOMY_ALIASES
from mhpc.read.paths import SEPARATORS, taxonomy_from_paths
from mhpc.read.taxonomy_formats.base import TaxonomyInput, atomic_file

_KNOWN = {name for names in TAXONOMY_ALIASES.values() for name in names}


def matches(told: TaxonomyInput) -> bool:
    """Tell whether lines are paths, the first one no name of a column."""
    if told.file is None or told.file.format != "csv":
        return False
    lines = [line.strip() for line in told.head.splitlines()[:50] if line.strip()]
    if not lines or lines[0].strip('"').lower() in _KNOWN:
        return False
    if any("," in line or "\t" in line for line in lines):
        return False
    return any(separator in line for line in lines for separator in SEPARATORS)


def read(told: TaxonomyInput) -> Taxonomy:
    """Return all paths, and what they go through."""
    text = atomic_file(told).decode("utf-8-sig", errors="replace")
    labels = dict.fromkeys(line.strip().strip('"') for line in text.splitlines() if line.strip())
    if not labels:
        raise TaxonomyError(f"{told.origin}: no label in it")
    return taxonomy_from_paths(list(labels), separator=told.argument, origin=told.origin)
