"""Plain Python objects as tables: votes, truths and taxonomies in dicts and lists of tuples.

The shape of an object says what it is. Where it could be two things, it is refused, with a message
that names both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias

import numpy as np

from mhpc.errors import DataError, TaxonomyError, option, quote_list
from mhpc.read.columns import ALIASES, TAXONOMY_ALIASES, normalize_name
from mhpc.read.taxonomy_formats.levels import find_levels

Columns: TypeAlias = Mapping[str, str] | None
"""The columns that the user chose, by role."""

_LABEL_SETS = (Mapping, list, tuple, set, frozenset, np.ndarray)
_GROUPS = (Mapping, list, tuple, set, frozenset)
_CHILDREN = ("children", "nodes", "subcategories", "subclasses", "items", "narrower")


def tabulate_votes(source: Any) -> Any:
    """Return votes as a mapping of columns if they are plain objects, else as they are.

    Parameters
    ----------
    source : mapping, list or anything else
        ``{"photo-1": {"ann": "bee", "bob": ["bee", "ant"], "cid": {"bee": 0.9}}}``: the labels, or
        their scores, by instance and source. ``[("photo-1", "ann", "bee")]``: instance, source,
        label and maybe score. Instead of a label, a list of labels; an empty one or None is "none
        of these".

    Examples
    --------
    >>> tabulate_votes({"p": {"ann": "bee", "bob": ["ant", "bee"]}})["label"]
    ['bee', 'ant', 'bee']
    """
    if isinstance(source, Mapping) and source and not _are_columns(source):
        if not all(isinstance(answers, Mapping) for answers in source.values()):
            raise DataError(
                "the votes: a mapping holds columns, {'instance': […], 'source': […], 'label': "
                "[…]}, or the answers to every instance, {'photo-1': {'ann': 'bee'}}"
            )
        return _votes_columns(
            (instance, name, answer)
            for instance, answers in source.items()
            for name, answer in answers.items()
        )
    if _are_rows(source):
        _check_lengths(source, (3, 4), "the votes", "instance, source, label and maybe score")
        return _votes_columns(source)
    return source


def tabulate_truth(source: Any, columns: Columns = None, *, name: str = "the truth") -> Any:
    """Return known labels as a mapping of columns if they are plain objects, else as they are.

    Parameters
    ----------
    source : mapping, list or anything else
        ``{"photo-1": "bee", "photo-2": ["ant", "wasp"], "photo-3": []}``: a label, or several or
        none, by instance. ``[("photo-1", "bee")]``: pairs of the same. A mapping with a usual name
        of a column, such as ``instance``, holds columns.
    columns : mapping of role to column, optional
        The columns that the user chose; with any, a mapping holds columns.
    name : str
        What to call it in messages.

    Examples
    --------
    >>> tabulate_truth({"p": ["bee", "ant"], "q": []})["label"]
    ['bee', 'ant', None]
    """
    if isinstance(source, Mapping) and source:
        if _are_columns(source) and (columns or _known_names(source, ALIASES)):
            return source
        return _truth_columns(source.items())
    if _are_rows(source):
        _check_lengths(source, (2,), name, "instance and label")
        return _truth_columns(source)
    return source


def tabulate_taxonomy(source: Any, columns: Columns = None) -> Any:
    """Return a taxonomy as a mapping of columns, or of groups, if it is plain objects.

    Parameters
    ----------
    source : mapping, list or anything else
        ``{"flower": "plant", "plant": None}``: the parent of every label. ``{"plant": {"flower":
        ["monarda"]}}`` or ``{"plant": ["flower"], "flower": ["monarda"]}``: the labels below a
        label. ``[("flower", "plant")]``: pairs of a label and its parent. ``["plant > flower"]``:
        paths.
    columns : mapping of role to column, optional
        The columns that the user chose; with any, a mapping holds columns.

    Examples
    --------
    >>> tabulate_taxonomy({"flower": "plant", "plant": None})
    {'label': ['flower', 'plant'], 'parent': ['plant', None]}
    """
    if isinstance(source, Mapping) and source and not columns:
        return _tabulate_mapping(source)
    if _are_rows(source):
        _check_lengths(source, (2,), "the taxonomy", "label and parent")
        labels, parents = zip(*source, strict=True)
        return {"label": list(labels), "parent": list(parents)}
    if _are_texts(source):
        if _is_file(source[0]):
            raise TaxonomyError(
                f"the taxonomy: a list of labels, and {quote_list([source[0]])} is a file; give "
                "the file itself"
            )
        return {"label": list(source)}
    return source


def is_nested(source: Any) -> bool:
    """Return whether a mapping has labels within labels, and is no table."""
    return (
        isinstance(source, Mapping)
        and any(map(_is_group, source.values()))
        and not _is_table_of_labels(source)
    )


def scope_columns(source: Mapping[str, Any]) -> bool:
    """Return whether a mapping has the columns of a scope, and not the labels by source."""
    names = _known_names(source, {role: ALIASES[role] for role in ("source", "label")})
    return _are_columns(source) and names == {"source", "label"}


def _votes_columns(rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    votes = [vote for row in rows for vote in _votes_of(*row)]
    columns = {
        role: [vote[position] for vote in votes]
        for position, role in enumerate(("instance", "source", "label"))
    }
    if any(len(vote) > 3 for vote in votes):
        columns["score"] = [vote[3] if len(vote) > 3 else 1.0 for vote in votes]
    return columns


def _votes_of(instance: Any, source: Any, answer: Any, *score: Any) -> Iterator[tuple[Any, ...]]:
    """Yield one row per vote of an answer."""
    if isinstance(answer, Mapping) and answer:
        yield from ((instance, source, label, value) for label, value in answer.items())
    else:
        yield from ((instance, source, label, *score) for label in _labels_of(answer))


def _truth_columns(rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    pairs = [(instance, label) for instance, labels in rows for label in _labels_of(labels)]
    return {
        "instance": [instance for instance, _ in pairs],
        "label": [label for _, label in pairs],
    }


def _labels_of(answer: Any) -> Sequence[Any]:
    """Return the labels of an answer; None alone for an answer without labels."""
    if isinstance(answer, set | frozenset):
        # The order of a set differs from one process to the next.
        answer = sorted(answer, key=str)
    return (list(answer) or [None]) if isinstance(answer, _LABEL_SETS) else [answer]


def _tabulate_mapping(source: Mapping[Any, Any]) -> Any:
    values = source.values()
    if any(map(_is_group, values)):
        if any(isinstance(value, str) for value in values) and not _is_node(source):
            raise TaxonomyError(
                "the taxonomy: a mapping has either the parent of every label, {'flower': "
                "'plant'}, or the labels below it, {'plant': ['flower']}, not both"
            )
        edges = None if _is_table_of_labels(source) else _list_edges(source)
        if edges is None:
            _refuse_unnamed_columns(source)
            return source
        return edges
    if not all(isinstance(value, str | int | NoneType) for value in values):
        return source
    if len(_known_names(source, TAXONOMY_ALIASES)) == len(source) and "label" in source:
        raise TaxonomyError(
            f"the taxonomy: {quote_list(list(map(str, source)))} are names of columns; give their "
            "cells in lists, or a list of such mappings"
        )
    return {"label": list(source), "parent": list(values)}


def _list_edges(source: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    """Return the edges of a mapping of labels to their children; None if it is none.

    It is one if a label is among the children of another and has children of its own.
    """
    if not all(value is None or isinstance(value, _GROUPS[1:]) for value in source.values()):
        return None
    edges = [
        (child, label) for label, below in source.items() if below for child in _labels_of(below)
    ]
    if not all(isinstance(child, str) for child, _ in edges):
        return None
    if not any(child in source and child != label for child, label in edges):
        return None
    below_another = {child for child, _ in edges}
    rows = [(label, None) for label in source if label not in below_another] + edges
    return {"label": [label for label, _ in rows], "parent": [parent for _, parent in rows]}


def _refuse_unnamed_columns(source: Mapping[Any, Any]) -> None:
    """Refuse lists that may be columns whose names are unusual."""
    if not _are_columns(source) or _is_table_of_labels(source) or _is_node(source):
        return
    labels = [entry for cells in source.values() for entry in cells if not _is_group(entry)]
    is_tree = None not in labels and len(set(labels)) == len(labels)
    if not is_tree or "label" in _known_names(source, TAXONOMY_ALIASES):
        raise TaxonomyError(
            f"the taxonomy: {quote_list(list(map(str, source)))} may be columns, or labels with "
            "others below them; say which columns they are with "
            f"{option('columns', {'label': 'NAME', 'parent': 'NAME'})}, or give the parent of "
            "every label: {'flower': 'plant'}"
        )


def _is_table_of_labels(source: Mapping[Any, Any]) -> bool:
    """Return whether a mapping has columns of a taxonomy, as their names show."""
    if not _are_columns(source):
        return False
    known = _known_names(source, TAXONOMY_ALIASES)
    has_parents = "parent" in known and len(source) > 1
    has_labels = "label" in known and ("label" in source or len(known) == len(source))
    return has_parents or has_labels or bool(find_levels(list(map(str, source))))


def _is_node(source: Mapping[Any, Any]) -> bool:
    return any(str(key).lower() in _CHILDREN for key in source)


def _known_names(source: Mapping[Any, Any], aliases: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return the roles of the columns that have usual names."""
    keys = {normalize_name(str(key)) for key in source}
    usual = {role: set(map(normalize_name, names)) for role, names in aliases.items()}
    return {role for role, names in usual.items() if keys & names}


def _are_columns(source: Mapping[Any, Any]) -> bool:
    return all(
        isinstance(cells, Iterable) and not isinstance(cells, str | bytes | Mapping)
        for cells in source.values()
    )


def _is_group(content: Any) -> bool:
    return isinstance(content, _GROUPS)


def _are_rows(source: Any) -> bool:
    return (
        isinstance(source, list | tuple)
        and bool(source)
        and all(isinstance(row, list | tuple) for row in source)
    )


def _are_texts(source: Any) -> bool:
    return (
        isinstance(source, list | tuple)
        and bool(source)
        and all(isinstance(label, str) for label in source)
    )


def _is_file(text: str) -> bool:
    """Return whether a text is the path of a file; what the system does not follow is none."""
    try:
        return Path(text).is_file()
    except OSError:
        return False


def _check_lengths(
    rows: Sequence[Sequence[Any]], lengths: tuple[int, ...], origin: str, content: str
) -> None:
    for number, row in enumerate(rows, start=1):
        if len(row) not in lengths:
            raise DataError(
                f"{origin}: row {number:,} has {len(row)} entries; give tuples of {content}"
            )
