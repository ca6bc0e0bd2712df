"""What several formats need to become a long table: SQL for nested cells, and one control."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from mhpc.core.taxonomy import PATH_SEPARATOR
from mhpc.errors import DataError, MissingColumnError, nearest, quoted
from mhpc.read.formats.given import Given
from mhpc.read.records import pointer
from mhpc.read.sql import literal


def path_of(steps: str) -> str:
    """Return SQL for a list of steps as a path."""
    return f"array_to_string({steps}, {literal(PATH_SEPARATOR)})"


def labels_of(value: str) -> str:
    """Return SQL for the labels of a JSON value: a text, or a list of texts or of paths.

    How the value begins tells which; DuckDB writes JSON without blanks.
    """
    text = f"CAST({value} AS VARCHAR)"
    path = path_of("""from_json(each, '["VARCHAR"]')""")
    paths = (
        f"""list_transform(from_json({value}, '["JSON"]'), lambda each: """
        f"""CASE json_type(each) WHEN 'ARRAY' THEN {path} ELSE each ->> '$' END)"""
    )
    return (
        f"CASE WHEN starts_with({text}, '[[') THEN {paths} WHEN starts_with({text}, '[') THEN "
        f"""from_json({value}, '["VARCHAR"]') WHEN {text} = 'null' THEN NULL """
        f"ELSE [{value} ->> '$'] END"
    )


def is_no_label(value: str) -> str:
    """Return SQL that tells an object, or a list of them, from labels."""
    text = f"CAST({value} AS VARCHAR)"
    return f"(starts_with({text}, '{{') OR starts_with({text}, '[{{'))"


def rows_of(labels: str) -> str:
    """Return SQL that makes a row of every label, and one without where there is none."""
    return f"unnest(CASE WHEN len({labels}) > 0 THEN {labels} ELSE [NULL] END)"


def field(record: str, name: str) -> str:
    """Return SQL for a field as text; ``meta.id`` is the field id of meta, if no key has dots."""
    if "." not in name:
        return f"({record} ->> {literal(pointer(name))})"
    nested = "/" + "/".join(pointer(part)[1:] for part in name.split("."))
    return f"coalesce({record} ->> {literal(pointer(name))}, {record} ->> {literal(nested)})"


def chosen_controls(
    given: Given, present: Sequence[str], columns: Mapping[str, str], *, what: str
) -> list[str]:
    """Return which of several controls, questions or tasks gives the labels.

    The user's word may be a pattern: names of repeated controls carry an index.
    """
    if not present:
        raise MissingColumnError(f"{given.origin}: no {what} that gives labels; is it another one?")
    word = columns.get("label")
    if word is None:
        if len(present) > 1:
            raise DataError(
                f"{given.origin}: labels come from {len(present)} {what}s, {quoted(present)}; "
                f"say which is meant with --column label=NAME"
            )
        return list(present)
    found = [name for name in present if fnmatchcase(name, word)]
    if not found:
        raise MissingColumnError(
            f"{given.origin}: no {what} {word!r}{nearest(word, present)}; it has {quoted(present)}"
        )
    return found


def listed(names: Sequence[str]) -> str:
    """Return SQL for a list of texts."""
    return f"({', '.join(map(literal, names))})"


def refuse(given: Given, relation: str, where: str, says: str) -> None:
    """Refuse the first of some rows with a number; `says` is SQL for what is wrong with it."""
    found = given.connection.execute(
        f"SELECT number, {says} FROM {relation} WHERE {where} ORDER BY number LIMIT 1"
    ).fetchone()
    if found:
        raise DataError(f"{given.place(found[0])}: {found[1]}")


def numbers(given: Given) -> str:
    """Return SQL for the number of a row of ``cells``, from 1."""
    # The rows of a table have numbers already; to number those of a view takes turns.
    return "row_number() OVER ()" if _kind(given) == "VIEW" else "rowid + 1"


def remake_cells(given: Given, query: str | None) -> None:
    """Make the table ``cells`` anew, whatever it was, or none at all."""
    if query is not None:
        given.connection.execute(f"CREATE TEMP TABLE remade AS {query}")
    if kind := _kind(given):
        given.connection.execute(f"DROP {'VIEW' if kind == 'VIEW' else 'TABLE'} cells")
    if query is not None:
        given.connection.execute("ALTER TABLE remade RENAME TO cells")


def _kind(given: Given) -> str | None:
    found = given.connection.execute(
        "SELECT table_type FROM information_schema.tables WHERE table_name = 'cells'"
    ).fetchone()
    return found[0] if found else None
