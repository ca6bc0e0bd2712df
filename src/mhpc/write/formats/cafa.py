"""CAFA predictions: ``target<TAB>term<TAB>score``, no header."""

import re
from typing import Annotated, Any, BinaryIO, ClassVar

from pydantic import Field

from mhpc.data.decision import LabelledScores
from mhpc.errors import DataError
from mhpc.write.formats import Content, Format, as_text
from mhpc.write.tables import scores_table


class Cafa(Format):
    """Every label with a score above 0, for evaluators that sweep a threshold."""

    name: ClassVar[str] = "cafa"
    writes: ClassVar[tuple[Content, ...]] = ("scores",)

    digits: Annotated[int, Field(ge=1, le=17)] = 3
    """Significant digits of a score; CAFA allows three."""

    def write(self, file: BinaryIO, subject: LabelledScores, what: Content) -> None:
        """Write the scores; those that round to 0 are left out."""
        _check_no_blanks(subject)
        with as_text(file) as text:
            for instance, label, score, _ in scores_table(subject).rows():
                if score > 1:
                    raise DataError(
                        f"label {label!r} of instance {instance!r} has score {score:g}, and CAFA "
                        "knows none above 1; consolidate with a method whose scores are "
                        "probabilities, such as auto"
                    )
                rounded = f"{score:.{self.digits}g}"
                if float(rounded) > 0:
                    text.write(f"{instance}\t{label}\t{rounded}\n")


def _check_no_blanks(outcome: LabelledScores) -> None:
    """Refuse ids that would fall apart: nothing is quoted here."""
    axes: dict[str, Any] = {"instance": outcome.instances, "label": outcome.taxonomy.labels}
    for role, axis in axes.items():
        if re.search(r"\s", "".join(axis)):
            broken = next(id_ for id_ in axis if re.search(r"\s", id_))
            raise DataError(
                f"{role} {broken!r} has a blank in it, which a CAFA file cannot hold; rename it, "
                "or write csv"
            )
