"""Clus HMC ARFF: instances with labels from a hierarchy that the header declares.

The attribute ``class`` is declared ``hierarchical``, then the labels as path codes
(``01,01/01``: a tree) or as ``parent/child`` edges from ``root`` (a DAG). The last value of a
data row is its labels, joined by ``@``; ancestors are implied.
"""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.data.votes import Truth
from mhpc.errors import DataError, UnreadableError, quote_list, suggest
from mhpc.read.files import GZIP_ERRORS, LocalFile
from mhpc.read.paths import taxonomy_from_paths

_ROOT = "root"


@dataclass(frozen=True, eq=False)
class HierarchicalArff:
    """What such a file holds, its features left aside."""

    taxonomy: Taxonomy
    truth: Truth


def read_arff(file: LocalFile) -> HierarchicalArff:
    """Read the taxonomy and the truth of a Clus HMC ARFF file."""
    lines = _lines(file)
    taxonomy = _declared(lines, file.name)
    instance: list[int] = []
    label: list[int] = []
    count = 0
    for number, line in lines:
        cell = line.rsplit(",", 1)[-1].strip().strip("'\"")
        named = [] if cell in ("", "?") else cell.split("@")
        for text in named:
            if text not in taxonomy:
                raise DataError(
                    f"{file.name}, line {number}: label {quote_list([text])} is not declared in the "
                    f"header{suggest(text, taxonomy)}"
                )
            label.append(taxonomy.labels.positions[text])
        if not named:
            label.append(-1)
        instance.extend([count] * max(len(named), 1))
        count += 1
    if not count:
        raise DataError(f"{file.name} has no rows after @DATA")
    truth = Truth(
        instances=Index(tuple(str(n + 1) for n in range(count))),
        labels=taxonomy.labels,
        instance=np.array(instance, dtype=np.int64),
        label=np.array(label, dtype=np.int64),
        origin=file.name,
    )
    return HierarchicalArff(taxonomy, truth)


def _lines(file: LocalFile) -> Iterator[tuple[int, str]]:
    """Give the numbered lines that say something."""
    if file.compression == "zstd":
        raise UnreadableError(f"{file.name}: an ARFF file can be plain or gzip, not zstd")
    opener = gzip.open if file.compression == "gzip" else open
    with opener(file.path, "rt", encoding="utf-8-sig") as text:
        try:
            for number, line in enumerate(text, start=1):
                if line.strip() and not line.startswith("%"):
                    yield number, line.strip()
        except UnicodeDecodeError:
            raise UnreadableError(
                f"{file.name} is not UTF-8 text; save the file as UTF-8"
            ) from None
        except GZIP_ERRORS as error:
            raise UnreadableError(f"{file.name} does not unpack to its end: {error}") from None


def _declared(lines: Iterator[tuple[int, str]], name: str) -> Taxonomy:
    """Read the header, up to and with ``@DATA``."""
    taxonomy = None
    for _, line in lines:
        words = line.split(None, 3)
        if words[0].lower() == "@data":
            break
        if words[0].lower() == "@attribute" and len(words) == 4 and words[2] == "hierarchical":
            taxonomy = _hierarchy(words[3].split(","), name)
    if taxonomy is None:
        raise DataError(f"{name}: no attribute is declared 'hierarchical' before @DATA")
    return taxonomy


def _hierarchy(entries: list[str], name: str) -> Taxonomy:
    entries = [entry.strip() for entry in entries]
    if not any(entry.startswith(f"{_ROOT}/") for entry in entries):
        return taxonomy_from_paths(entries, separator="/", origin=name)
    edges = []
    for entry in entries:
        parent, slash, child = entry.partition("/")
        if not slash:
            raise DataError(f"{name}: {quote_list([entry])} is not a parent/child edge")
        edges.append((child, parent))
    labels = dict.fromkeys(child for child, _ in edges)
    above = [(child, parent) for child, parent in edges if parent != _ROOT]
    return build_taxonomy(list(labels), above, origin=name)
