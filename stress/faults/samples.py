"""The valid files and run folders that attacks begin with, made once per run."""

import csv
import gzip
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

METHODS = ("sa", "majority", "auto")
"""The methods of the run folders, which are called ``OUT-METHOD``."""

N_INSTANCES = 60

BINARY_VOTES = (
    "votes.parquet", "plain.parquet", "votes.arrow", "stream.arrow", "packed.arrow", "votes.xlsx",
    "votes.xls", "votes.ods", "votes.csv.gz", "votes.csv.zst", "votes.zip",
)  # fmt: skip


def make_samples(folder: Path) -> None:
    """Write the samples, in a process of its own, so that this one starts no threads."""
    subprocess.run([sys.executable, "-m", "stress.faults.samples", str(folder)], check=True)


def _write(folder: Path) -> None:
    from mhpc.datasets.garden import garden_folder

    folder.mkdir(exist_ok=True)
    tables = {}
    for name in ("votes", "truth", "taxonomy"):
        with (garden_folder() / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        if name != "taxonomy":
            rows = [row for row in rows if int(row[0].removeprefix("photo-")) <= N_INSTANCES]
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
        tables[name] = [header, *rows]
    _write_binary(folder, tables["votes"])
    _write_markup(folder, tables["taxonomy"])
    for method in METHODS:
        _mhpc(
            "consolidate", folder / "votes.csv", "--taxonomy", folder / "taxonomy.csv", "-o",
            folder / f"OUT-{method}", "--method", method, "--truth", folder / "truth.csv",
        )  # fmt: skip


def _write_binary(folder: Path, rows: list[list[str]]) -> None:
    import pyarrow
    from pyarrow import ipc, parquet

    from tests.fixtures.old_workbook import old_workbook
    from tests.fixtures.spreadsheets import write_ods, write_xlsx

    header, *cells = rows
    columns = dict(zip(header, map(list, zip(*cells, strict=True)), strict=True))
    table: Any = pyarrow.table(columns)
    parquet.write_table(table, folder / "votes.parquet")
    parquet.write_table(
        table, folder / "plain.parquet", compression="none", use_dictionary=False,
        data_page_version="2.0", row_group_size=40,
    )  # fmt: skip
    packed = ipc.IpcWriteOptions(compression="zstd")
    for name, create, options in (
        ("votes", ipc.new_file, None),
        ("stream", ipc.new_stream, None),
        ("packed", ipc.new_file, packed),
    ):
        with create(str(folder / f"{name}.arrow"), table.schema, options=options) as file:
            file.write_table(table)
    write_xlsx(folder / "votes.xlsx", {"S": rows})
    write_ods(folder / "votes.ods", {"S": rows})
    few = {(y, x): text for y, row in enumerate(rows[:30]) for x, text in enumerate(row)}
    (folder / "votes.xls").write_bytes(old_workbook(few))
    text = (folder / "votes.csv").read_bytes()
    (folder / "votes.csv.gz").write_bytes(gzip.compress(text, mtime=0))
    (folder / "votes.csv.zst").write_bytes(pyarrow.Codec("zstd").compress(text, asbytes=True))
    with zipfile.ZipFile(folder / "votes.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", text)


def _write_markup(folder: Path, rows: list[list[str]]) -> None:
    """Write the taxonomy as SKOS and as a Label Studio config, with a place for the encoding."""
    concepts = "".join(
        f'<skos:Concept rdf:about="u:{label.replace(" ", "_")}"><skos:prefLabel>{label}'
        "</skos:prefLabel>"
        + (f'<skos:broader rdf:resource="u:{parent.replace(" ", "_")}"/>' if parent else "")
        + "</skos:Concept>\n"
        for label, parent in rows[1:]
    )
    (folder / "skos.rdf").write_text(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        f'xmlns:skos="http://www.w3.org/2004/02/skos/core#">\n{concepts}</rdf:RDF>\n',
        encoding="utf-8",
    )
    children: dict[str, list[str]] = {}
    for label, parent in rows[1:]:
        children.setdefault(parent, []).append(label)

    def nest(label: str) -> str:
        below = "".join(map(nest, children.get(label, ())))
        return f'<Choice value="{label}">{below}</Choice>\n'

    (folder / "config.xml").write_text(
        '<View><Text name="t" value="$text"/><Taxonomy name="x" toName="t">\n'
        f"{''.join(map(nest, children['']))}</Taxonomy></View>\n",
        encoding="utf-8",
    )


def _mhpc(*words: object) -> None:
    subprocess.run(
        [sys.executable, "-m", "mhpc", *map(str, words), "--progress", "none"],
        check=True, capture_output=True,
    )  # fmt: skip


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
