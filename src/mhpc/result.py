"""Result: everything that `mhpc.consolidate` found, and the ways it is given back."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mhpc.data.decision import Decision, LabelledScores, labelled_scores
from mhpc.data.disagreement import MAX_RANKED
from mhpc.data.panel import Panel
from mhpc.data.profiles import SourceProfile
from mhpc.data.scores import Consolidation, Step, scored_cells
from mhpc.explanation.queries import find_conflicts
from mhpc.numerics.arrays import FloatArray
from mhpc.system.display import short_table
from mhpc.write.formats import Content
from mhpc.write.tables import Library, make_frame, make_table, write_file


@dataclass(frozen=True, eq=False)
class Result:
    """Everything that `consolidate` found."""

    panel: Panel
    consolidation: Consolidation
    decision: Decision
    sources: tuple[SourceProfile, ...]

    @property
    def scores(self) -> dict[str, list[str] | FloatArray]:
        """Columns instance, label, score, specific, as in scores.parquet, for any dataframe."""
        found, cells = self.consolidation, list(scored_cells(self.consolidation))
        return {
            "instance": [found.instances[i] for part in cells for i in part.row],
            "label": [found.taxonomy.labels[k] for part in cells for k in part.label],
            "score": np.concatenate([part.score for part in cells]),
            "specific": np.concatenate([part.specific for part in cells]),
        }

    @property
    def labels(self) -> dict[str, list[str]]:
        """The label set of every instance, closed under ancestors."""
        return self.decision.labels()

    @property
    def trace(self) -> tuple[Step, ...]:
        """The iterations of the method."""
        return self.consolidation.trace

    @cached_property
    def outcome(self) -> LabelledScores:
        """The scores and the label sets, as formats take them."""
        return labelled_scores(self.consolidation, self.decision.reason)

    def to_frame(self, library: Library = "pandas", *, what: Content = "labels") -> Any:
        """Return a dataframe.

        Parameters
        ----------
        library : "pandas", "polars" or "pyarrow"
            Must be installed.
        what : "labels", "scores" or "wide"
            A row a label that an instance has; a row a score; or a row an instance with a column
            a label, which takes a byte for each of both.
        """
        return make_frame(make_table(self.outcome, what), library)

    def write(
        self,
        target: str | Path,
        *,
        format: str | None = None,  # noqa: A002 - what readers call it too
        what: Content = "labels",
        **parameters: Any,
    ) -> None:
        """Write the result for another tool, whole or not at all.

        Parameters
        ----------
        target : path or "-"
            A file that is there is replaced; ``-`` is standard output.
        format : str, optional
            As in ``mhpc convert --to``; unless given, what the name of the file tells.
        what : "labels", "scores" or "wide"
            What of it; ``cafa`` holds scores.
        **parameters
            Of the format: ``model_version="mhpc"``.
        """
        conflicts = find_conflicts(self.panel, self.consolidation, self.decision, limit=MAX_RANKED)
        review_order = tuple(disagreement.instance for disagreement in conflicts.instances)
        subject = replace(self.outcome, review_order=review_order)
        write_file(target, subject, what, format=format, parameters=parameters)

    def _repr_html_(self) -> str:
        rows = (
            (each.source, each.answers, each.accurate.value, each.vague.value, each.wrong.value)
            for each in self.sources
        )
        header = ("source", "answers", "accurate", "vague", "wrong")
        told = f"{self.consolidation!r} of {len(self.sources)} sources"
        sources = short_table(told, header, rows, total=len(self.sources))
        return sources + self.decision._repr_html_()
