"""`read_taxonomy`: a taxonomy from any file or object in any format."""

from collections.abc import Mapping
from pathlib import Path

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import TaxonomyError, quote_list
from mhpc.read.files import local_file
from mhpc.read.formats import choose_format
from mhpc.read.objects import is_nested, tabulate_taxonomy
from mhpc.read.tables import MAX_CELL, TableSource
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
        paths such as ``20/01/03`` or ``A > B > C``, and every prefix is an ancestor. Other formats
        are OBO, SKOS, nested JSON, the config of Label Studio, a Clus HMC ARFF file, a networkx
        graph with edges from parents to children, and the name ``icd-10-cm``. In memory also
        ``{"flower": "plant", "plant": None}``, the parent of every label; ``{"plant": {"flower":
        ["monarda"]}}``, the labels below a label; ``[("flower", "plant")]``, pairs of a label and
        its parent; and a list of paths.
    columns : mapping of role to column name, optional
        The columns of a table whose names are unusual: ``{"label": "node"}``.
    separator : str, optional
        What separates the steps of paths; detected by default.
    format : str, optional
        The name of a format in `mhpc.read.taxonomy_formats.TAXONOMY_FORMATS`; detected from the
        content by default. Some formats take an argument: ``obo=part_of``, ``paths=;``,
        ``label-studio=topic``.

    Examples
    --------
    >>> read_taxonomy({"label": ["plant", "flower"], "parent": [None, "plant"]})
    Taxonomy(2 labels, 2 levels)
    >>> read_taxonomy(["plant > flower > monarda"])
    Taxonomy(3 labels, 3 levels)
    >>> read_taxonomy({"plant": {"flower": ["monarda", "rose"]}, "animal": ["bird"]})
    Taxonomy(6 labels, 3 levels)
    """
    if isinstance(source, Taxonomy):
        return source
    name, _, argument = format.partition("=") if format else (None, "", "")
    if isinstance(source, str | Path) and not (_is_icd(source) or name == _ICD):
        with local_file(source) as file:
            return _read(TaxonomyInput(file, file.name, argument or separator, columns), name)
    value = str(source) if isinstance(source, Path) else tabulate_taxonomy(source, columns)
    if name is None and is_nested(value) and not columns:
        name = "nested"
    return _read(TaxonomyInput(value, "the taxonomy", argument or separator, columns), name)


def _is_icd(source: str | Path) -> bool:
    return str(source).lower() == _ICD and not Path(source).exists()


def _read(source: TaxonomyInput, format_name: str | None) -> Taxonomy:
    if source.columns:
        # Only tables have columns.
        format_name = "table"
    format_ = choose_format(TAXONOMY_FORMATS, source, format_name, what="taxonomy format")
    taxonomy = format_.read(source)
    _check_size(taxonomy, source.origin)
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
