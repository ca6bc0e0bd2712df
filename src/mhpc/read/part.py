"""One part of votes that no process reads whole.

An instance is in the part that the hash of its id says, so that a part has all its answers.
"""

from dataclasses import dataclass

import numpy as np

from mhpc.core.arrays import IntArray
from mhpc.core.index import Index
from mhpc.core.votes import NONE_OF_THESE, Votes
from mhpc.read.cells import read_cells
from mhpc.read.repeats import LeftOut, without_repeats
from mhpc.read.survey import ROLES, Survey, opened
from mhpc.read.votes import read_scores


@dataclass(frozen=True, eq=False)
class VotesPart:
    """Some instances' votes, all of them; the row where each instance appears first, (n,)."""

    votes: Votes
    first: IntArray
    rows: int
    left_out: tuple[LeftOut, ...]


def read_part(survey: Survey, part: int, *, parts: int, threads: int = 1) -> VotesPart:
    """Read the votes of one part of so many; sources and labels are those of the survey."""
    with opened(survey, threads=threads) as table:
        table.connection.execute(
            f"CREATE TEMP TABLE part AS SELECT * FROM texts WHERE hash(instance) % {parts} = {part}"
        )
        table.connection.execute(
            "CREATE OR REPLACE TEMP VIEW cells AS SELECT * FROM part ORDER BY row"
        )
        number = table.connection.execute("SELECT row FROM cells").fetchnumpy()["row"]
        if not len(number):
            return _no_part(survey)
        cells = read_cells(table, {role: role for role in ROLES}, ROLES)
        score = read_scores(table, "score" if "score" in survey.columns else None, cells)
    keep, left_out = without_repeats(cells, score, number=number)
    source = survey.sources.locate(cells.index["source"])
    label = np.append(survey.labels.locate(cells.index["label"]), NONE_OF_THESE)
    _, appearance = np.unique(cells.position["instance"], return_index=True)
    votes = Votes(
        instances=cells.index["instance"],
        sources=survey.sources,
        labels=survey.labels,
        instance=cells.position["instance"][keep],
        source=source[cells.position["source"][keep]],
        label=label[cells.position["label"][keep]],
        score=score[keep],
        origin=survey.origin,
    )
    first = np.asarray(number[appearance], dtype=np.int64)
    return VotesPart(votes, first, cells.rows, left_out)


def _no_part(survey: Survey) -> VotesPart:
    nothing = np.zeros(0, dtype=np.int64)
    votes = Votes(
        Index(()), survey.sources, survey.labels, nothing, nothing, nothing, np.zeros(0),
        origin=survey.origin,
    )  # fmt: skip
    return VotesPart(votes, nothing, 0, ())
