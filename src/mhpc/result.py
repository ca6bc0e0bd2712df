"""Result: what `mhpc.consolidate` returns, and how it becomes a dataframe or a file."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mhpc.data.decision import Decision, LabelledScores, labelled_scores
from mhpc.data.disagreement import MAX_RANKED, Disagreements
from mhpc.data.items import Items
from mhpc.data.panel import Panel
from mhpc.data.profiles import SourceProfile
from mhpc.data.scores import Consolidation, Step, scored_cells
from mhpc.errors import ParameterError
from mhpc.explanation.items import find_items
from mhpc.explanation.queries import find_conflicts
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.system.display import short_table
from mhpc.write.formats import RUN_CONTENTS, Content
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
    """

    panel: Panel
    consolidation: Consolidation
    decision: Decision
    sources: tuple[SourceProfile, ...]

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
    def items(self) -> dict[str, list[str] | FloatArray | IntArray]:
        """The columns of items.csv, one row per instance, for any dataframe.

        The most specific labels of an instance and their paths, the probability of the least
        certain of them, how much one more answer is expected to improve them (review_priority), the
        number of sources, and the share of them that agree.
        """
        return {
            name: column.tolist() if column.dtype == object else column
            for name, column in self._items.columns.items()
        }

    @cached_property
    def _items(self) -> Items:
        return find_items(self.panel, self.consolidation, self.decision)

    @property
    def trace(self) -> tuple[Step, ...]:
        """The iterations of the method."""
        return self.consolidation.trace

    @cached_property
    def outcome(self) -> LabelledScores:
        """The scores and the label sets, as formats take them."""
        return labelled_scores(self.consolidation, self.decision.reason)

    def to_frame(self, what: Content = "labels", *, library: Library = "pandas") -> Any:
        """Return a dataframe.

        Parameters
        ----------
        what : "labels", "scores", "wide", "items", "sources" or "conflicts"
            One row per label of an instance; one row per score; one row per instance, with the
            score of every label, or with its labels joined; one row per source; or one row per
            disputed label, the instances to review first at the top.
        library : "pandas", "polars" or "pyarrow"
            Must be installed.
        """
        return make_frame(make_table(self._content(what), what), library)

    def _content(self, what: Content) -> Any:
        """Return the part of the result that a table is made of."""
        if what not in RUN_CONTENTS:
            raise ParameterError(f"what = {what!r} is not allowed; give {' | '.join(RUN_CONTENTS)}")
        if what == "items":
            return self._items
        if what == "sources":
            return self.sources
        return self._conflicts(len(self.panel.instances)) if what == "conflicts" else self.outcome

    def _conflicts(self, limit: int) -> Disagreements:
        return find_conflicts(self.panel, self.consolidation, self.decision, limit=limit, pairs=0)

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
        what : "labels", "scores", "wide", "items", "sources" or "conflicts"
            What to write, as for `to_frame`; ``cafa`` holds scores.
        **parameters
            Parameters of the format, such as ``model_version="mhpc"``.
        """
        content = self._content(what)
        if content is self.outcome:
            disputed = self._conflicts(MAX_RANKED).instances
            content = replace(content, review_order=tuple(case.instance for case in disputed))
        write_file(target, content, what, format=format, parameters=parameters)

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
