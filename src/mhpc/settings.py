"""Every setting of a run, declared once.

The options of the command line, the settings file and ``run.json`` are all made from `RunSettings`;
the docstring of a setting is the help of its option.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from mhpc.errors import ParameterError, UnreadableError
from mhpc.parameters import Parameters

NAMED_TAXONOMIES = ("icd-10-cm",)
"""Taxonomies that are given by name instead of as a file."""

_ENGINES = r"^(local|dask(=.+)?)$"


class RunSettings(Parameters):
    """What to consolidate, and how."""

    name: ClassVar[str] = "a run"

    votes: str | tuple[str, ...]
    """Table with the columns instance, source, label and optionally score, or the export of an
    annotation tool; - is standard input."""

    format: str | None = None
    """Format of the votes, as listed in docs/formats.md, if it is not recognized."""

    taxonomy: str
    """The taxonomy: a table with the columns label and parent, path codes, JSON, OBO, SKOS, a Label
    Studio config, a Clus HMC ARFF file, or the name icd-10-cm."""

    taxonomy_format: str | None = None
    """Format of the taxonomy, as listed in docs/formats.md, if it is not recognized."""

    method: str | None = None
    """Method, as listed by `mhpc methods`. Default: auto, which combines several."""

    parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameter of the method, as listed by `mhpc methods`."""

    seed: Annotated[int, Field(ge=0)] = 0
    """Seed for the random division into folds, by which auto tests an inferred scope."""

    apply: str | None = None
    """Folder of an earlier run, whose fitted model scores these votes; nothing is fitted."""

    new_sources: Literal["error", "ignore", "prior"] = "error"
    """What to do, with --apply, with sources that the earlier run does not know: stop with an
    error, ignore their answers, or prior: count each as reliable as the known ones on average."""

    update: str | None = None
    """Folder of an earlier run to learn from together with these votes, by its settings: as if all
    votes had been consolidated at once. Methods that are sums (sa, wa, majority, wawa, inat) do
    not need its votes any more; then the result has the new instances only."""

    columns: dict[str, str] = Field(default_factory=dict)
    """Name of the column that holds the instance, source, label or score, if it is not recognized,
    as in instance=photo."""

    scope: str = "all"
    """Labels that each source can use: all; used, those that it ever gives; or a file with the
    columns source and label. Outside its scope, the silence of a source is not a "no"."""

    unknown: Literal["error", "drop", "graft"] = "error"
    """What to do with labels that are not in the taxonomy: stop with an error, drop them, or add
    them to the taxonomy."""

    gold: str | None = None
    """Table with the columns instance and label: instances whose labels are known, best drawn at
    random. They keep these labels; from five instances on, auto calibrates its scores on them."""

    rule: str | None = None
    """Rule that turns scores into label sets: expected-f, threshold, min-probability, one-path or
    top-paths. Default: one-path if the method assumes one true label per instance, expected-f if
    its scores are probabilities, otherwise threshold."""

    threshold: Annotated[float, Field(gt=0)] | None = None
    """Threshold of the rule, if it has one. Without --rule: the rule threshold, which gives an
    instance the labels with at least this score."""

    paths: Annotated[int, Field(ge=1)] | None = None
    """Number of paths per instance, for the rule top-paths."""

    depth_bias: Annotated[float, Field(ge=-20, le=20)] = 0.0
    """How specific label sets are: above 0 more specific, below 0 more cautious. Each step of 1
    doubles (or halves) the cost of a missing label relative to that of a wrong one."""

    top: Annotated[int, Field(ge=1)] | Literal["all"] = 20
    """Number of labels per instance to keep in scores.parquet."""

    memory: str | None = None
    """Memory limit, such as 6GB. Default: half of the free memory."""

    engine: Annotated[str, Field(pattern=_ENGINES, examples=["local", "dask", "dask=ADDRESS"])] = (
        "local"
    )
    """Where to compute: local, in this process; dask, in one process per core of this machine;
    dask=ADDRESS, on the workers of a Dask scheduler, as in dask=tcp://host:8786."""

    truth: str | None = None
    """Table with the columns instance and label, to measure the result against; it does not change
    the result."""

    report: bool = False
    """Also write report.html, a page to look at and to share, and its data as report.json."""


def read_settings(path: Path) -> dict[str, Any]:
    """Read settings from a TOML file, or from the ``run.json`` of an earlier run."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"settings {path} cannot be read: {error.strerror}") from None
    if path.suffix == ".json":
        # Imported here because every start of the command line imports this module.
        from mhpc.read.json_xml import load_json

        document = load_json(content, f"settings {path}")
        settings = document.get("settings") if isinstance(document, dict) else None
    else:
        settings = _parse_toml(content, path)
    if not isinstance(settings, dict):
        raise UnreadableError(f"settings {path}: this is not the run.json of a run")
    _check_values(settings, path)
    return settings


def _parse_toml(content: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise UnreadableError(f"settings {path} are not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"settings {path}: {error}") from None


def _check_values(settings: dict[str, Any], path: Path) -> None:
    """Check the settings of the file by themselves, so that the message can name the file."""
    try:
        RunSettings(**{"votes": "-", "taxonomy": "-", **settings})
    except ParameterError as error:
        raise ParameterError(f"settings {path}: {error}") from None
