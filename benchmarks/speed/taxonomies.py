"""Large hierarchies: a million votes for codes of ICD-10-CM, and for terms of a DAG as large as GO.

python -m benchmarks.speed.taxonomies

Encoding and augmenting (labels to positions, ancestors added) against what DuckDB takes to read
the same votes and group them by instance and label. ICD-10-CM comes with the package
simple-icd-10-cm; without it a tree of the same shape is generated. The DAG is generated.
"""

import tempfile
from functools import partial
from pathlib import Path

import duckdb
import numpy as np

import mhpc
from benchmarks.environment import interleave, met_or_missed, ratio, write_result
from mhpc.data.taxonomy import Taxonomy, build_taxonomy

VOTES = 1_000_000
LIMIT = 6.0


def main() -> None:
    """Measure both, print and write."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, taxonomy in (icd(), dag()):
            path = Path(folder) / "votes.parquet"
            write_votes(path, taxonomy)
            votes = mhpc.read_votes(path)
            seconds = interleave(
                {
                    "encode": partial(mhpc.encode, votes, taxonomy),
                    "duckdb": partial(grouped, path),
                },
                repeats=5,
            )
            times = ratio(seconds["encode"], seconds["duckdb"])
            print(
                f"{name}, {len(taxonomy):,} labels in {int(taxonomy.depth.max())} levels: "
                f"{min(seconds['encode']):.2f} s, {times} times DuckDB, at most {LIMIT:g}: "
                f"{met_or_missed(times.median <= LIMIT)}"
            )
            rows.append({"hierarchy": name, "labels": len(taxonomy), **seconds})
    write_result("speed_hierarchies", {"rows": rows})


def grouped(path: Path) -> None:
    """Let DuckDB read and group the votes."""
    duckdb.execute(
        "SELECT instance, label, count(DISTINCT source) AS sources FROM read_parquet(?) "
        "GROUP BY instance, label",
        [str(path)],
    ).fetchnumpy()


def icd() -> tuple[str, Taxonomy]:
    """Return ICD-10-CM, or a tree of its shape."""
    try:
        import simple_icd_10_cm as codes
    except ImportError:
        widths = (22, 336, 1957, 12_000, 24_000, 36_000, 21_000)
        return "a tree of the shape of ICD-10-CM", levels_of(widths, parents=1)
    all_codes = list(dict.fromkeys(codes.get_all_codes(with_dots=True)))
    # Some codes are both a block and its only category, and then their own parent.
    above = {code: codes.get_parent(code) for code in all_codes}
    edges = [(code, parent) for code, parent in above.items() if parent and parent != code]
    return "ICD-10-CM", build_taxonomy(all_codes, edges)


def dag() -> tuple[str, Taxonomy]:
    """Return a DAG of 40,000 labels, two parents in the mean below the second level."""
    widths = (3, 300, 2500, 7000, 10_000, 9000, 6000, 3500, 1697)
    return "a DAG of the size of GO", levels_of(widths, parents=2)


def levels_of(widths: tuple[int, ...], *, parents: int) -> Taxonomy:
    """Return labels in levels, each below one to so many of the level above, twice less one."""
    rng = np.random.default_rng(0)
    labels = [f"{level}.{n}" for level, width in enumerate(widths) for n in range(width)]
    edges: list[tuple[str, str]] = []
    for level, width in enumerate(widths[1:], start=1):
        for n in range(width):
            count = int(rng.integers(1, 2 * parents))
            above = {int(at) for at in rng.integers(widths[level - 1], size=count)}
            edges += [(f"{level}.{n}", f"{level - 1}.{parent}") for parent in above]
    return build_taxonomy(labels, edges)


def write_votes(path: Path, taxonomy: Taxonomy) -> None:
    """Write a million votes: Zipf's labels for 150,000 instances by ten sources."""
    rng = np.random.default_rng(0)
    label = rng.permutation(len(taxonomy))[(rng.zipf(1.3, VOTES) - 1) % len(taxonomy)]
    columns = {
        "instance": rng.integers(150_000, size=VOTES),
        "source": rng.integers(10, size=VOTES),
        "label": label,
    }
    names = {"at": np.arange(len(taxonomy)), "id": np.array(taxonomy.labels.ids, dtype=object)}
    with duckdb.connect() as connection:
        connection.register("votes", columns)
        connection.register("names", names)
        connection.execute(
            "COPY (SELECT DISTINCT 'i' || instance AS instance, 's' || source AS source, "
            f"names.id AS label FROM votes JOIN names ON votes.label = names.at) TO '{path}'"
        )


if __name__ == "__main__":
    main()
