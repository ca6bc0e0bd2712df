"""Whether the first line of a file is a header, so that no header becomes a label."""

from collections.abc import Iterable

from mhpc.read.columns import TAXONOMY_ALIASES, normalize_name

COLUMN_NAMES = frozenset(
    normalize_name(name) for names in TAXONOMY_ALIASES.values() for name in names
)
"""The names that columns of taxonomies may have, in normal form."""

HEADER_WORDS = COLUMN_NAMES | {
    "labels", "names", "codes", "paths", "terms", "concepts", "categories", "classes", "topics",
    "tags", "level", "hierarchy", "taxonomy", "ontology", "children", "parents", "ancestor",
    "descendant", "from", "to", "source", "target", "subject", "object", "narrower", "group",
    "subgroup", "subcategory", "subtopic", "type", "subtype", "hypernym", "hyponym", "start", "end",
}  # fmt: skip
"""Words that are headers rather than labels at the top of a file, in normal form."""


def is_header(cells: Iterable[str]) -> bool:
    """Return whether the cells of a first line all are words of a header, such as ``Level 1``."""
    names = [normalize_name(cell.strip().strip('"')).rstrip("0123456789") for cell in cells]
    return bool(names) and all(name in HEADER_WORDS for name in names)
