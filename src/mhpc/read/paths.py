"""Path codes: labels that spell their ancestors, such as ``20/01/03`` or ``A > B > C``."""

from collections.abc import Mapping, Sequence

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import TaxonomyError, quote_list
from mhpc.read.tables import MAX_CELL

SEPARATORS = (" > ", "/", "|", ";", "::", ">", ".")
"""Tried in this order; the one in most labels wins, the earlier one in a tie."""


def taxonomy_from_paths(
    labels: Sequence[str],
    *,
    names: Mapping[str, str] | None = None,
    separator: str | None = None,
    origin: str = "the taxonomy",
) -> Taxonomy:
    """Make a taxonomy from paths; prefixes that are not listed are added.

    A label without a name in `names` is called by its last step if that has a letter in it,
    else by the whole code: ``flower`` for ``plant > flower``, but ``20/01`` for ``20/01``.
    """
    between = separator or max(SEPARATORS, key=lambda s: sum(s in label for label in labels))
    known: dict[str, str] = {}
    given = names or {}
    edges: dict[tuple[str, str], None] = {}
    for label in labels:
        if len(label) > MAX_CELL:
            # Before it is taken apart: a path of a million steps has a million prefixes.
            raise TaxonomyError(
                f"{origin} has a label of {len(label):,} characters, {quote_list([label])}; the most "
                f"is {MAX_CELL:,}"
            )
        steps = label.split(between)
        if not all(step.strip() for step in steps):
            raise TaxonomyError(
                f"{origin}: path {quote_list([label])} has an empty step between two {between!r}; "
                "give another separator if that is not what separates"
            )
        for length in range(1, len(steps) + 1):
            code = between.join(steps[:length])
            known.setdefault(code, given.get(code) or _name(steps[length - 1], code))
            if length > 1:
                edges[code, between.join(steps[: length - 1])] = None
    return build_taxonomy(list(known), edges, names=list(known.values()), origin=origin)


def _name(step: str, code: str) -> str:
    return step.strip() if any(map(str.isalpha, step)) else code
