"""What ``mhpc consolidate`` wrote into OUT/, read back: run.json, items, labels and scores."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from scipy import sparse

from mhpc.data.decision import Decision, LabelledScores, ThresholdOrigin
from mhpc.data.hierarchy import close_rows
from mhpc.data.index import UNKNOWN, Index
from mhpc.data.items import ITEM_COLUMNS, Items
from mhpc.data.scores import Consolidation
from mhpc.data.summary import RunSummary
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import NewSources, Unknown
from mhpc.errors import UnreadableError, quote_list
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.parameters import has_nul
from mhpc.read.columns import Cells, check_not_empty, find_columns, read_cells
from mhpc.read.json_xml import load_json
from mhpc.read.tables import Table, open_table
from mhpc.read.taxonomy import read_taxonomy
from mhpc.system.database import identifier
from mhpc.system.files import restore_folder

Part = TypeVar("Part")

_CURE = "consolidate again"


@dataclass(frozen=True)
class RecordedSettings:
    """The settings of a run: those that are needed to read its votes again, and those shown."""

    votes: str | tuple[str, ...]
    columns: dict[str, str]
    scope: str
    unknown: Unknown
    gold: str | None
    apply: str | None
    top: int | Literal["all"]
    format: str | None = None
    separator: str | None = None
    score_max: float | None = None
    negative: Literal["mark", "score"] | None = None
    map: str | None = None
    abstain: tuple[str, ...] = ()
    update: str | None = None
    new_sources: NewSources = "error"
    show: str | None = None
    embed_images: str | None = None
    taxonomy: str | None = None
    taxonomy_format: str | None = None
    method: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    truth: str | None = None
    rule: str | None = None
    threshold: float | None = None
    paths: int | None = None
    depth_bias: float = 0.0
    memory: str | None = None
    engine: str = "local"
    report: bool = False


@dataclass(frozen=True)
class RecordedFile:
    """The fingerprint of a file that a run read."""

    sha256: str


@dataclass(frozen=True)
class RecordedInputs:
    """The files that a run read, as far as they are compared with those of today."""

    votes: RecordedFile | None = None
    taxonomy: RecordedFile | None = None


@dataclass(frozen=True)
class RunDocument:
    """What ``run.json`` records of a run.

    Attributes
    ----------
    content : mapping
        The file as it is.
    settings, inputs
        What the run was asked for, and what it read.
    summary : RunSummary
        What it found.
    """

    content: Mapping[str, Any]
    settings: RecordedSettings
    inputs: RecordedInputs
    summary: RunSummary


RunIdentity: TypeAlias = tuple[int, ...] | None
"""What tells the output of a run from another one in the same place; None: there is none."""


def identify_run(folder: Path) -> RunIdentity:
    """Return the identity of the output of a run."""
    try:
        mark = (folder / "run.json").stat()
        return folder.stat().st_ino, mark.st_ino, mark.st_mtime_ns, mark.st_size
    except (OSError, ValueError):
        return None


@contextmanager
def one_run(folder: Path, *, identity: RunIdentity = None) -> Iterator[None]:
    """Make sure that all that is read within the block belongs to one run.

    Another process may replace the folder between two of its files.

    Parameters
    ----------
    folder : path
        The output of the run.
    identity : tuple, optional
        That of the run; by default, of the one that is there at the beginning.

    Raises
    ------
    UnreadableError
        When the folder was replaced, whatever went wrong because of that.
    """
    restore_folder(folder)
    before = identity or identify_run(folder)
    try:
        yield
    except Exception:
        _check_identity(folder, before)
        raise
    _check_identity(folder, before)


def _check_identity(folder: Path, before: RunIdentity) -> None:
    now = identify_run(folder)
    # One that is gone cannot be mixed up with another.
    if None not in (before, now) and now != before:
        raise UnreadableError(
            f"{folder} was replaced while it was read; run again when nothing writes to it"
        ) from None


def read_run_document(folder: Path) -> RunDocument:
    """Read the ``run.json`` of a run's folder."""
    path = folder / "run.json"
    restore_folder(folder)
    try:
        content = path.read_bytes()
    except (OSError, ValueError):
        raise UnreadableError(
            f"{str(folder)[:200]} is not the output of a run: it has no run.json; "
            "make one with mhpc consolidate"
        ) from None
    document = load_json(content, str(path))
    if not isinstance(document, dict) or not document.keys() >= {"settings", "method", "trace"}:
        raise UnreadableError(
            f"{path} is not the run.json of a run; make one with mhpc consolidate"
        )
    if any(map(has_nul, (document["settings"], document.get("inputs")))):
        raise UnreadableError(
            f"{path} is damaged: a setting has a NUL character, which no file name can have; "
            f"{_CURE}"
        )
    recorded_adapter, summary_adapter = _adapters()
    recorded = _validate(recorded_adapter, content, path)
    summary = _validate(summary_adapter, content, path)
    return RunDocument(document, recorded.settings, recorded.inputs, summary)


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
    threshold: float = 0.0
    threshold_from: ThresholdOrigin = "method"
    expected_f: float = 0.0
    min_probability: float = 0.0
    min_score: float | None = None
    depth_bias: float = 0.0
    power: float = 1.0
    paths: int = 1


