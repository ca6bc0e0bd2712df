"""Columns: which column of a table plays which role."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from mhpc.errors import MissingColumnError, ParameterError, nearest, quoted

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "instance": ("instance", "task", "item", "unit", "object", "obj", "question", "text_id"),
        "source": (
            "source", "worker", "annotator", "rater", "judge", "src", "rater_id", "annotator_id",
        ),
        "label": ("label", "value", "answer", "choice", "relation"),
        "score": ("score", "confidence", "prob", "probability"),
    }
)  # fmt: skip
"""Names under which the columns of votes and truths are known, the canonical one first."""

TAXONOMY_ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "label": ("label", "id", "code", "child", "node", "term", "path"),
        "parent": ("parent", "parent_id", "parentid", "broader"),
        "name": ("name", "title"),
    }
)
"""The same for taxonomies."""


def find_columns(
    present: Sequence[str],
    aliases: Mapping[str, tuple[str, ...]],
    *,
    required: Sequence[str],
    chosen: Mapping[str, str] | None = None,
    origin: str,
    cure: str = "rename one",
) -> dict[str, str]:
    """Return the column for each role that the table has.

    Parameters
    ----------
    present : sequence of str
        The table's columns.
    aliases : mapping of role to names
        Case does not matter; the first name that is present wins.
    required : sequence of str
        Roles that must be found.
    chosen : mapping of role to column, optional
        The user's word, which goes before the aliases.
    origin : str
        The table, for messages.
    cure : str
        What would do, for messages.
    """
    by_name = {column.strip().lower(): column for column in reversed(present)}
    found: dict[str, str] = {}
    for role, column in (chosen or {}).items():
        if role not in aliases:
            raise ParameterError(f"no column role {role!r}; the roles are {quoted(list(aliases))}")
        if column not in present:
            raise MissingColumnError(
                f"{origin}: no column {column!r}{nearest(column, present)}; "
                f"it has {quoted(present)}"
            )
        found[role] = column
    for role, names in aliases.items():
        known = next((by_name[name] for name in names if name in by_name), None)
        if role not in found and known is not None:
            found[role] = known
    for role in required:
        if role not in found:
            others = f" (nor {quoted(aliases[role][1:])})" if aliases[role][1:] else ""
            raise MissingColumnError(
                f"{origin}: no column {role!r}{others}; it has {quoted(present)}; {cure}"
            )
    return found
