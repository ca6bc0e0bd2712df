"""Votes out."""

from pathlib import Path

from mhpc.core.votes import Votes
from mhpc.write.formats.registry import format_by_name_of
from mhpc.write.subject import write_as


def write_votes(
    target: str | Path,
    votes: Votes,
    *,
    format: str | None = None,  # noqa: A002 - what readers call it too
) -> None:
    """Write the canonical votes table; ``-`` is standard output.

    A file is written beside its place and moved there, so that it is whole or not there. The
    column ``score`` is left out where no vote is graded.

    Parameters
    ----------
    target : path or "-"
        Packed where the name ends in ``.gz``.
    votes : Votes
        What sources said.
    format : str, optional
        ``csv``, ``tsv``, ``jsonl``, ``parquet`` or ``spreadsheet``; unless given, what the name
        of the file tells, else CSV.
    """
    write_as(target, votes, "votes", format=format or format_by_name_of(target) or "csv")
