"""CSV and TSV, for programs: every id exactly as it is."""

from typing import Any, BinaryIO, ClassVar

from mhpc.write.formats.format import OF_A_RUN, Format, What, as_text
from mhpc.write.formats.tables import table_of
from mhpc.write.rows import write_rows


class Csv(Format):
    """Cells between commas, quoted where they must be."""

    name: ClassVar[str] = "csv"
    writes: ClassVar[tuple[What, ...]] = ("votes", "taxonomy", *OF_A_RUN)
    delimiter: ClassVar[str] = ","

    def write(self, file: BinaryIO, subject: Any, what: What) -> None:
        """Write a table."""
        table = table_of(subject, what)
        with as_text(file) as text:
            write_rows(text, tuple(table.columns), table.rows(), delimiter=self.delimiter)


class Tsv(Csv):
    """Cells between tabs."""

    name: ClassVar[str] = "tsv"
    delimiter: ClassVar[str] = "\t"
