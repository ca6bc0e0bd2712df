"""``run.json``, checked at the door: whoever asks it later finds what a run writes, or nothing."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from mhpc.core.summary import Summary
from mhpc.errors import UnreadableError, quoted
from mhpc.read.json_text import load_json

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
    """What `Summary` leaves open, or does not have."""

    settings: _Settings
    inputs: _Inputs
    counts: _Counts
    decision: _Decision


_CHECKS = (TypeAdapter(_Asked), TypeAdapter(Summary))


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
            f"{path} is damaged, or of another version: {quoted([place])}: {said}; consolidate "
            "again"
        )


def _is_none(error: ErrorDetails) -> bool:
    return error["input"] is None and not _NULL.isdisjoint(map(str, error["loc"]))
