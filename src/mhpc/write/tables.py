"""The small tables of a run: sources, taxonomy."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mhpc.core.sources import SourceFacts
from mhpc.core.taxonomy import Taxonomy
from mhpc.write.rows import write_csv


def write_sources(path: Path, sources: Sequence[SourceFacts]) -> None:
    """Write ``sources.csv``, a row a source."""
    header = (
        "source", "answers", "coverage", "mean_depth",
        "accurate", "accurate_low", "accurate_high", "vague", "vague_low", "vague_high",
        "wrong", "wrong_low", "wrong_high", "errs_under",
        "voice", "kin", "kinship", "copy",
    )  # fmt: skip
    rows = (
        (
            s.source, s.answers, s.coverage, s.mean_depth, *s.accurate, *s.vague, *s.wrong,
            s.errs[0].label if s.errs else None, s.voice, s.kin, s.kinship, s.copy,
        )
        for s in sources
    )  # fmt: skip
    write_csv(path, header, rows)


def write_taxonomy(path: Path, taxonomy: Taxonomy) -> None:
    """Write ``taxonomy.csv``: label, parent, name; a row a parent, an empty one for roots."""

    def rows() -> Iterator[tuple[str, str, str]]:
        for label, (id_, name) in enumerate(zip(taxonomy.labels, taxonomy.names, strict=True)):
            above = [taxonomy.labels[parent] for parent in taxonomy.parents_of(label)]
            for parent in above or [""]:
                yield id_, parent, name

    write_csv(path, ("label", "parent", "name"), rows())
