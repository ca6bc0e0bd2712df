"""Every setting of a run, declared once.

The options of the command line, the settings file and ``run.json`` are all made from `RunSettings`;
the docstring of a setting is the help of its option.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, get_args

from pydantic import Field, field_validator

from mhpc.errors import ParameterError, UnreadableError, quote_list, suggest
from mhpc.parameters import Parameters, Seed, has_nul
from mhpc.read.options import ReadOptions
from mhpc.system.files import restore_folder
from mhpc.system.network import parse_address

NAMED_TAXONOMIES = ("icd-10-cm",)
"""Taxonomies that are given by name instead of as a file."""

Table: TypeAlias = Literal["votes", "taxonomy", "truth", "gold"]
"""The tables of a run whose columns can be chosen."""

SAVED_FILES = ("votes.parquet", "taxonomy.csv", "gold.csv", "scope.csv")
"""What a saved result names as its inputs: files in its own folder."""

_ROLES = {
    "taxonomy": ("label", "parent", "name", "exclusive"),
    "truth": ("instance", "label"),
    "gold": ("instance", "label"),
}
"""The roles of columns that can be chosen, for tables other than that of the votes."""

_ENGINES = r"^(local|dask(=.+)?)$"
_ENGINE_EXAMPLES: Final = ["local", "dask", "dask=tcp://HOST:PORT"]


class RunSettings(Parameters):
    """What to consolidate, and how."""

    name: ClassVar[str] = "a run"

    votes: str | tuple[str, ...]
    """Table with the columns instance, source, label and optionally score, or the export of an
    annotation tool; several files, patterns, folders or zip archives are read as one; - is standard
    input."""

    format: str | None = None
    """Format of the votes, as listed in docs/formats.md, if it is not recognized."""

    taxonomy: str | None = None
    """The taxonomy: a table with the columns label and parent or with one column per level, path
    codes, indented text, JSON, YAML, OBO, SKOS, a Label Studio config, a Clus HMC ARFF file, or the
    name icd-10-cm. Default: made from the labels of the votes, which may be paths."""

    taxonomy_format: str | None = None
    """Format of the taxonomy, as listed in docs/formats.md, if it is not recognized."""

    method: str | None = None
    """Method, as listed by `mhpc methods`. Default: auto, which combines several."""

    parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameter of the method, as listed by `mhpc methods`."""

    seed: Seed = 0
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
    """Name of the column that holds the instance, source, label, score or rank, if it is not
    recognized, as in instance=photo; truth.label=diagnosis is that of another table: taxonomy,
    truth or gold. Columns of the votes are looked for in truth and gold, too."""

    separator: str | None = None
    """What separates the labels of a cell that holds several, as in --separator ';'."""

    score_max: Annotated[float, Field(gt=0)] | None = None
    """Highest possible score, if that is not 1; scores are divided by it. Percentages are
    recognized."""

    negative: Literal["mark", "score"] | None = None
    """How votes say "not this": mark, by a label that begins with !; score, by a score below 0."""

    map: str | None = None
    """Table with the columns from and to: labels to replace in votes, truth and gold. A label whose
    to is empty stays as it is; to leave it out, write abstain. `mhpc inspect --write-map FILE`
    makes such a table."""

    scope: str = "all"
    """Labels that each source can use: all; used, those that it ever gives; or a file with the
    columns source and label. Outside its scope, the silence of a source is not a "no"."""

    unknown: Literal["auto", "error", "drop", "graft", "nearest", "ancestor"] = "auto"
    """What to do with labels that are not in the taxonomy, in any spelling: drop them if they have
    at most 5 % of the votes and stop with an error otherwise (auto), stop with an error, drop them,
    add them to the taxonomy (graft), take the most similar label (nearest), or the deepest known
    label of a path (ancestor)."""

    abstain: tuple[str, ...] = Field(default_factory=tuple)
    """Word in place of a label that means "asked, but did not know", besides abstain, unknown, n/a,
    don't know and the like."""

    gold: str | None = None
    """Table with the columns instance and label, or the export of a review: instances whose labels
    are known, best drawn at random. They keep these labels; from five instances on, auto calibrates
    its scores on them."""

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

    engine: Annotated[str, Field(pattern=_ENGINES, examples=_ENGINE_EXAMPLES)] = "local"
    """Where to compute: local, in this process; dask, in one process per core of this machine;
    dask=ADDRESS, on the workers of a Dask scheduler, as in dask=tcp://host:8786."""

    truth: str | None = None
    """Table with the columns instance and label, to measure the result against; it does not change
    the result."""

    report: bool = False
    """Also write report.html, a page to look at and to share, and its data as report.json."""

    show: str | None = None
    """Table with a column of instances and others to show beside them on the page, such as text,
    url and image."""

    embed_images: str | None = None
    """Embed the files that the column image of --show names into the page, up to this size in all,
    such as 20MB. They must be in the folder of the table. Without it, their names are shown."""

    @field_validator("engine")
    @classmethod
    def _check_address(cls, engine: str) -> str:
        _, has_address, address = engine.partition("=")
        if has_address:
            parse_address(address)
        return engine

    @property
    def vote_paths(self) -> tuple[str, ...]:
        """All inputs with votes."""
        return (self.votes,) if isinstance(self.votes, str) else self.votes

    def columns_of(self, table: Table) -> dict[str, str]:
        """Return the columns of one table that the user chose, by role."""
        return _columns_of(self.columns, table)

    def read_options(self, table: Table = "votes") -> ReadOptions:
        """Return how a table is to be read, except for labels to replace."""
        votes = self.columns_of("votes")
        if table == "votes":
            return ReadOptions(
                columns=votes, format=self.format, separator=self.separator,
                score_max=self.score_max, negative=self.negative,
            )  # fmt: skip
        usual = {role: name for role, name in votes.items() if role in ("instance", "label")}
        return ReadOptions(
            columns=self.columns_of(table),
            separator=self.separator,
            usual_columns=usual,
            table=table,
        )


