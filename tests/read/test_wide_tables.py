"""Tables with many columns, and headers that are none: read quickly, or refused in one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

from mhpc.errors import DataError, MhpcError, UnreadableError, silence_warnings
from mhpc.read.columns import normalize_name
from mhpc.read.files import MAX_HEADER_BYTES
from mhpc.read.tables import MAX_COLUMNS, check_width
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.vote_formats import source_columns
from mhpc.read.votes import read_votes

HEADERS = {
    "a cell that is far too long": "instance,source,label," + "x" * 200_000,
    "an open quote": '"' + "x" * 200_000,
    "longer than any header": "h" * (MAX_HEADER_BYTES + 100_000),
    "nothing but commas": "," * 1_000_000,
    "too many columns": ",".join(f"c{number}" for number in range(MAX_COLUMNS + 1)),
}


@pytest.mark.parametrize("read", [read_votes, read_taxonomy, read_truth])
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_line_that_is_no_header_is_refused(
    header: str, read: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\n1,ann,bee\n")
    with pytest.raises(MhpcError) as refusal:
        read(path)
    assert isinstance(refusal.value, DataError | UnreadableError)
    assert str(path) in str(refusal.value)


def test_a_table_has_at_most_so_many_columns() -> None:
    check_width(5, "t.csv", max_columns=5)
    with pytest.raises(DataError, match="t.csv has 6 columns, and at most 5 are read"):
        check_width(6, "t.csv", max_columns=5)


def test_one_column_per_source_may_be_thousands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, calls = 2000, 0

    def normalize(name: str) -> str:
        nonlocal calls
        calls += 1
        return normalize_name(name)

    monkeypatch.setattr(source_columns, "normalize_name", normalize)
    names = [f"w{place}" for place in range(number)]
    rows = [[f"i{row}", *(("bee", "ant")[(row + place) % 2] for place in range(number))]
            for row in range(2)]  # fmt: skip
    path = tmp_path / "t.csv"
    pandas.DataFrame(rows, columns=["item", *names]).to_csv(path, index=False)
    votes = read_votes(path)
    assert votes.sources.ids == tuple(names)
    assert len(votes) == 2 * number
    # Not the square of the number of columns, which would be millions.
    assert calls < 100 * number


def test_scores_of_sources_stay_beside_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "item,ann,bob_label,bob score,cid\n"
        "1,bee,ant,0.25,\n"
        "2, ,bee,0.5,ant\n"
        "3,ant,,,bee\n"
    )  # fmt: skip
    with silence_warnings():
        votes = read_votes(path)
    assert votes.sources.ids == ("ann", "bob", "cid")
    rows = list(
        zip(
            [votes.instances[row] for row in votes.instance],
            [votes.sources[row] for row in votes.source],
            [votes.labels[row] for row in votes.label],
            votes.score.tolist(),
            strict=True,
        )
    )
    assert rows == [
        ("1", "ann", "bee", 1.0),
        ("1", "bob", "ant", 0.25),
        ("2", "bob", "bee", 0.5),
        ("2", "cid", "ant", 1.0),
        ("3", "ann", "ant", 1.0),
        ("3", "cid", "bee", 1.0),
    ]


def test_objects_with_other_keys_each_are_no_table(tmp_path: Path) -> None:
    """A file of 60 kB would become a table of 16 million cells."""
    path = tmp_path / "votes.jsonl"
    path.write_text("".join(f'{{"key {number}": "x"}}\n' for number in range(4000)))
    with pytest.raises(DataError, match="4,000 objects have 4,000 different keys, and each object"):
        read_votes(path)
