"""How the user wants votes and known labels to be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from mhpc.errors import ParameterError, option
from mhpc.parameters import check_choice, check_mapping, check_text, is_number, show_value

Negative: TypeAlias = Literal["mark", "score"]
"""How votes say "not this": by a label that begins with ``!``, or by a score below 0."""

NEGATIVE_MARK = "!"
"""What a label begins with that does not apply, if votes are read with ``negative="mark"``."""


@dataclass(frozen=True)
class ReadOptions:
    """What cells mean, where that is not clear from the table itself.

    Attributes
    ----------
    columns : mapping of role to column
        The columns whose names are unusual.
    format : str, optional
        The name of a format; detected from the content by default.
    separator : str, optional
        What separates the labels of a cell that holds several.
    score_max : float, optional
        The highest possible score; scores are divided by it.
    negative : "mark" or "score", optional
        How votes say that a label does not apply.
    label_map : mapping of label to label
        Labels to replace while the table is read.
    usual_columns : mapping of role to column
        Column names to look for before the usual ones, such as those of a related table.
    table : str
        What options call the table, if it is not that of the votes.
    ignore_scores : bool
        Whether a column of scores is not to be read, as in a truth.
    """

    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    format: str | None = None
    separator: str | None = None
    score_max: float | None = None
    negative: Negative | None = None
    label_map: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    usual_columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    table: str = ""
    ignore_scores: bool = False

    def __post_init__(self) -> None:
        """Refuse options that would fail somewhere in the table."""
        check_mapping("columns", self.columns, "roles to columns")
        check_text("format", self.format)
        check_text("separator", self.separator)
        if self.separator is not None and not self.separator.strip():
            raise ParameterError(
                f"{option('separator', self.separator)} is not allowed; give a text such as ';'"
            )
        if self.negative is not None:
            check_choice("negative", self.negative, get_args(Negative))
        most = self.score_max
        if most is not None:
            if not (is_number(most) and 0 < float(most) < float("inf")):
                raise ParameterError(
                    f"score_max = {show_value(most)} is not allowed; give a number above 0"
                )
            # Queries quote it, as Python writes it.
            object.__setattr__(self, "score_max", float(most))

    @property
    def changes_labels(self) -> bool:
        """Whether labels are other texts than those in the cells."""
        return bool(self.separator or self.label_map or self.negative == "mark")
