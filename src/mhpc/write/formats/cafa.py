"""CAFA predictions: ``target<TAB>term<TAB>score`` without a header."""

import re
from typing import Annotated, Any, BinaryIO, ClassVar

from pydantic import Field

from mhpc.data.decision import LabelledScores
from mhpc.errors import DataError
from mhpc.write.formats import Content, WriteFormat, as_text
from mhpc.write.tables import scores_table


class Cafa(WriteFormat):
    """Every label with a score above 0, for evaluators that try all thresholds."""

    name: ClassVar[str] = "cafa"
    writes: ClassVar[tuple[Content, ...]] = ("scores",)

    digits: Annotated[int, Field(ge=1, le=17)] = 3
    """The significant digits of a score; CAFA allows three."""

    def write(self, file: BinaryIO, data: LabelledScores, content: Content) -> None:
        """Write the scores, except those that round to 0."""
        _check_ids(data)
        with as_text(file) as text:
            for instance, label, score, _ in scores_table(data).rows():
                if score > 1:
                    raise DataError(
                        f"label {label!r} of instance {instance!r} has score {score:g}, but CAFA "
                        "allows none above 1; consolidate with a method whose scores are "
                        "probabilities, such as auto"
                    )
                rounded = f"{score:.{self.digits}g}"
                if float(rounded) > 0:
                    text.write(f"{instance}\t{label}\t{rounded}\n")


def _check_ids(result: LabelledScores) -> None:
    """Raise an error for an id with a blank, because CAFA has no quotes."""
    indexes: dict[str, Any] = {"instance": result.instances, "label": result.taxonomy.labels}
    for role, index in indexes.items():
        if re.search(r"\s", "".join(index)):
            invalid = next(id_ for id_ in index if re.search(r"\s", id_))
            raise DataError(
                f"{role} {invalid!r} has a blank in it, which a CAFA file cannot hold; rename it, "
                "or write csv"
            )
