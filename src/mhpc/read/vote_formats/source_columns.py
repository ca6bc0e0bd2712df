"""One column per source: each row is an instance, each cell what one source says of it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from mhpc.errors import MissingColumnError, ReadingWarning, option, quote_list, suggest, warn
from mhpc.read.columns import ALIASES, normalize_name
from mhpc.read.tables import Table, texts_sql
from mhpc.read.vote_formats.base import (
    LongTable,
    VotesInput,
    replace_cells,
    row_number_sql,
)
from mhpc.system.database import literal

MIN_SHARED = 0.2
"""The share of a column's cells that must occur in other columns for it to hold labels.

Texts, dates and names of a data set's parts share next to nothing with each other.
"""

_LABEL_SUFFIX = re.compile(
    rf"[\s_.-]+({'|'.join(sorted(ALIASES['label'], key=len, reverse=True))})$", re.IGNORECASE
)
_KNOWN_LABELS = {"truth", "gold", "goldlabel", "groundtruth", "truelabel", "consensus", "final"}
"""Names of columns that hold known labels, not those of a source."""


class SourceColumns:
    """A table with one column per source, as spreadsheets of annotators have it.

    The columns are those that share their labels with each other. A cell may hold several labels,
    separated as ``--separator`` says; a blank one means "not asked". A column such as
    ``gpt_confidence`` holds the scores of the column ``gpt`` or ``gpt_label``.
    """

    name = "source-columns"

    def matches(self, votes: VotesInput) -> bool:
        """Look for an instance, no source, no label, but columns that share their labels."""
        if len(votes.files) > 1 or _is_nested(votes):
            return False
        roles = votes.find_columns(ALIASES, required=(), chosen={})
        if {"source", "label"} <= roles.keys():
            return False
        sources = _find_sources(votes, roles.get("instance"))
        # A source may be called like a role: ``model`` beside ``ann``, both with labels.
        return len(sources) > 1 and all(
            roles.get(role, sources[0]) in sources for role in ("source", "label")
        )

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per filled cell."""
        instance = _find_instance(votes, columns)
        if chosen := columns.get("source"):
            sources = _match_columns(votes, chosen)
        else:
            others = [name for name in votes.header if name != instance]
            # Who names this format need not have sources that ever agree.
            sources = _find_sources(votes, instance) or _drop_scores(votes, others)
            _warn_others(votes, instance, sources)
        if len(sources) < 2:
            raise MissingColumnError(
                f"{votes.origin}: no two columns share their labels; name the columns of the "
                f"sources with {option('columns', {'source': 'NAME,NAME,…'})}; it has "
                f"{quote_list(votes.header)}"
            )
        scores = find_score_columns(sources, votes.header)
        replace_cells(votes, _rows_sql(votes, instance, sources, scores))
        built = ("instance", "source", "label", *(["score"] if scores else []))
        return LongTable({role: role for role in built})


def find_score_columns(columns: Sequence[str], present: Sequence[str]) -> dict[str, str]:
    """Return the column with the scores of each source that has one."""
    places = {normalize_name(name): place for place, name in reversed(list(enumerate(present)))}
    found = {}
    for column in columns:
        bases = (column, _source_of(column))
        names = {normalize_name(f"{base} {score}") for base in bases for score in ALIASES["score"]}
        if named := places.keys() & names:
            found[column] = present[min(places[name] for name in named)]
    return found


def _is_nested(votes: VotesInput) -> bool:
    return any(isinstance(cell, dict | list) for cell in votes.first_record.values())


def _drop_scores(votes: VotesInput, columns: Sequence[str]) -> list[str]:
    sample = votes.sample()
    return [name for name in columns if not _are_numbers(sample[name])]


def _find_instance(votes: VotesInput, columns: Mapping[str, str]) -> str:
    """Return the column of instances: the one chosen, one with a usual name, or the first."""
    chosen = {role: name for role, name in columns.items() if role == "instance"}
    roles = votes.find_columns({"instance": ALIASES["instance"]}, required=(), chosen=chosen)
    return roles.get("instance", votes.header[0])


def _match_columns(votes: VotesInput, chosen: str) -> list[str]:
    """Return the columns that names or patterns such as ``rater_*``, with commas, stand for."""
    if chosen in votes.header:
        return [chosen]
    matched: dict[str, None] = {}
    for pattern in (part.strip() for part in chosen.split(",")):
        names = [name for name in votes.header if fnmatchcase(name, pattern)]
        if not names:
            raise MissingColumnError(
                f"{votes.origin}: no column {pattern!r}{suggest(pattern, votes.header)}; "
                f"it has {quote_list(votes.header)}"
            )
        matched.update(dict.fromkeys(names))
    return list(matched)


def _find_sources(votes: VotesInput, instance: str | None) -> list[str]:
    """Return the columns that have enough of their cells in common with others."""
    instance = instance or votes.header[0]
    cells = {
        name: _split(texts)
        for name, texts in votes.sample().items()
        if name != instance
        and normalize_name(name) not in _KNOWN_LABELS
        and not _are_numbers(texts)
    }
    occurrences: dict[str, int] = {}
    for texts in cells.values():
        for text in set(texts):
            occurrences[text] = occurrences.get(text, 0) + 1
    return [
        name
        for name, texts in cells.items()
        if texts and sum(occurrences[text] > 1 for text in texts) >= MIN_SHARED * len(texts)
    ]


def _split(texts: Iterable[str]) -> list[str]:
    """Return the single labels of cells that may hold several."""
    return [part.strip() for text in texts for part in re.split(r"[;|,]", text) if part.strip()]


def _are_numbers(texts: Sequence[str]) -> bool:
    """Return whether cells are scores rather than labels: numbers with a fraction or a per cent."""
    return all(re.fullmatch(r"\s*-?\d*([.,]\d+)?\s*%?\s*", text) for text in texts) and any(
        re.search(r"[.,%]", text) or text.strip() in ("0", "1") for text in texts
    )


def _warn_others(votes: VotesInput, instance: str, sources: Sequence[str]) -> None:
    scores = find_score_columns(sources, votes.header).values()
    used = {instance, *sources, *scores}
    others = [name for name in votes.header if name not in used]
    if others:
        warn(
            f"{votes.origin}: read with one column per source, {quote_list(sources)}; "
            f"{quote_list(others)} left out",
            ReadingWarning,
            stacklevel=5,
        )


def _source_of(column: str) -> str:
    """Return the name of a source: that of its column, without a suffix such as ``_label``."""
    return _LABEL_SUFFIX.sub("", column.strip()) or column


def _rows_sql(
    votes: VotesInput, instance: str, sources: Sequence[str], scores: Mapping[str, str]
) -> str:
    """Return SQL for one row per filled cell, in the order of rows and columns."""
    table = Table(votes.connection, votes.columns, votes.origin)
    text = dict(zip(votes.columns, texts_sql(table, votes.columns), strict=True))
    unnested = {
        "place": map(str, range(len(sources))),
        "source": (literal(_source_of(name)) for name in sources),
        "label": (text[name] for name in sources),
        "score": (text[scores[name]] if name in scores else "NULL" for name in sources),
    }
    # Selecting one column after the other would be planned as many times as there are columns.
    lists = ", ".join(f"unnest([{', '.join(cells)}]) AS {role}" for role, cells in unnested.items())
    return (
        "SELECT number, instance, source, label, score FROM "
        f"(SELECT {row_number_sql(votes)} AS number, {text[instance]} AS instance, {lists} "
        "FROM cells) WHERE trim(label) <> '' ORDER BY number, place"
    )
