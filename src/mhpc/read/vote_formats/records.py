"""JSON with one object per instance or per answer, as scripts and language models write it.

An object has the labels of one source, or a list or mapping of answers::

    {"item": 7, "model": "gpt", "labels": ["bee", "ant"], "confidence": 0.7}
    {"item": 7, "model": "gpt", "labels": [{"label": "bee", "score": 0.7}]}
    {"item": 7, "model": "gpt", "labels": {"bee": 0.7, "ant": 0.2}}
    {"id": 7, "annotations": [{"annotator": "ann", "labels": ["bee"]}]}
    {"id": 7, "annotations": {"ann": ["bee"], "bob": []}}

An empty list means "none of these", null that the source was asked and gave no usable answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mhpc.data.votes import ABSTAIN_WORD
from mhpc.errors import MissingColumnError, option, quote_list
from mhpc.read.columns import ALIASES, find_columns, normalize_name
from mhpc.read.json_xml import pointer
from mhpc.read.vote_formats.base import (
    SCORED_COLUMNS,
    LongTable,
    VotesInput,
    check_rows,
    field_sql,
    list_sql,
    path_sql,
)
from mhpc.system.database import literal

ANSWER_KEYS = (
    "annotations", "answers", "votes", "responses", "judgments", "judgements", "predictions",
    "labels", "results", "outputs", "models", "annotators", "workers", "sources",
)  # fmt: skip
"""Keys under which an object has the answers of several sources, as `normalize_name` has them."""

LABEL_KEYS = (*ALIASES["label"], "name", "id", "text", "title", "path")
"""Keys of the label in an object that is one label with its score."""


class Records:
    """Objects with a list or mapping of labels, or of answers."""

    name = "records"
    kinds = ("json", "jsonl")

    def matches(self, votes: VotesInput) -> bool:
        """Look for an instance, and for labels or answers that are a list or a mapping."""
        record = votes.first_record
        keys = _by_role(record)
        if "instance" not in keys:
            return False
        if _find_answers(record) is not None:
            return True
        labels = record.get(keys.get("label", ""))
        has_source = "source" in keys or votes.default_source is not None
        return has_source and isinstance(labels, list | dict)

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per label."""
        votes.require_records(self.name)
        keys = {**_by_role(votes.first_record), **columns}
        if "instance" not in keys:
            raise MissingColumnError(
                f"{votes.origin}: no key 'instance' (nor {quote_list(ALIASES['instance'][1:5])}); "
                f"choose it with {option('columns', {'instance': 'NAME'})}"
            )
        instance = field_sql("json", keys["instance"])
        nested = _find_answers(votes.first_record)
        if nested is not None and "source" not in columns:
            _unnest_answers(votes, nested, instance)
            keys = {**_by_role(_answer_keys(votes)), **columns}
            instance = "instance"
        else:
            votes.connection.execute("CREATE TEMP VIEW answers AS SELECT * FROM records")
            keys = _keys_of_all(votes, keys)
        _make_long(votes, keys, instance, default_source=votes.default_source)
        marks = {"negative": "negative"} if "negative" in keys else {}
        return LongTable({**SCORED_COLUMNS, **marks})


def _by_role(keys: Iterable[str]) -> dict[str, str]:
    """Return the keys of the roles that have a usual name."""
    return find_columns(list(keys), ALIASES, required=(), origin="")


def _keys_of_all(votes: VotesInput, keys: dict[str, str]) -> dict[str, str]:
    """Add the score if only later objects have one."""
    if "score" in keys:
        return keys
    names = ", ".join(map(literal, ALIASES["score"]))
    row = votes.connection.execute(
        f"SELECT key FROM (SELECT unnest(json_keys(json)) AS key FROM records) "
        f"WHERE lower(key) IN ({names}) LIMIT 1"
    ).fetchone()
    return {**keys, "score": row[0]} if row else keys


