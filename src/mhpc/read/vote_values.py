"""What the cells of votes mean: several labels in one, replaced labels, negative votes, scores.

Scores are read column by column. Percentages (``53%``, or numbers of which the largest is above 10
and at most 100) and decimal commas are recognized and said; on any other scale, the user names the
highest score. A vote without a score counts as 1 if its source never gives scores. If the source
gives scores elsewhere, its confidence in this vote is not known, and the mean of its scores stands
for it; a vote that is repeated without its score is left out.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from mhpc.data.votes import ABSTAIN_WORD
from mhpc.errors import (
    DataError,
    ReadingWarning,
    option,
    pluralize,
    quote_list,
    warn,
)
from mhpc.read.options import NEGATIVE_MARK, ReadOptions
from mhpc.read.tables import Table, text_sql
from mhpc.read.vote_formats.base import (
    LongTable,
    VotesInput,
    replace_cells,
    row_number_sql,
    unnest_labels_sql,
)
from mhpc.system.database import identifier, literal

PERCENT = 100.0
"""The highest score of percentages."""

MIN_PERCENT = 10.0
"""If no number is larger, they may be grades of a scale, and are not taken for percentages."""

MIN_SHARE_ABOVE_ONE = 0.9
"""The share of the scores above 0 that must be above 1 where scores are on another scale."""

SCALES = (5.0, 10.0, 100.0, 1000.0)
"""The usual highest scores, of which a message proposes one."""


def interpret_values(votes: VotesInput, long_table: LongTable, options: ReadOptions) -> LongTable:
    """Return a long table whose labels are single labels, and whose scores are from 0 to 1.

    A table that is like this already stays as it is, at the cost of one look at its scores.
    """
    if options.changes_labels or (options.negative and "negative" not in long_table.columns):
        long_table = _make_long(votes, long_table)
        long_table = _change_labels(votes, long_table, options)
    has_scores = "score" in long_table.columns and not options.ignore_scores
    if not has_scores or _are_scores(votes, long_table, options):
        return long_table
    return _read_scores(votes, _make_long(votes, long_table), options)


def _make_long(votes: VotesInput, long_table: LongTable) -> LongTable:
    """Return the table with our own column names and with numbers, as texts."""
    if long_table.is_numbered and all(role == name for role, name in long_table.columns.items()):
        return replace(long_table, cells=None)
    table = Table(votes.connection, tuple(long_table.columns.values()), votes.origin)
    selected = ", ".join(
        f"{text_sql(table, name)} AS {role}" for role, name in long_table.columns.items()
    )
    number = "number" if long_table.is_numbered else row_number_sql(votes)
    replace_cells(votes, f"SELECT {number} AS number, {selected} FROM cells")
    columns = {role: role for role in long_table.columns}
    return replace(long_table, columns=columns, is_numbered=True, cells=None)


def _change_labels(votes: VotesInput, long_table: LongTable, options: ReadOptions) -> LongTable:
    columns = dict(long_table.columns)
    if options.separator:
        parts = (
            f"list_filter(list_transform(string_split(label, {literal(options.separator)}), "
            "lambda part: trim(part)), lambda part: part <> '')"
        )
        replace_cells(
            votes,
            f"SELECT * EXCLUDE (label, parts), {unnest_labels_sql('parts')} AS label "
            f"FROM (SELECT *, {parts} AS parts FROM cells) ORDER BY number",
        )
    if options.negative is not None and "negative" not in columns:
        _mark_negative(votes, options)
        columns["negative"] = "negative"
    if options.label_map:
        _replace_labels(votes, options)
    return replace(long_table, columns=columns)


def _mark_negative(votes: VotesInput, options: ReadOptions) -> None:
    if options.negative == "mark":
        mark = literal(NEGATIVE_MARK)
        replace_cells(
            votes,
            f"SELECT * EXCLUDE (label), CASE WHEN starts_with(ltrim(label), {mark}) THEN "
            f"trim(ltrim(label)[{len(NEGATIVE_MARK) + 1}:]) ELSE label END AS label, "
            f"coalesce(starts_with(ltrim(label), {mark}), false) AS negative "
            "FROM cells ORDER BY number",
        )
        return
    number = "TRY_CAST(replace(CAST(score AS VARCHAR), ',', '.') AS DOUBLE)"
    replace_cells(
        votes,
        f"SELECT * EXCLUDE (score), CASE WHEN {number} < 0 THEN CAST(-{number} AS VARCHAR) ELSE "
        f"CAST(score AS VARCHAR) END AS score, coalesce({number} < 0, false) AS negative "
        "FROM cells ORDER BY number",
    )


def _replace_labels(votes: VotesInput, options: ReadOptions) -> None:
    pairs = options.label_map
    votes.connection.register(
        "label_map",
        {
            "old": np.array(list(pairs), dtype=object),
            "new": np.array(list(pairs.values()), dtype=object),
        },
    )
    replace_cells(
        votes,
        "SELECT cells.* EXCLUDE (label), coalesce(new, label) AS label FROM cells "
        "LEFT JOIN label_map ON cells.label = label_map.old ORDER BY number",
    )
    votes.connection.unregister("label_map")


def _are_scores(votes: VotesInput, long_table: LongTable, options: ReadOptions) -> bool:
    """Return whether all scores are numbers from 0 to 1 already."""
    if options.score_max is not None:
        return False
    label, score = (identifier(long_table.columns[role]) for role in ("label", "score"))
    kind = str(votes.connection.table("cells").select(score).types[0])
    number = score if kind == "DOUBLE" else f"TRY_CAST({score} AS DOUBLE)"
    wrong = f"NOT coalesce({number} BETWEEN 0 AND 1, false)"
    has_label = f"{label} IS NOT NULL AND CAST({label} AS VARCHAR) <> ''"
    return not votes.connection.execute(
        f"SELECT 1 FROM cells WHERE {wrong} AND {has_label} LIMIT 1"
    ).fetchall()


@dataclass(frozen=True)
class _ScoreFacts:
    """What the score column of the rows with a label holds."""

    rows: int
    blank: int
    percent: int
    comma: int
    wrong: int
    positive: int
    above_one: int
    whole: int
    lowest: float
    highest: float


def _read_scores(votes: VotesInput, long_table: LongTable, options: ReadOptions) -> LongTable:
    """Replace the scores of the long table by numbers from 0 to 1."""
    replace_cells(
        votes,
        "SELECT * EXCLUDE (score, text), nullif(trim(text), '') AS text, "
        "TRY_CAST(replace(rtrim(trim(text), ' %'), ',', '.') AS DOUBLE) AS score, "
        f"coalesce(label NOT IN ('', {literal(ABSTAIN_WORD)}), false) AS has_label "
        "FROM (SELECT *, CAST(score AS VARCHAR) AS text FROM cells) ORDER BY number",
    )
    facts = _collect_facts(votes)
    if facts.blank == facts.rows:
        columns = {role: name for role, name in long_table.columns.items() if role != "score"}
        return replace(long_table, columns=columns)
    _refuse_wrong(votes, facts, options)
    scale = _find_scale(votes, facts, options)
    replace_cells(
        votes,
        f"SELECT * EXCLUDE (score, text), CASE WHEN has_label THEN score / {scale!r} ELSE 1.0 END "
        "AS score FROM cells ORDER BY number",
    )
    if facts.blank:
        _fill_blank(votes)
    return long_table


def _collect_facts(votes: VotesInput) -> _ScoreFacts:
    row = votes.connection.execute(
        "SELECT count(*), count(*) FILTER (text IS NULL), "
        "count(*) FILTER (ends_with(text, '%')), count(*) FILTER (contains(text, ',')), "
        "count(*) FILTER (text IS NOT NULL AND (score IS NULL OR isnan(score))), "
        "count(*) FILTER (score > 0), count(*) FILTER (score > 1), "
        "count(*) FILTER (score > 0 AND score = trunc(score)), "
        "coalesce(min(score), 0), coalesce(max(score), 0) FROM cells WHERE has_label"
    ).fetchone()
    assert row is not None  # noqa: S101 - an aggregate has one row
    return _ScoreFacts(*row)


def _refuse_wrong(votes: VotesInput, facts: _ScoreFacts, options: ReadOptions) -> None:
    """Raise an error about the first score that cannot be understood."""
    if facts.wrong:
        raise _score_error(votes, "text IS NOT NULL AND (score IS NULL OR isnan(score))")
    if facts.percent and facts.percent < facts.rows - facts.blank:
        raise _score_error(
            votes, "text IS NOT NULL AND NOT ends_with(text, '%')",
            "others in the column end with %; write all of them in one way",
        )  # fmt: skip
    if facts.lowest < 0:
        raise _score_error(
            votes, "score < 0",
            "a score is a number from 0 to 1; if one below 0 means that the label does not apply, "
            f"give {option('negative', 'score')}",
        )  # fmt: skip
    if options.score_max is not None and facts.highest > options.score_max:
        raise _score_error(
            votes, f"score > {options.score_max!r}",
            f"it is above {options.score_max:g}, which {option('score_max')} gives as the highest",
        )  # fmt: skip


def _find_scale(votes: VotesInput, facts: _ScoreFacts, options: ReadOptions) -> float:
    """Return what scores are to be divided by, and say so if the user did not."""
    if options.score_max is not None:
        return options.score_max
    scale = 1.0
    if facts.percent or facts.highest > 1:
        is_scaled = (
            facts.above_one >= MIN_SHARE_ABOVE_ONE * facts.positive or facts.whole == facts.positive
        )
        if facts.percent or (is_scaled and MIN_PERCENT < facts.highest <= PERCENT):
            scale = PERCENT
        if facts.highest > scale:
            raise _scale_error(votes, facts, is_scaled=is_scaled, above=scale)
    described = {"percentages, divided by 100": scale == PERCENT}
    described["numbers with a decimal comma"] = bool(facts.comma)
    readings = [reading for reading, applies in described.items() if applies]
    if readings:
        _warn(votes, f"scores are read as {' and '.join(readings)}")
    return scale


def _scale_error(
    votes: VotesInput, facts: _ScoreFacts, *, is_scaled: bool, above: float
) -> DataError:
    advice = "a score is a number from 0 to 1"
    if is_scaled and math.isfinite(facts.highest):
        usual = next((scale for scale in SCALES if facts.highest <= scale), facts.highest)
        give = option("score_max", int(usual) if usual.is_integer() else usual)
        advice += f"; if {usual:g} is the highest possible score, give {give}"
    return _score_error(votes, f"score > {above!r}", advice)


def _score_error(
    votes: VotesInput, where: str, advice: str = "a score is a number from 0 to 1"
) -> DataError:
    number, text, label, source = votes.connection.execute(
        f"SELECT number, text, label, source FROM cells WHERE has_label AND {where} "
        "ORDER BY number LIMIT 1"
    ).fetchone() or (0, "", "", "")
    return DataError(
        f"{votes.locate(number)}: score {quote_list([text])} for label {quote_list([label])} of "
        f"source {quote_list([source])}; {advice}"
    )


def _fill_blank(votes: VotesInput) -> None:
    """Give scores to votes without one, and say how many there were of which kind."""
    votes.connection.execute(
        "CREATE OR REPLACE TEMP TABLE mean_scores AS SELECT source, avg(score) AS mean FROM cells "
        "WHERE has_label AND score IS NOT NULL GROUP BY source"
    )
    replace_cells(
        votes,
        "SELECT cells.*, mean_scores.mean AS mean FROM cells LEFT JOIN mean_scores USING (source) "
        "WHERE NOT (has_label AND score IS NULL AND mean IS NOT NULL AND EXISTS (SELECT 1 FROM "
        "cells AS twin WHERE twin.instance = cells.instance AND twin.source = cells.source AND "
        "twin.label = cells.label AND twin.score IS NOT NULL)) ORDER BY number",
    )
    never, unknown, sources = votes.connection.execute(
        "SELECT count(*) FILTER (mean IS NULL), count(*) FILTER (mean IS NOT NULL), "
        "count(DISTINCT source) FILTER (mean IS NULL) FROM cells WHERE has_label AND score IS NULL"
    ).fetchone() or (0, 0, 0)
    if never:
        _warn(
            votes,
            f"{pluralize(never, 'vote')} of {pluralize(sources, 'source')} that never "
            f"{'gives' if sources == 1 else 'give'} a score {'counts' if never == 1 else 'count'} "
            "as 1",
        )
    if unknown:
        _warn(
            votes,
            f"{pluralize(unknown, 'vote')} without a score, of sources that give scores elsewhere, "
            f"{'counts' if unknown == 1 else 'count'} as the mean score of the source",
        )
    replace_cells(
        votes,
        "SELECT * EXCLUDE (score, mean), coalesce(score, mean, 1.0) AS score FROM cells "
        "ORDER BY number",
    )


def _warn(votes: VotesInput, message: str) -> None:
    warn(f"{votes.origin}: {message}", ReadingWarning, stacklevel=5)
