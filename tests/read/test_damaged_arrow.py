"""Arrow files with flipped bytes are refused in one line; pyarrow alone would end the process."""

import random
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest
from pyarrow import feather

from mhpc.errors import MhpcError, UnreadableError
from mhpc.read.votes import read_votes

VARIANTS = 40
ROWS = 300
COMPRESSIONS = ("uncompressed", "lz4", "zstd")
READ_ALL = """
import sys
from mhpc.errors import MhpcError
from mhpc.read.votes import read_votes
for path in sys.argv[1:]:
    try:
        read_votes(path)
        print("read")
    except MhpcError as error:
        assert "\\n" not in str(error), error
        print("refused")
"""


def votes_table(rows: int = ROWS) -> pyarrow.Table:
    sources = pyarrow.array([f"source {row % 3}" for row in range(rows)])
    return pyarrow.table(
        {
            "instance": [f"instance {row // 3}" for row in range(rows)],
            "source": sources.dictionary_encode(),
            "label": ["abc"[row % 3] for row in range(rows)],
            "score": [0.5 + row / 1000 for row in range(rows)],
        }
    )


def flip_bytes(content: bytes, rng: random.Random) -> bytes:
    """Flip bits anywhere, or only in the metadata at the beginning or at the end."""
    flipped = bytearray(content)
    places = rng.choice([range(len(content)), range(1500), range(len(content) - 900, len(content))])
    for _ in range(rng.choice([1, 2, 5, 20])):
        flipped[rng.choice(places)] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def test_flipped_bytes_do_not_end_the_process(tmp_path: Path) -> None:
    rng = random.Random(20)
    paths = []
    for variant in range(VARIANTS):
        path = tmp_path / f"{variant}.arrow"
        feather.write_feather(votes_table(), path, compression=rng.choice(COMPRESSIONS))
        path.write_bytes(flip_bytes(path.read_bytes(), rng))
        paths.append(str(path))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", READ_ALL, *paths],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    outcomes = done.stdout.split()
    assert len(outcomes) == VARIANTS
    # Padding, scores and the like can be flipped without anybody noticing, but not most of a file.
    assert outcomes.count("refused") > VARIANTS // 2


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_sound_files_are_read(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "votes.arrow"
    feather.write_feather(votes_table(), path, compression=compression, chunksize=100)
    votes = read_votes(path)
    assert (len(votes.instances), votes.labels.ids) == (100, ("a", "b", "c"))


def replace_number(path: Path, number: int, other: int, *, size: int) -> None:
    old, new = number.to_bytes(size, "little"), other.to_bytes(size, "little")
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))


def test_offsets_outside_of_the_texts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.arrow"
    table = pyarrow.table({"label": ["a" * 54_321]})
    feather.write_feather(table, path, compression="uncompressed")
    replace_number(path, 54_321, 1 << 30, size=4)
    with pytest.raises(UnreadableError, match="votes.arrow is a damaged Arrow file"):
        read_votes(path)


def test_rows_that_take_no_space_are_limited(tmp_path: Path) -> None:
    path = tmp_path / "votes.arrow"
    table = pyarrow.table({"label": pyarrow.nulls(54_321)})
    feather.write_feather(table, path, compression="uncompressed")
    replace_number(path, 54_321, 10**12, size=8)
    with pytest.raises(UnreadableError, match="1,000,000,000,000 rows"):
        read_votes(path)


def test_the_message_of_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "votes.arrow"
    feather.write_feather(votes_table(), path)
    path.write_bytes(path.read_bytes()[:-7] + b"nothing")
    with pytest.raises(MhpcError, match="damaged Arrow file") as refusal:
        read_votes(path)
    assert "\n" not in str(refusal.value)
