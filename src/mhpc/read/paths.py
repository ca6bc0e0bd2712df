"""Path codes: labels that spell out their ancestors, such as ``20/01/03`` or ``A > B > C``."""

from collections.abc import Mapping, Sequence

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import TaxonomyError, quote_list
from mhpc.read.tables import MAX_CELL

SEPARATORS = (
    " > ", " / ", "/", " | ", "|", ";", "::", " → ", "→", " -> ", "->", " » ", "»", ">", "\\", ".",
)  # fmt: skip
"""The separators to try: the one in most labels is used, the earlier one in case of a tie."""

UNMISTAKABLE_SEPARATORS = (" > ", " / ", "/", " | ", "|", "::", " → ", " -> ", " » ", ";")
"""The separators by which labels that nobody called paths are recognized as such."""


def taxonomy_from_paths(
    labels: Sequence[str],
    *,
    names: Mapping[str, str] | None = None,
    separator: str | None = None,
    origin: str = "the taxonomy",
) -> Taxonomy:
    """Build a taxonomy from paths; prefixes that are not listed become labels too.

    Parameters
    ----------
    labels : sequence of str
        The paths.
    names : mapping of label to name, optional
        A label without a name is called by its last step if that contains a letter, otherwise by
        the whole code: ``flower`` for ``plant > flower``, but ``20/01`` for ``20/01``.
    separator : str, optional
        What separates the steps; the most common of `SEPARATORS` by default.
    origin : str
        Where the labels come from, for messages.
    """
    separator = separator or find_separator(labels)
    known_names = names or {}
    name_of: dict[str, str] = {}
    edges: dict[tuple[str, str], None] = {}
    for label in labels:
        steps = _split_path(label, separator, origin)
        for length in range(1, len(steps) + 1):
            code = separator.join(steps[:length])
            name_of.setdefault(code, known_names.get(code) or _make_name(steps[length - 1], code))
            if length > 1:
                edges[code, separator.join(steps[: length - 1])] = None
    return build_taxonomy(list(name_of), edges, names=list(name_of.values()), origin=origin)


def find_separator(labels: Sequence[str]) -> str:
    """Return the separator that most paths contain.

    A ``>`` within ``g>h > i`` separates nothing, so it counts only where there is no `` > ``.
    """

    def count(separator: str) -> int:
        wider = [other for other in SEPARATORS if separator in other and other != separator]
        return sum(separator in x and not any(other in x for other in wider) for x in labels)

    return max(SEPARATORS, key=count)


def find_paths(labels: Sequence[str]) -> str | None:
    """Return what separates the steps of labels if they are paths, or None.

    More than half of the labels contain it, without an empty step, and some of them begin with the
    same step: ``his/her`` is not a path.
    """
    for separator in UNMISTAKABLE_SEPARATORS:
        paths = [label.split(separator) for label in labels if separator in label]
        if len(paths) <= len(labels) / 2 or not all(step.strip() for p in paths for step in p):
            continue
        roots = [path[0] for path in paths]
        if len(set(roots)) < len(roots) or not set(roots).isdisjoint(labels):
            return separator
    return None


def _split_path(label: str, separator: str, origin: str) -> list[str]:
    if len(label) > MAX_CELL:
        # Checked before splitting: a path of a million steps has a million prefixes.
        raise TaxonomyError(
            f"{origin} has a label of {len(label):,} characters, {quote_list([label])}; the most "
            f"is {MAX_CELL:,}"
        )
    steps = label.split(separator)
    if not all(step.strip() for step in steps):
        raise TaxonomyError(
            f"{origin}: path {quote_list([label])} has an empty step between two {separator!r}; "
            "give another separator if that is not what separates the steps"
        )
    return steps


def _make_name(step: str, code: str) -> str:
    return step.strip() if any(map(str.isalpha, step)) else code
