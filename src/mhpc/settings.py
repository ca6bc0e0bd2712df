"""Every setting of a run, declared once.

The command line's options, the settings file and ``run.json`` all come from `RunSettings`.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from mhpc.errors import ParameterError, UnreadableError
from mhpc.parameters import Parameters

NAMED = ("icd-10-cm",)
"""Taxonomies that have a name instead of a file."""

_ENGINES = r"^(local|dask(=.+)?)$"


class RunSettings(Parameters):
    """What to consolidate, and how."""

    name: ClassVar[str] = "a run"

    votes: str
    """Table instance, source, label[, score], or the export of an annotation tool; - is standard
    input."""

    format: str | None = None
    """The format of the votes, as docs/formats.md lists them, if their content does not tell."""

    taxonomy: str
    """Table label, parent; path codes; JSON, OBO, SKOS, a Label Studio config or a Clus HMC ARFF
    file; or icd-10-cm."""

    taxonomy_format: str | None = None
    """The format of the taxonomy, as docs/formats.md lists them, if its content does not tell."""

    method: str | None = None
    """The method, as `mhpc methods` lists them. Unless given: auto, which chooses by foretelling
    answers that were hidden."""

    parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameters of the method, as `mhpc methods` lists them."""

    seed: Annotated[int, Field(ge=0)] = 0
    """For what is drawn at random: which answers auto hides together."""

    apply: str | None = None
    """Folder of an earlier run: its method, with what it learnt there, scores these votes, and
    nothing is learnt anew."""

    columns: dict[str, str] = Field(default_factory=dict)
    """Which column of the votes is the instance, source, label or score, where the names do not
    tell."""

    scope: str = "all"
    """What sources can speak about: all labels; used, those each ever said; or a file with
    source, label rows. Outside its scope a source's silence is not a "no"."""

    unknown: Literal["error", "drop", "graft"] = "error"
    """Labels that the taxonomy lacks: refuse them, leave them out, or add them to it."""

    gold: str | None = None
    """Table instance, label: instances whose labels are known. They are taken as they are, and
    teach what is learnt of the others."""

    rule: str | None = None
    """How scores become label sets: expected-f, threshold, min-probability, one-path or top-paths. Unless
    given: one-path where instances have one true label, expected-f where the method's scores are
    shares of sources, else threshold."""

    threshold: Annotated[float, Field(gt=0)] | None = None
    """The level of a rule that has one. Without a rule: the score from which a label is in
    labels.csv, which is the rule threshold."""

    paths: Annotated[int, Field(ge=1)] | None = None
    """How many paths the rule top-paths gives an instance."""

    depth_bias: Annotated[float, Field(ge=-20, le=20)] = 0.0
    """How deep to answer: 0 as the rule says; each 1 more lets a missed label weigh twice as much
    against a wrong one, each 1 less half as much."""

    top: Annotated[int, Field(ge=1)] | Literal["all"] = 20
    """Labels of each instance to keep in scores.parquet."""

    memory: str | None = None
    """How much memory the work may take, such as 6GB; unless given, half of what is free."""

    engine: Annotated[str, Field(pattern=_ENGINES, examples=["local", "dask", "dask=ADDRESS"])] = (
        "local"
    )
    """Where the work runs: local, in this process; dask, in processes of this machine, one a core;
    dask=ADDRESS, on the workers of a running Dask scheduler, as in dask=tcp://host:8786."""

    truth: str | None = None
    """Table instance, label, to score the result against; it changes no result."""

    report: bool = False
    """Write report.html too, a page to look at and to send on, and its facts as report.json."""


def read_settings(path: Path) -> dict[str, Any]:
    """Read settings from a TOML file or from the ``run.json`` of an earlier run."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"settings {path} cannot be read: {error.strerror}") from None
    if path.suffix == ".json":
        # Imported where it is used: the command line reads its options from here at every start.
        from mhpc.read.json_xml import load_json

        run = load_json(content, f"settings {path}")
        found = run.get("settings") if isinstance(run, dict) else None
    else:
        found = _toml(content, path)
    if not isinstance(found, dict):
        raise UnreadableError(f"settings {path}: not the run.json of a run")
    _check_values(found, path)
    return found


def _toml(content: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise UnreadableError(f"settings {path} are not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"settings {path}: {error}") from None


def _check_values(found: dict[str, Any], path: Path) -> None:
    """Check what the file says by itself, so that the message can name it."""
    try:
        RunSettings(**{"votes": "-", "taxonomy": "-", **found})
    except ParameterError as error:
        raise ParameterError(f"settings {path}: {error}") from None