@dataclass(frozen=True)
class _Recorded:
    """What `RunSummary` does not have, or declares as a mapping of anything."""

    settings: RecordedSettings
    inputs: RecordedInputs
    counts: _Counts
    decision: _Decision


_MAYBE_NAN = {
    "mean_depth", "accurate", "vague", "wrong", "same_set", "change", "objective", "spread",
    "value", "precision", "recall", "f",
}  # fmt: skip
"""Numbers that may be nan, which is null in JSON."""


def _validate(adapter: TypeAdapter[Part], content: bytes, path: Path) -> Part:
    # As JSON, in which a list may stand for a tuple, but no text for a number.
    try:
        return adapter.validate_json(content, strict=True)
    except ValidationError as refusal:
        errors = refusal.errors()
    if all(map(_is_nan, errors)):
        document = json.loads(content)
        for error in errors:
            _put(document, error["loc"], float("nan"))
        try:
            return adapter.validate_json(json.dumps(document), strict=True)
        except ValidationError as refusal:
            # Null stands where there should be more than a number.
            errors = refusal.errors()
    wrong = next((error for error in errors if not _is_nan(error)), errors[0])
    place = " > ".join(str(step) for step in wrong["loc"])
    raise UnreadableError(
        f"{path} is damaged, or of another version: {quote_list([place])}: "
        f"{wrong['msg'].lower()}; {_CURE}"
    )


@cache
def _adapters() -> tuple[TypeAdapter[_Recorded], TypeAdapter[RunSummary]]:
    """Return what validates the two parts of a document; it takes longer to make than to use."""
    return TypeAdapter(_Recorded), TypeAdapter(RunSummary)


def _is_nan(error: ErrorDetails) -> bool:
    return error["input"] is None and not _MAYBE_NAN.isdisjoint(map(str, error["loc"]))


def _put(document: Any, place: tuple[int | str, ...], value: float) -> None:
    *steps, last = place
    for step in steps:
        document = document[step]
    document[last] = value


def read_run(folder: Path) -> Consolidation:
    """Read the scores of a run; those that ``--top`` left out are 0."""
    document = read_run_document(folder)
    summary, top = document.summary, document.settings.top
    taxonomy = read_taxonomy(folder / "taxonomy.csv")
    with open_table(folder / "scores.parquet") as table:
        cells = _read_cells(table, ("instance", "label", "score", "specific"))
        check_not_empty(cells, "label", table.origin)
        values = {name: read_numbers(table, name) for name in ("score", "specific")}
    instances = cells.index["instance"]
    row, label = cells.position["instance"], _locate(cells, "label", taxonomy, table, folder)

    def matrix(name: str) -> Sparse:
        shape = (len(instances), len(taxonomy))
        return sparse.csr_array((values[name], (row, label)), shape=shape)

    return Consolidation(
        taxonomy=taxonomy,
        instances=instances,
        score=matrix("score"),
        specific=matrix("specific"),
        method=summary.method,
        parameters=summary.parameters,
        trace=summary.trace,
        converged=summary.converged,
        combination=summary.combination,
        is_cut=top != "all" and top < min(len(taxonomy), np.bincount(row).max(initial=0) + 1),
    )


def read_decision(
    folder: Path, taxonomy: Taxonomy, instances: Index, decided: Mapping[str, Any]
) -> Decision:
    """Read the label sets of a run; `decided` is what ``run.json`` records about them.

    Whether a label is there for its own score or for one below it is not recorded; all count as
    the former.
    """
    label_sets = _read_label_sets(folder, taxonomy, instances)
    counted = {"rule", "labels_per_instance", "instances_without_label"}
    parameters = {name: value for name, value in decided.items() if name not in counted}
    return Decision(
        taxonomy, instances, label_sets.astype(np.int8), decided["rule"], parameters,
        gain=_read_gain(folder, instances),
    )  # fmt: skip


def _read_gain(folder: Path, instances: Index) -> FloatArray | None:
    """Read the expected gain of a review of every instance; None if some are not in items.csv."""
    if not (folder / "items.csv").is_file():
        return None
    items = read_items(folder)
    position = instances.locate(items.instance)
    gain = np.full(len(instances) + 1, np.nan)
    gain[position] = items.review_priority
    return None if np.isnan(gain[:-1]).any() else gain[:-1]


def read_labels(folder: Path, scores: Consolidation) -> Sparse:
    """Read the label sets of a run, (N, K), and add ancestors that an editor may have removed."""
    label_sets = _read_label_sets(folder, scores.taxonomy, scores.instances)
    closed = close_rows(label_sets, scores.taxonomy)
    closed.data[:] = 1.0
    return closed


