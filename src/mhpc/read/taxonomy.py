"""`read_taxonomy`: a taxonomy from any file or object in any format."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from mhpc.data.index import Index
from mhpc.data.spelling import SPECIAL_WORDS, normalize_label
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import MhpcWarning, TaxonomyError, pluralize, quote_list, warn
from mhpc.parameters import check_mapping, check_text
from mhpc.read.files import LocalFile, local_file
from mhpc.read.formats import choose_format
from mhpc.read.objects import is_nested, tabulate_taxonomy
from mhpc.read.paths import find_paths, taxonomy_from_paths
from mhpc.read.tables import MAX_CELL, TableSource, spreadsheet_columns
from mhpc.read.taxonomy_formats import TAXONOMY_FORMATS
from mhpc.read.taxonomy_formats.base import TaxonomyInput

MAX_LEVELS = 1_000
"""The most levels that a taxonomy may have: work grows with the cube of the length of a chain."""

_ICD = "icd-10-cm"


def read_taxonomy(
    source: Taxonomy | TableSource,
    *,
    columns: Mapping[str, str] | None = None,
    separator: str | None = None,
    format: str | None = None,  # noqa: A002 - the word that users know
) -> Taxonomy:
    """Read a taxonomy: a table of labels and parents, path codes, or any other known format.

    Parameters
    ----------
    source : path, "-", dataframe, mapping, list, graph, name or Taxonomy
        A table with a column ``parent`` has one row per parent of a label, with an empty parent for
        a root; a column ``name`` may hold the name to show. Without a column ``parent``, labels are
        paths such as ``20/01/03`` or ``A > B > C``, and every prefix is an ancestor; or the columns
        are levels such as ``level1``, ``level2``. Tables may be spreadsheets; ``t.xlsx:Sheet 2`` is
        one sheet. Other formats are indented text, nested JSON or YAML, OBO, SKOS, the config of
        Label Studio, a Clus HMC ARFF file, a networkx graph with edges from parents to children,
        and the name ``icd-10-cm``. In memory also ``{"flower": "plant", "plant": None}``, the
        parent of every label; ``{"plant": {"flower": ["monarda"]}}``, the labels below a label;
        ``[("flower", "plant")]``, pairs of a label and its parent; and a list of paths.
    columns : mapping of role to column name, optional
        The columns of a table whose names are unusual: ``{"label": "node"}``.
    separator : str, optional
        What separates the steps of paths; detected by default.
    format : str, optional
        The name of a format in `mhpc.read.taxonomy_formats.TAXONOMY_FORMATS`; detected from the
        content by default. Some formats take an argument: ``obo=part_of``, ``paths=;``,
        ``levels=Group,Kind``, ``label-studio=topic``.

    Examples
    --------
    >>> read_taxonomy({"label": ["plant", "flower"], "parent": [None, "plant"]})
    Taxonomy(2 labels, 2 levels)
    >>> read_taxonomy(["plant > flower > monarda"])
    Taxonomy(3 labels, 3 levels)
    >>> read_taxonomy({"plant": {"flower": ["monarda", "rose"]}, "animal": ["bird"]})
    Taxonomy(6 labels, 3 levels)
    """
    check_mapping("columns", columns, "roles to columns")
    check_text("separator", separator)
    check_text("format", format)
    if isinstance(source, Taxonomy):
        return source
    name, _, argument = format.partition("=") if format else (None, "", "")
    if isinstance(source, str | Path) and not (_is_icd(source) or name == _ICD):
        with local_file(source) as file:
            value = _cells_of(file)
            return _read(TaxonomyInput(value, file.name, argument or separator, columns), name)
    value = str(source) if isinstance(source, Path) else tabulate_taxonomy(source, columns)
    if name is None and is_nested(value) and not columns:
        name = "nested"
    return _read(TaxonomyInput(value, "the taxonomy", argument or separator, columns), name)


class Labelled(Protocol):
    """Votes or a truth, in whatever form an engine holds them."""

    @property
    def labels(self) -> Index:
        """The labels that occur."""

    @property
    def origin(self) -> str:
        """Where they come from."""


def taxonomy_from_votes(
    votes: Labelled, gold: Labelled | None = None, *, abstain: Iterable[str] = ()
) -> Taxonomy:
    """Build a taxonomy from the labels of votes and of gold labels, by `taxonomy_from_labels`.

    Words for "did not know" and "none of these", and those in `abstain`, are not labels.
    """
    words = {*SPECIAL_WORDS, *map(normalize_label, abstain)}
    labels = (*votes.labels, *(gold.labels if gold else ()))
    return taxonomy_from_labels(
        (label for label in labels if normalize_label(label) not in words), votes.origin
    )


def taxonomy_from_labels(labels: Iterable[str], origin: str) -> Taxonomy:
    """Build a taxonomy from the labels of votes, for want of another one, and warn of it.

    Labels that are paths, such as ``A > B``, give a hierarchy; any others are all roots.

    Parameters
    ----------
    labels : iterable of str
        The labels that sources gave, without words that are not labels.
    origin : str
        The votes, for messages.
    """
    distinct = list(dict.fromkeys(labels))
    separator = find_paths(distinct)
    built = f"the labels of {origin}"
    if separator:
        taxonomy = taxonomy_from_paths(distinct, separator=separator, origin=built)
        count = f"{len(taxonomy):,} labels, {pluralize(int(taxonomy.depth.max()), 'level')}"
        what = f", which are paths separated by {separator!r} ({count})"
    else:
        taxonomy = build_taxonomy(distinct, (), origin=built)
        what = f": {len(taxonomy):,} labels without a hierarchy"
    _check_size(taxonomy, f"the taxonomy built from {built}")
    warn(f"No taxonomy was given: built from {built}{what}", MhpcWarning, stacklevel=2)
    return taxonomy


def _cells_of(file: LocalFile) -> object:
    """Return the columns of a spreadsheet, which is read once, or the file."""
    return spreadsheet_columns(file) if file.format == "spreadsheet" else file


def _is_icd(source: str | Path) -> bool:
    return str(source).lower() == _ICD and not Path(source).exists()


def _read(source: TaxonomyInput, format_name: str | None) -> Taxonomy:
    if source.columns:
        # Only tables have columns.
        format_name = "table"
    format_ = choose_format(TAXONOMY_FORMATS, source, format_name, what="taxonomy format")
    taxonomy = format_.read(source)
    _check_size(taxonomy, source.origin)
    _check_characters(taxonomy, source.origin)
    return taxonomy


def _check_size(taxonomy: Taxonomy, origin: str) -> None:
    if len(taxonomy) < 2:
        content = f"one label, {quote_list(taxonomy.labels.ids)}" if len(taxonomy) else "no label"
        raise TaxonomyError(
            f"{origin} has {content}: there is nothing to choose between; give at least two"
        )
    n_levels = taxonomy.depth.max()
    if n_levels > MAX_LEVELS:
        raise TaxonomyError(
            f"{origin} has {n_levels:,} levels; the most is {MAX_LEVELS:,}: are children and "
            "parents swapped?"
        )
    if taxonomy.labels.max_length > MAX_CELL:
        longest = max(taxonomy.labels, key=len)
        raise TaxonomyError(
            f"{origin} has a label of {len(longest):,} characters, {quote_list([longest])}; the "
            f"most is {MAX_CELL:,}"
        )


def _check_characters(taxonomy: Taxonomy, origin: str) -> None:
    """Raise an error if a label could not be written: RDF may have halves of characters."""
    if "" in taxonomy.labels.ids:
        raise TaxonomyError(f"{origin} has a label without a character; give it a name")
    for text in (*taxonomy.labels, *taxonomy.names):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise TaxonomyError(
                f"{origin}: label {text!r} has half a character, such as \\ud800; write it in full"
            ) from None
