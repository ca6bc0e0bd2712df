"""Run.json, scores, labels, model: everything in OUT/, read in one place."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from scipy import sparse

from mhpc.data.decision import Decision, LabelledScores
from mhpc.data.index import UNKNOWN, Index
from mhpc.data.scores import Consolidation, Step
from mhpc.data.summary import RunSummary
from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import UnreadableError, quote_list
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.read.columns import Cells, check_not_empty, find_columns, read_cells
from mhpc.read.json_xml import load_json
from mhpc.read.tables import Table, open_table
from mhpc.read.taxonomy import read_taxonomy
from mhpc.system.database import identifier

_NULL = {"mean_depth", "accurate", "vague", "wrong", "change", "objective", "spread", "value"}
_NULL |= {"precision", "recall", "f"}
"""Numbers that may be none, which JSON calls null."""


@dataclass(frozen=True)
class _Settings:
    """What is asked of the settings when a run is read again."""

    votes: str
    columns: dict[str, str]
    scope: str
    unknown: str
    gold: str | None
    apply: str | None
    top: int | Literal["all"]
    format: str | None = None


@dataclass(frozen=True)
class _File:
    sha256: str


@dataclass(frozen=True)
class _Inputs:
    votes: _File | None = None


@dataclass(frozen=True)
class _Counts:
    instances: int
    sources: int
    answers: int
    labels: int
    levels: int


@dataclass(frozen=True)
class _Decision:
    rule: str
    labels_per_instance: float
    instances_without_label: int


@dataclass(frozen=True)
class _Asked:
    """What `RunSummary` leaves open, or does not have."""

    settings: _Settings
    inputs: _Inputs
    counts: _Counts
    decision: _Decision


_CHECKS = (TypeAdapter(_Asked), TypeAdapter(RunSummary))


def read_run_document(folder: Path) -> dict[str, Any]:
    """Return the ``run.json`` of a run folder."""
    path = folder / "run.json"
    try:
        content = path.read_bytes()
    except OSError:
        raise UnreadableError(
            f"{folder} is not the output of a run: it has no run.json; "
            "make one with mhpc consolidate"
        ) from None
    document = load_json(content, str(path))
    if not isinstance(document, dict) or not document.keys() >= {"settings", "method", "trace"}:
        raise UnreadableError(
            f"{path} is not the run.json of a run; make one with mhpc consolidate"
        )
    for check in _CHECKS:
        try:
            # As JSON, in which a list may stand for a tuple, but no text for a number.
            check.validate_json(content, strict=True)
        except ValidationError as error:
            _refuse(error.errors(), path)
    return document


def _refuse(errors: list[ErrorDetails], path: Path) -> None:
    wrong = [each for each in errors if not _is_none(each)]
    if wrong:
        place = " > ".join(str(step) for step in wrong[0]["loc"])
        said = wrong[0]["msg"].lower()
        raise UnreadableError(
            f"{path} is damaged, or of another version: {quote_list([place])}: {said}; consolidate "
            "again"
        )


def _is_none(error: ErrorDetails) -> bool:
    return error["input"] is None and not _NULL.isdisjoint(map(str, error["loc"]))


_SCORE_COLUMNS = ("instance", "label", "score", "specific")


def read_run(folder: Path) -> Consolidation:
    """Return the consolidation that ``mhpc consolidate`` wrote; scores it left out are 0."""
    document = read_run_document(folder)
    taxonomy = read_taxonomy(folder / "taxonomy.csv")
    with open_table(folder / "scores.parquet") as table:
        origin = table.origin
        columns = find_columns(
            table.columns, {name: (name,) for name in _SCORE_COLUMNS},
            required=_SCORE_COLUMNS, origin=table.origin, cure="consolidate again",
        )  # fmt: skip
        cells = read_cells(table, columns, ("instance", "label"))
        check_not_empty(cells, "instance", origin)
        check_not_empty(cells, "label", origin)
        found = {name: read_numbers(table, name) for name in ("score", "specific")}
    row = cells.position["instance"]
    column = _located(cells, taxonomy, folder)
    shape = (len(cells.index["instance"]), len(taxonomy))

    def matrix(name: str) -> sparse.csr_array:
        return sparse.csr_array((found[name], (row, column)), shape=shape)

    return Consolidation(
        taxonomy=taxonomy,
        instances=cells.index["instance"],
        score=matrix("score"),
        specific=matrix("specific"),
        method=document["method"],
        parameters=document["parameters"],
        trace=tuple(Step(**step) for step in document["trace"]),
        converged=document["converged"],
    )


def read_numbers(table: Table, column: str) -> FloatArray:
    """Return a column of numbers, none of which is missing or infinite."""
    found = table.connection.execute(
        f"SELECT coalesce(TRY_CAST({identifier(column)} AS DOUBLE), 'nan') AS number FROM cells"
    ).fetchnumpy()
    numbers = np.asarray(found["number"], dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise UnreadableError(
            f"{table.origin}: row {wrong[0] + 1:,} has no number in column {column!r}; consolidate "
            "again"
        )
    return numbers


def read_labels(folder: Path, found: Consolidation) -> sparse.csr_array:
    """Return ones at the label sets of ``labels.csv``, with all ancestors, (N, K).

    Whoever went over them by hand may have left ancestors out.
    """
    shape = (len(found.instances), len(found.taxonomy))
    with open_table(folder / "labels.csv") as table:
        roles = ("instance", "label")
        columns = find_columns(
            table.columns, {name: (name,) for name in roles},
            required=roles, origin=table.origin, cure="consolidate again",
        )  # fmt: skip
        if not table.connection.execute("FROM cells LIMIT 1").fetchone():
            return sparse.csr_array(shape)
        cells = read_cells(table, columns, roles)
    row = found.instances.locate(cells.index["instance"])
    if (row == UNKNOWN).any():
        lost = cells.index["instance"][int((row == UNKNOWN).argmax())]
        raise UnreadableError(
            f"{folder}: instance {lost!r} of labels.csv is not in scores.parquet; consolidate again"
        )
    label = _located(cells, found.taxonomy, folder, "labels.csv")
    # An empty label says none, as it does in votes.
    said = np.flatnonzero(cells.position["label"] != UNKNOWN)
    cell = (row[cells.position["instance"]][said], label[said])
    given = sparse.csr_array((np.ones(len(said)), cell), shape=shape)
    sets = (given @ found.taxonomy.closure).tocsr()
    sets.data[:] = 1.0
    return sets


def _located(
    cells: Cells, taxonomy: Taxonomy, folder: Path, file: str = "scores.parquet"
) -> IntArray:
    position = taxonomy.locate(cells.index["label"])
    if (position == UNKNOWN).any():
        lost = cells.index["label"][int((position == UNKNOWN).argmax())]
        raise UnreadableError(
            f"{folder}: label {lost!r} of {file} is not in taxonomy.csv; consolidate again"
        )
    return np.append(position, UNKNOWN)[cells.position["label"]]


_DECISION_COLUMNS = ("instance", "label")

_COUNTS = ("rule", "labels_per_instance", "instances_without_label")
"""What ``run.json`` tells of a decision beside the parameters of its rule."""


def read_decision(
    folder: Path, taxonomy: Taxonomy, instances: Index, decided: Mapping[str, Any]
) -> Decision:
    """Return the label sets in ``labels.csv``; `decided` is what ``run.json`` says of them.

    Which labels are there for their own score, and which for one below them, is not in it; all
    count as the first.
    """
    shape = (len(instances), len(taxonomy))
    reason = sparse.csr_array(shape, dtype=np.int8)
    path = folder / "labels.csv"
    if has_rows(path):
        with open_table(path) as table:
            columns = find_columns(
                table.columns, {name: (name,) for name in _DECISION_COLUMNS},
                required=_DECISION_COLUMNS, origin=table.origin, cure="consolidate again",
            )  # fmt: skip
            cells = read_cells(table, columns, _DECISION_COLUMNS)
            check_not_empty(cells, "instance", table.origin)
            check_not_empty(cells, "label", table.origin)
        row, label = (
            index.locate(cells.index[name])[cells.position[name]]
            for name, index in (("instance", instances), ("label", taxonomy.labels))
        )
        if (row == UNKNOWN).any() or (label == UNKNOWN).any():
            raise UnreadableError(f"{path} does not belong to the rest; consolidate again")
        ones = np.ones(len(row), dtype=np.int8)
        reason = sparse.csr_array((ones, (row, label)), shape=shape)
    parameters = {name: value for name, value in decided.items() if name not in _COUNTS}
    return Decision(taxonomy, instances, reason, decided["rule"], parameters)


def has_rows(path: Path) -> bool:
    """Tell whether anything follows the header: a run may find no label at all."""
    try:
        with path.open("rb") as file:
            file.readline()
            return bool(file.readline())
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}") from None


_LABEL_COLUMNS = ("instance", "label", "score")


def read_labelled_scores(folder: Path) -> LabelledScores:
    """Return the scores and the label sets that ``mhpc consolidate`` wrote."""
    found = read_run(folder)
    shape = (len(found.instances), len(found.taxonomy))
    if not has_rows(folder / "labels.csv"):
        return LabelledScores(found, sparse.csr_array(shape), review_order=_contested(folder))
    with open_table(folder / "labels.csv") as table:
        columns = find_columns(
            table.columns, {name: (name,) for name in _LABEL_COLUMNS},
            required=_LABEL_COLUMNS, origin=table.origin, cure="consolidate again",
        )  # fmt: skip
        cells = read_cells(table, columns, ("instance", "label"))
        check_not_empty(cells, "instance", table.origin)
        check_not_empty(cells, "label", table.origin)
        score = read_numbers(table, "score")
    axes = {"instance": found.instances, "label": found.taxonomy.labels}
    at = {}
    for role, axis in axes.items():
        position = axis.locate(cells.index[role])
        if (position == UNKNOWN).any():
            lost = cells.index[role][int((position == UNKNOWN).argmax())]
            raise UnreadableError(
                f"{folder}: {role} {lost!r} of labels.csv is not in the other files; "
                "consolidate again"
            )
        at[role] = position[cells.position[role]]
    chosen = sparse.csr_array((score, (at["instance"], at["label"])), shape=shape)
    chosen.sort_indices()
    return LabelledScores(found, chosen, review_order=_contested(folder))


def _contested(folder: Path) -> tuple[str, ...]:
    conflicts = read_run_document(folder)["conflicts"]
    return tuple(each["instance"] for each in conflicts["instances"])