def _find_answers(record: Mapping[str, Any]) -> str | None:
    """Return the key of the answers of several sources, a list or a mapping, if there is one."""
    for key, value in record.items():
        if isinstance(value, list) and any(map(_is_answer, value)):
            return key
        is_mapping = isinstance(value, dict) and normalize_name(key) in ANSWER_KEYS
        if is_mapping and value and not _are_scores(value.values()):
            return key
    return None


def _is_answer(value: Any) -> bool:
    """Return whether an object names its source, and is not a label with its score."""
    return isinstance(value, dict) and "source" in _by_role(value)


def _are_scores(values: Iterable[Any]) -> bool:
    """Return whether the values of a mapping are scores of labels, not answers of sources."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _unnest_answers(votes: VotesInput, key: str, instance: str) -> None:
    """Create ``answers`` (number, instance, source, json) with one row per answer."""
    value = f"json_extract(json, {literal(pointer(key))})"
    # A mapping of sources becomes a list of answers, each with its source.
    votes.connection.execute(
        f"CREATE TEMP TABLE nested AS SELECT number, {instance} AS instance, {value} AS value "
        f"FROM records WHERE json_type({value}) IN ('ARRAY', 'OBJECT')"
    )
    check_rows(
        votes, "nested",
        wrong="json_type(value) = 'OBJECT' AND "
        "len(json_keys(value)) > len(list_distinct(json_keys(value)))",
        message="'a source is given twice; put its labels together'",
    )  # fmt: skip
    votes.connection.execute(
        "CREATE TEMP TABLE answers AS "
        "SELECT number, instance, NULL AS source, CAST(answer AS VARCHAR) AS json FROM "
        "(SELECT number, instance, unnest(from_json(value, '[\"JSON\"]')) AS answer FROM nested "
        "WHERE json_type(value) = 'ARRAY') UNION ALL "
        "SELECT number, instance, source, "
        "CASE WHEN json_type(answer) = 'OBJECT' THEN CAST(answer AS VARCHAR) ELSE "
        "CAST(json_object('labels', answer) AS VARCHAR) END AS json FROM "
        "(SELECT number, instance, source, json_extract(value, '/' || replace(replace(source, "
        "'~', '~0'), '/', '~1')) AS answer FROM (SELECT number, instance, value, "
        "unnest(json_keys(value)) AS source FROM nested WHERE json_type(value) = 'OBJECT'))"
    )


def _answer_keys(votes: VotesInput) -> list[str]:
    """Return the keys of all answers."""
    rows = votes.connection.execute(
        "SELECT DISTINCT unnest(json_keys(json)) FROM answers"
    ).fetchall()
    return sorted(key for (key,) in rows)


def _make_long(
    votes: VotesInput, keys: Mapping[str, str], instance: str, *, default_source: str | None
) -> None:
    if "label" not in keys:
        raise MissingColumnError(
            f"{votes.origin}: no key 'label' (nor {quote_list(ALIASES['label'][1:5])}); choose it "
            f"with {option('columns', {'label': 'NAME'})}"
        )
    columns = votes.connection.table("answers").columns
    sources = ["source"] if "source" in columns else []
    sources += [field_sql("json", keys["source"])] if "source" in keys else []
    sources += [literal(default_source)] if default_source is not None else []
    score = f"json_extract(json, {literal(pointer(keys['score']))})" if "score" in keys else "NULL"
    negative = field_sql("json", keys["negative"]) if "negative" in keys else "NULL"
    votes.connection.execute(
        f"CREATE TEMP TABLE labelled AS SELECT number, {instance} AS instance, "
        f"coalesce({', '.join(sources) or 'NULL'}, NULL) AS source, "
        f"json_extract(json, {literal(pointer(keys['label']))}) AS labels, {score} AS score, "
        f"{negative} AS negative FROM answers"
    )
    _check_items(votes)
    select = "SELECT number, instance, source, negative"
    kind = "coalesce(json_type(labels), 'NULL')"
    whole_score = (
        "CASE WHEN json_type(score) IN ('ARRAY', 'OBJECT') THEN NULL ELSE score ->> '$' END"
    )
    parts = [
        # "none of these", and no usable answer
        f"{select}, NULL AS label, NULL AS score FROM labelled WHERE {kind} IN ('ARRAY', 'OBJECT') "
        "AND labels::VARCHAR IN ('[]', '{}')",
        f"{select}, {literal(ABSTAIN_WORD)}, NULL FROM labelled WHERE {kind} = 'NULL'",
        # one label
        f"{select}, labels ->> '$', {whole_score} FROM labelled "
        f"WHERE {kind} NOT IN ('ARRAY', 'OBJECT', 'NULL')",
        # a list of labels, or of labels with scores
        f"{select}, coalesce({_label_sql('item')}, {literal(ABSTAIN_WORD)}), "
        f"coalesce({_score_sql('item')}, "
        f"{_score_at_sql('score', 'position', _label_sql('item'))}, {whole_score}) FROM "
        f"(SELECT *, generate_subscripts(items, 1) AS position, unnest(items) AS item FROM "
        f"(SELECT *, from_json(labels, '[\"JSON\"]') AS items FROM labelled "
        f"WHERE {kind} = 'ARRAY'))",
        # a label with its score, or a mapping of labels to scores
        f"{select}, {_label_sql('labels')}, coalesce({_score_sql('labels')}, {whole_score}) "
        f"FROM labelled WHERE {kind} = 'OBJECT' AND {_label_sql('labels')} IS NOT NULL",
        f"{select}, key, json_extract_string(labels, '/' || replace(replace(key, '~', '~0'), '/', "
        f"'~1')) FROM (SELECT *, unnest(json_keys(labels)) AS key FROM labelled WHERE "
        f"{kind} = 'OBJECT' AND {_label_sql('labels')} IS NULL)",
    ]
    votes.connection.execute(
        f"CREATE TEMP TABLE cells AS SELECT * FROM ({' UNION ALL '.join(parts)}) ORDER BY number"
    )


def _check_items(votes: VotesInput) -> None:
    """Raise an error if an object in a list of labels has no key for the label."""
    items = "unnest(from_json(labels, '[\"JSON\"]')) AS item"
    check_rows(
        votes,
        f"(SELECT number, {items} FROM labelled WHERE json_type(labels) = 'ARRAY')",
        wrong="json_type(item) = 'OBJECT' AND len(list_filter(json_keys(item), "
        f"lambda key: key IN {list_sql(LABEL_KEYS)})) = 0",
        message="CAST(item AS VARCHAR)[:100] || ' has no label; give it the key label'",
    )


def _label_sql(item: str) -> str:
    """Return SQL for the label that an item of a list is: a text, a path, or an object."""
    keys = ", ".join(_extract_sql(item, key) for key in LABEL_KEYS)
    path = path_sql(f"""from_json({item}, '["VARCHAR"]')""")
    return (
        f"CASE json_type({item}) WHEN 'ARRAY' THEN {path} WHEN 'OBJECT' THEN coalesce({keys}) "
        f"ELSE {item} ->> '$' END"
    )


def _score_sql(item: str) -> str:
    keys: Sequence[str] = [_extract_sql(item, key) for key in ALIASES["score"]]
    return f"CASE json_type({item}) WHEN 'OBJECT' THEN coalesce({', '.join(keys)}) END"


def _score_at_sql(score: str, position: str, label: str) -> str:
    """Return SQL for the score of one label of a list, if scores are a list or mapping too."""
    key = f"'/' || replace(replace({label}, '~', '~0'), '/', '~1')"
    return (
        f"CASE json_type({score}) WHEN 'ARRAY' THEN "
        f"json_extract_string({score}, '/' || ({position} - 1)) "
        f"WHEN 'OBJECT' THEN json_extract_string({score}, {key}) END"
    )


def _extract_sql(item: str, key: str) -> str:
    return f"json_extract_string({item}, {literal(pointer(key))})"
