"""The long table: one row per vote."""

from collections.abc import Mapping, Sequence

from mhpc.data.votes import ABSTAIN_WORD
from mhpc.errors import MissingColumnError, ReadingWarning, option, pluralize, quote_list, warn
from mhpc.read.columns import ALIASES, normalize_name
from mhpc.read.files import LocalFile
from mhpc.read.tables import Table, text_sql
from mhpc.read.vote_formats.base import (
    LongTable,
    VotesInput,
    check_rows,
    path_sql,
    replace_cells,
    row_number_sql,
    unnest_labels_sql,
)
from mhpc.system.database import identifier, literal

LONG_ALIASES = {**ALIASES, "rank": ("rank",)}
"""The roles that columns of a long table can have."""

DRAWN = "drawn"
"""The column that says how an instance was selected for review: random, or otherwise."""


class LongFormat:
    """One row per vote: instance, source, label and, if sources give them, score.

    A cell may hold several labels: as a list, as crowd-kit stores them, or as the text of a JSON
    list. A rank, which must be chosen as a column, counts as its reciprocal. A column ``negative``
    marks votes that a label does not apply.
    """

    name = "long"

    def matches(self, votes: VotesInput) -> bool:
        """Accept whatever no other format matches; reading it says what is missing."""
        return True

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Use the table as it is, except that lists of labels become several rows."""
        roles = _find_roles(votes, columns)
        _warn_of_headers(votes.files)
        table = Table(votes.connection, votes.columns, votes.origin)
        if votes.files and votes.has_records:
            _mark_abstentions(votes, roles["label"])
        _refuse_second_header(votes, roles)
        _keep_drawn(table, roles["instance"])
        if _has_lists(table, roles["label"]):
            _unnest_lists(votes, table, roles)
        elif "rank" in roles or "source" not in roles:
            _number_rows(votes, table, roles)
        else:
            return LongTable(roles, is_numbered=False)
        if "rank" in roles:
            check_rows(
                votes, "cells", wrong="score < 0", message="'its rank is not a number from 1 on'"
            )
        return LongTable(_built_columns(roles))


def _mark_abstentions(votes: VotesInput, column: str) -> None:
    """Read null, which JSON tells from an empty text, as "asked, but did not know"."""
    name = identifier(column)
    votes.connection.execute(
        f"UPDATE cells SET {name} = {literal(ABSTAIN_WORD)} WHERE {name} IS NULL"
    )


def _refuse_second_header(votes: VotesInput, roles: Mapping[str, str]) -> None:
    """Raise an error if the header is repeated, as where files were joined: it is no vote."""
    if votes.only_file is None or votes.only_file.format != "csv" or votes.only_file.names:
        return
    names = [roles[role] for role in ("instance", "source", "label") if role in roles]
    repeated = " AND ".join(f"{identifier(name)} = {literal(name)}" for name in names)
    numbered = f"(SELECT {row_number_sql(votes)} AS number, * FROM cells)"
    check_rows(votes, numbered, wrong=repeated, message="'the header again; leave that row out'")


def _find_roles(votes: VotesInput, columns: Mapping[str, str]) -> dict[str, str]:
    roles = votes.find_columns(LONG_ALIASES, required=(), chosen=columns)
    if votes.default_source is not None and len(votes.header) == 2 and "label" not in roles:
        # Of two columns without sources, the one that is not the instance is the label.
        columns = {**columns, "label": next(n for n in votes.header if n != roles.get("instance"))}
    roles = votes.find_columns(
        LONG_ALIASES, required=("instance", "label"), chosen=columns,
        cure=f"rename one, or choose it with {votes.choose_column('ROLE')}",
    )  # fmt: skip
    if "rank" not in columns:
        # A rank may be that of anything, so it counts only if the user says so.
        roles.pop("rank", None)
    if "source" not in roles and votes.default_source is None:
        raise MissingColumnError(
            f"{votes.origin}: no column 'source' (nor {quote_list(ALIASES['source'][1:5])}); it "
            f"has {quote_list(votes.header)}; choose it with "
            f"{option('columns', {'source': 'NAME'})}, or with "
            f"{option('columns', {'source': 'NAME,NAME,…'})} if every source has a column of its "
            "own"
        )
    _warn_of_others(votes, roles, columns)
    return roles


def _warn_of_others(votes: VotesInput, roles: Mapping[str, str], chosen: Mapping[str, str]) -> None:
    """Say which of several columns that fit a role was taken, unless it has the role's own name."""
    taken = {*roles.values(), *votes.usual_columns.values()}
    for role, names in ALIASES.items():
        column = roles.get(role)
        if column is None or column in chosen.values() or normalize_name(column) == role:
            continue
        fitting = set(map(normalize_name, names))
        others = [
            name for name in votes.header if name not in taken and normalize_name(name) in fitting
        ]
        if others:
            warn(
                f"{votes.origin}: column {column!r} is read as the {role}; {quote_list(others)} "
                f"would fit as well (choose one with {votes.choose_column(role)})",
                ReadingWarning,
                stacklevel=5,
            )


