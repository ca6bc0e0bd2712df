"""Result: what `mhpc.consolidate` returns, and how it becomes a dataframe or a file."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mhpc.data.decision import Decision, FittedRule, LabelledScores, labelled_scores
from mhpc.data.disagreement import MAX_RANKED
from mhpc.data.panel import Panel
from mhpc.data.profiles import SourceProfile
from mhpc.data.scores import Consolidation, Step, scored_cells
from mhpc.data.votes import Votes
from mhpc.explanation.queries import find_conflicts
from mhpc.numerics.arrays import FloatArray
from mhpc.system.display import short_table
from mhpc.write.formats import Content
from mhpc.write.tables import Library, make_frame, make_table, write_file


@dataclass(frozen=True, eq=False)
class Result:
    """What `mhpc.consolidate` found.

    Attributes
    ----------
    panel : Panel
        The encoded votes.
    consolidation : Consolidation
        The scores, and how the method computed them.
    decision : Decision
        The label sets, and the rule that decided on them.
    sources : tuple of SourceProfile
        How much each source answers, how reliable it is, and whom it resembles.
    votes : Votes or None
        The votes as they were read; None if the result was loaded.
    rule : FittedRule or None
        The rule that decided on the label sets; None if the result was loaded.
    """

    panel: Panel
    consolidation: Consolidation
    decision: Decision
    sources: tuple[SourceProfile, ...]
    votes: Votes | None = None
    rule: FittedRule | None = None

    @property
    def scores(self) -> dict[str, list[str] | FloatArray]:
        """Columns instance, label, score, specific, as in scores.parquet, for any dataframe."""
        scores, blocks = self.consolidation, list(scored_cells(self.consolidation))
        return {
            "instance": [scores.instances[i] for block in blocks for i in block.row],
            "label": [scores.taxonomy.labels[k] for block in blocks for k in block.label],
            "score": np.concatenate([block.score for block in blocks]),
            "specific": np.concatenate([block.specific for block in blocks]),
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
            One row per label of an instance; one row per score; or one row per instance and one
            column per label.
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
        """Write the result to a file for another tool, completely or not at all.

        Parameters
        ----------
        target : path or "-"
            An existing file is replaced; ``-`` is standard output.
        format : str, optional
            As in ``mhpc convert --to``; by default, according to the name of the file.
        what : "labels", "scores" or "wide"
            What to write; ``cafa`` holds scores.
        **parameters
            Parameters of the format, such as ``model_version="mhpc"``.
        """
        conflicts = find_conflicts(self.panel, self.consolidation, self.decision, limit=MAX_RANKED)
        review_order = tuple(disagreement.instance for disagreement in conflicts.instances)
        subject = replace(self.outcome, review_order=review_order)
        write_file(target, subject, what, format=format, parameters=parameters)

    def _repr_html_(self) -> str:
        rows = (
            (
                profile.source,
                profile.answers,
                profile.accurate.value,
                profile.vague.value,
                profile.wrong.value,
            )
            for profile in self.sources
        )
        header = ("source", "answers", "accurate", "vague", "wrong")
        caption = f"{self.consolidation!r} of {len(self.sources)} sources"
        sources = short_table(caption, header, rows, total=len(self.sources))
        return sources + self.decision._repr_html_()