def read_labelled_scores(folder: Path) -> LabelledScores:
    """Read the scores and the label sets of a run, in the form in which they are converted."""
    with one_run(folder):
        scores = read_run(folder)
        label_sets = _read_label_sets(folder, scores.taxonomy, scores.instances, with_scores=True)
        disagreements = read_run_document(folder).summary.conflicts.instances
    review_order = tuple(disagreement.instance for disagreement in disagreements)
    return LabelledScores(scores, label_sets, review_order=review_order)


def read_items(folder: Path) -> Items:
    """Read ``items.csv``, one row per instance."""
    restore_folder(folder)
    if not (folder / "items.csv").is_file():
        raise UnreadableError(f"{folder} has no items.csv, or is of an earlier version; {_CURE}")
    with open_table(folder / "items.csv") as table:
        find_columns(
            table.columns, {name: (name,) for name in ITEM_COLUMNS}, required=ITEM_COLUMNS,
            origin=table.origin, cure=_CURE,
        )  # fmt: skip
        texts = {name: _read_texts(table, name) for name in ("instance", "labels", "path")}
        optional = {
            name: read_numbers(table, name, may_be_empty=True)
            for name in ("probability", "agreement")
        }
        return Items(
            **texts,
            **optional,
            review_priority=read_numbers(table, "review_priority"),
            sources=read_numbers(table, "sources").astype(np.int64),
        )


def _read_texts(table: Table, column: str) -> np.ndarray:
    """Read a column of texts as they are, empty ones included."""
    result = table.connection.execute(
        f"SELECT coalesce(CAST({identifier(column)} AS VARCHAR), '') AS cell FROM cells"
    ).fetchnumpy()
    return np.asarray(result["cell"], dtype=object)


def _read_label_sets(
    folder: Path, taxonomy: Taxonomy, instances: Index, *, with_scores: bool = False
) -> Sparse:
    """Read ``labels.csv``: ones, or the scores in the file, where an instance has a label, (N, K).

    The file may have been edited: a row without a label says that the instance has none, as it
    does among votes.
    """
    shape, path = (len(instances), len(taxonomy)), folder / "labels.csv"
    if not _has_rows(path):
        return sparse.csr_array(shape)
    with open_table(path) as table:
        names = ("instance", "label", "score") if with_scores else ("instance", "label")
        cells = _read_cells(table, names)
        score = read_numbers(table, "score") if with_scores else np.ones(cells.rows)
    row = _locate(cells, "instance", instances, table, folder)
    label = _locate(cells, "label", taxonomy, table, folder)
    labelled = label != UNKNOWN
    label_sets = sparse.csr_array((score[labelled], (row[labelled], label[labelled])), shape=shape)
    label_sets.sort_indices()
    if not with_scores:
        label_sets.data[:] = 1.0
    return label_sets


def _has_rows(path: Path) -> bool:
    """Tell whether anything follows the header: a run may find no label at all."""
    try:
        with path.open("rb") as file:
            file.readline()
            return bool(file.readline())
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}") from None


def _read_cells(table: Table, names: tuple[str, ...]) -> Cells:
    columns = find_columns(
        table.columns, {name: (name,) for name in names}, required=names, origin=table.origin,
        cure=_CURE,
    )  # fmt: skip
    cells = read_cells(table, columns, ("instance", "label"))
    check_not_empty(cells, "instance", table.origin)
    return cells


def _locate(
    cells: Cells, role: str, index: Index | Taxonomy, table: Table, folder: Path
) -> IntArray:
    """Return the position of every cell of a column in an index, UNKNOWN for empty cells."""
    position = index.locate(cells.index[role])
    if (position == UNKNOWN).any():
        lost = cells.index[role][int((position == UNKNOWN).argmax())]
        file = Path(table.origin).name
        where = "taxonomy.csv" if role == "label" else "scores.parquet"
        raise UnreadableError(f"{folder}: {role} {lost!r} of {file} is not in {where}; {_CURE}")
    return np.append(position, UNKNOWN)[cells.position[role]]


def read_numbers(table: Table, column: str, *, may_be_empty: bool = False) -> FloatArray:
    """Read a column of numbers; none may be infinite, or missing unless that is allowed."""
    name = identifier(column)
    empty = f"{name} IS NULL OR CAST({name} AS VARCHAR) = ''" if may_be_empty else "false"
    result = table.connection.execute(
        f"SELECT coalesce(TRY_CAST({name} AS DOUBLE), 'nan') AS number, {empty} AS empty FROM cells"
    ).fetchnumpy()
    numbers = np.asarray(result["number"], dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers) & ~np.asarray(result["empty"], dtype=bool))
    if len(wrong):
        raise UnreadableError(
            f"{table.origin}: row {wrong[0] + 1:,} has no number in column {column!r}; {_CURE}"
        )
    return numbers