def _warn_of_headers(files: Sequence[LocalFile]) -> None:
    """Say how the columns of files without a header are read."""
    without = [file for file in files if file.format == "csv" and file.names]
    if without:
        more = f" and {pluralize(len(without) - 1, 'more file')}" if len(without) > 1 else ""
        warn(
            f"{without[0].name}{more}: no header; the columns are read as "
            f"{', '.join(without[0].names)}",
            ReadingWarning,
            stacklevel=5,
        )


def _keep_drawn(table: Table, instance: str) -> None:
    """Make a table ``drawn`` of the instances that a column ``drawn`` says were drawn at random."""
    column = next((name for name in table.columns if normalize_name(name) == DRAWN), None)
    if column is not None:
        table.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {DRAWN} AS SELECT DISTINCT "
            f"{text_sql(table, instance)} AS instance FROM cells "
            f"WHERE lower(trim({text_sql(table, column)})) = 'random'"
        )


def _built_columns(roles: Mapping[str, str]) -> dict[str, str]:
    has_score = "score" in roles or "rank" in roles
    built = ("instance", "source", "label", *(["score"] if has_score else []))
    return {role: role for role in (*built, *(["negative"] if "negative" in roles else []))}


def _select_others_sql(votes: VotesInput, table: Table, roles: Mapping[str, str]) -> str:
    """Return SQL for the columns of all roles but the label."""
    selected = [f"{text_sql(table, roles['instance'])} AS instance"]
    if "source" in roles:
        selected.append(f"{text_sql(table, roles['source'])} AS source")
    else:
        selected.append(f"{literal(votes.default_source or '')} AS source")
    if "rank" in roles:
        rank = f"TRY_CAST({text_sql(table, roles['rank'])} AS DOUBLE)"
        # A rank below 1 is an error, which a score below 0 marks.
        selected.append(f"CASE WHEN {rank} >= 1 THEN 1 / {rank} ELSE -1 END AS score")
    elif "score" in roles:
        selected.append(f"{text_sql(table, roles['score'])} AS score")
    if "negative" in roles:
        selected.append(f"{identifier(roles['negative'])} AS negative")
    return ", ".join(selected)


def _number_rows(votes: VotesInput, table: Table, roles: Mapping[str, str]) -> None:
    replace_cells(
        votes,
        f"SELECT {row_number_sql(votes)} AS number, {_select_others_sql(votes, table, roles)}, "
        f"{text_sql(table, roles['label'])} AS label FROM cells",
    )


def _has_lists(table: Table, column: str) -> bool:
    name = identifier(column)
    if _is_list_column(table, name):
        return True
    text = f"CAST({name} AS VARCHAR)"
    first = table.connection.execute(
        f"SELECT {text} FROM cells WHERE {text} <> '' LIMIT 1"
    ).fetchall()
    if not first or not first[0][0].startswith("["):
        return False
    # A label may begin with a bracket, but it is unlikely that all of them are JSON lists.
    no_list = f"{text} <> '' AND coalesce(json_type(TRY_CAST({text} AS JSON)), '') <> 'ARRAY'"
    return not table.connection.execute(f"SELECT 1 FROM cells WHERE {no_list} LIMIT 1").fetchall()


def _is_list_column(table: Table, name: str) -> bool:
    return _kind_of(table, name).endswith("]")


def _kind_of(table: Table, name: str) -> str:
    """Return the type of a column; that of a list is the type of its items and brackets."""
    return str(table.connection.table("cells").select(name).types[0])


def _unnest_lists(votes: VotesInput, table: Table, roles: Mapping[str, str]) -> None:
    name = identifier(roles["label"])
    if _kind_of(table, name).endswith("[][]"):
        labels = f"list_transform({name}, lambda path: {path_sql('path')})"
    elif _is_list_column(table, name):
        labels = f"CAST({name} AS VARCHAR[])"
    else:
        labels = f"""from_json({name}, '["VARCHAR"]')"""
    replace_cells(
        votes,
        f"SELECT * EXCLUDE (labels), {unnest_labels_sql('labels')} AS label FROM "
        f"(SELECT {row_number_sql(votes)} AS number, {_select_others_sql(votes, table, roles)}, "
        f"{labels} AS labels FROM cells)",
    )
