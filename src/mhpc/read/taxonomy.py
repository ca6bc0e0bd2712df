"""Reading taxonomies."""

from collections.abc import Mapping
from pathlib import Path

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import TaxonomyError, quote_list
from mhpc.read.files import local_file
from mhpc.read.tables import MAX_CELL, TableSource
from mhpc.read.taxonomy_formats import icd, tables, taxonomy_format
from mhpc.read.taxonomy_formats.base import TaxonomyInput

MAX_LEVELS = 1_000
"""Levels of the deepest hierarchy that is believed: work grows with the third power of a chain."""


def read_taxonomy(
    source: TableSource,
    *,
    columns: Mapping[str, str] | None = None,
    separator: str | None = None,
    format: str | None = None,  # noqa: A002 - what users call it
) -> Taxonomy:
    """Read a hierarchy: a table label, parent; path codes; or any other format there is.

    Parameters
    ----------
    source : path, "-", dataframe, mapping of columns, list of mappings, graph or name
        With a column ``parent``: an edge a row, several rows for several parents, an empty
        parent for a root; ``name`` may hold what to show. Without one, labels are paths such
        as ``20/01/03`` or ``A > B > C`` and every prefix is a parent. Or OBO, SKOS, nested JSON,
        the config of Label Studio, a Clus HMC ARFF file, a networkx graph from parents to
        children, or the name ``icd-10-cm``.
    columns : mapping of role to column name, optional
        Where the names are none of the usual ones: ``{"label": "node"}``.
    separator : str, optional
        What separates the steps of paths; found by itself unless given.
    format : str, optional
        Which of `mhpc.read.taxonomy_formats.TAXONOMY_FORMATS` it is, what the content tells unless
        given; some take a word more, as in ``obo=part_of``, ``paths=;``, ``label-studio=topic``.

    Examples
    --------
    >>> read_taxonomy({"label": ["plant", "flower"], "parent": [None, "plant"]})
    Taxonomy(2 labels, 2 levels)
    >>> read_taxonomy({"label": ["plant > flower > monarda"]})
    Taxonomy(3 labels, 3 levels)
    """
    name, _, argument = format.partition("=") if format else (None, "", "")
    if isinstance(source, str | Path) and not (_is_named(source) or name == icd.NAME):
        with local_file(source) as file:
            told = TaxonomyInput(file, file.name, argument or separator)
            return _checked(_read(told, name, columns, separator), file.name)
    told = TaxonomyInput(
        str(source) if isinstance(source, Path) else source, "the taxonomy", argument or None
    )
    return _checked(_read(told, name, columns, separator), told.origin)


def _read(
    told: TaxonomyInput, name: str | None, columns: Mapping[str, str] | None, separator: str | None
) -> Taxonomy:
    if columns:
        return tables.read_table(told, columns=columns, separator=separator)
    found = taxonomy_format(told, name)
    if found is tables:
        return tables.read_table(told, columns=None, separator=separator or told.argument)
    return found.read(told)


def _is_named(source: str | Path) -> bool:
    return str(source).lower() == icd.NAME and not Path(source).exists()


def _checked(taxonomy: Taxonomy, origin: str) -> Taxonomy:
    if len(taxonomy) < 2:
        held = f"one label, {quote_list(taxonomy.labels.ids)}" if len(taxonomy) else "no label"
        raise TaxonomyError(
            f"{origin} has {held}: there is nothing to choose between; give at least two"
        )
    if len(taxonomy.levels) > MAX_LEVELS:
        raise TaxonomyError(
            f"{origin} has {len(taxonomy.levels):,} levels; the most is {MAX_LEVELS:,}: is a child "
            "taken for its parent?"
        )
    longest = max(taxonomy.labels, key=len)
    if len(longest) > MAX_CELL:
        raise TaxonomyError(
            f"{origin} has a label of {len(longest):,} characters, {quote_list([longest])}; the most "
            f"is {MAX_CELL:,}"
        )
    return taxonomy
