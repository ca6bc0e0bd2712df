"""Clus HMC ARFF: instances with labels from a hierarchy that the header declares.

The attribute ``class`` is declared ``hierarchical``, followed by the labels: either path codes
(``01,01/01``, a tree) or ``parent/child`` edges from ``root`` (a DAG). The last value of a data row
is the list of its labels, joined by ``@``; their ancestors are implied.
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
class LabelledInstances:
    """A taxonomy, and instances whose labels are known."""

    taxonomy: Taxonomy
    truth: Truth


def read_arff(file: LocalFile) -> LabelledInstances:
    """Read the taxonomy and the truth of a Clus HMC ARFF file; features are ignored."""
    lines = _read_lines(file)
    taxonomy = _read_header(lines, file.name)
    instance: list[int] = []
    label: list[int] = []
    count = 0
    for number, line in lines:
        cell = line.rsplit(",", 1)[-1].strip().strip("'\"")
        labels = [] if cell in ("", "?") else cell.split("@")
        for text in labels:
            if text not in taxonomy:
                raise DataError(
                    f"{file.name}, line {number}: label {quote_list([text])} is not declared in "
                    f"the header{suggest(text, taxonomy)}"
                )
            label.append(taxonomy.labels.positions[text])
        if not labels:
            label.append(-1)
        instance.extend([count] * max(len(labels), 1))
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
    return LabelledInstances(taxonomy, truth)


def _read_lines(file: LocalFile) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, without comments and blank lines."""
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
            raise UnreadableError(f"{file.name} does not decompress to its end: {error}") from None


def _read_header(lines: Iterator[tuple[int, str]], name: str) -> Taxonomy:
    """Read the lines up to and including ``@DATA``, and return the declared taxonomy."""
    taxonomy = None
    for _, line in lines:
        words = line.split(None, 3)
        if words[0].lower() == "@data":
            break
        if words[0].lower() == "@attribute" and len(words) == 4 and words[2] == "hierarchical":
            taxonomy = _parse_hierarchy(words[3].split(","), name)
    if taxonomy is None:
        raise DataError(f"{name}: no attribute is declared 'hierarchical' before @DATA")
    return taxonomy


def _parse_hierarchy(entries: list[str], name: str) -> Taxonomy:
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
    inner_edges = [(child, parent) for child, parent in edges if parent != _ROOT]
    return build_taxonomy(list(labels), inner_edges, origin=name)
