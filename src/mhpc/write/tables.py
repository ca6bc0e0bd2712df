"""The small tables of a run: sources, taxonomy."""

from collections.abc import Sequence
from pathlib import Path

from mhpc.core.sources import SourceFacts
from mhpc.core.taxonomy import Taxonomy
from mhpc.write.formats.registry import format_by_name_of
from mhpc.write.rows import write_csv
from mhpc.write.subject import write_as


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


def write_taxonomy(
    target: str | Path,
    taxonomy: Taxonomy,
    *,
    format: str | None = None,  # noqa: A002 - what readers call it too
) -> None:
    """Write label, parent, name: a row a parent, an empty one for roots; or Label Studio's config.

    Parameters
    ----------
    target : path or "-"
        Packed where the name ends in ``.gz``.
    taxonomy : Taxonomy
        The hierarchy.
    format : str, optional
        ``csv``, ``tsv``, ``jsonl``, ``parquet``, ``spreadsheet`` or ``label-studio-config``;
        unless given, what the name of the file tells, else CSV.
    """
    write_as(target, taxonomy, "taxonomy", format=format or format_by_name_of(target) or "csv")