def _columns_of(columns: Mapping[str, str], table: Table) -> dict[str, str]:
    """Return the columns of one table by role; a role without a table is one of the votes."""
    chosen = {}
    for key, name in columns.items():
        owner, dot, role = key.rpartition(".")
        if (owner if dot else "votes") not in get_args(Table):
            raise ParameterError(
                f"columns: no table {owner!r}{suggest(owner, get_args(Table))}; there are "
                f"{quote_list(get_args(Table))}"
            )
        if dot and role not in _ROLES.get(owner, (role,)):
            raise ParameterError(
                f"columns: {owner} has no role {role!r}{suggest(role, _ROLES[owner])}; there are "
                f"{quote_list(_ROLES[owner])}"
            )
        if (owner if dot else "votes") == table:
            chosen[role] = name
    return chosen


_MAX_BYTES = 1 << 28
"""The largest file of settings; the run.json of thousands of sources is far smaller."""


def read_settings(path: Path) -> dict[str, Any]:
    """Read settings from a TOML or YAML file, or from the ``run.json`` of an earlier run."""
    restore_folder(path)
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnreadableError(f"settings {str(path)[:200]} cannot be read: {reason}") from None
    if len(content) > _MAX_BYTES:
        # A device such as /dev/zero never ends.
        raise UnreadableError(f"settings {path}: larger than {_MAX_BYTES >> 20} MiB; give a file")
    if path.suffix == ".json":
        # Imported here because every start of the command line imports this module.
        from mhpc.read.json_xml import load_json

        document = load_json(content, f"settings {path}")
        settings = document.get("settings") if isinstance(document, dict) else None
        if not isinstance(settings, dict):
            raise UnreadableError(f"settings {path}: this is not the run.json of a run")
        settings = {name: _find_beside(value, path) for name, value in settings.items()}
    elif path.suffix in (".yaml", ".yml"):
        settings = _parse_yaml(content, path)
    else:
        settings = _parse_toml(content, path)
    _check_values(settings, path)
    return settings


def _find_beside(value: Any, path: Path) -> Any:
    """Return where the file is that ``run.json`` names without a folder: in its own."""
    if not isinstance(value, str) or value not in SAVED_FILES:
        return value
    return str(path.parent / value)


def _parse_toml(content: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise UnreadableError(f"settings {path} are not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"settings {path}: {error}") from None


def _parse_yaml(content: bytes, path: Path) -> dict[str, Any]:
    from mhpc.read.yaml_documents import load_yaml

    settings = load_yaml(content, f"settings {path}")
    if not isinstance(settings, dict) or not all(isinstance(name, str) for name in settings):
        raise UnreadableError(f"settings {path}: give names and values, such as 'method: auto'")
    return settings


def _check_values(settings: dict[str, Any], path: Path) -> None:
    """Check the settings of the file by themselves, so that the message can name the file."""
    if (name := next((name for name in settings if has_nul(settings[name])), None)) is not None:
        raise UnreadableError(
            f"settings {path}: {quote_list([name])} has a NUL character, which no file name and no "
            "option can have"
        )
    try:
        RunSettings(**{"votes": "-", **settings})
    except ParameterError as error:
        raise ParameterError(f"settings {path}: {error.message}") from None
