"""Every command gives a result or a one-line error on random tables."""

import random
import tempfile
from contextlib import chdir
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mhpc.methods.registry import METHODS
from mhpc.read.run_folder import read_labelled_scores
from mhpc.read.votes import read_votes
from mhpc.rules.registry import RULES
from tests.fixtures.commands import Mhpc, shows_bug
from tests.fixtures.damaged_files import damage
from tests.fixtures.unusual_tables import IDS, Tables, unusual_options, unusual_tables

BOTH = ("votes.csv", "--taxonomy", "taxonomy.csv")
FAST = tuple(name for name in METHODS if name != "auto")

few = settings(
    max_examples=12, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


def check(done: CompletedProcess[str]) -> None:
    assert done.returncode in (0, 1, 2), done
    assert not shows_bug(done.stderr)
    assert "\x1b" not in done.stdout + done.stderr
    if done.returncode:
        assert "rror: " in done.stderr, done.stderr


def run_commands(mhpc: Mhpc, tables: Tables, rng: random.Random) -> None:
    """Run every command that reads the output of a run."""
    instance, label = rng.choice(tables.instances), rng.choice(tables.labels)
    check(mhpc("evaluate", "OUT", "--truth", "truth.csv", "--unknown", "drop"))
    check(mhpc("explain", "OUT", "--", instance, label))
    check(mhpc("conflicts", "OUT"))
    check(mhpc("report", "OUT", "--progress", "none"))
    check(mhpc("convert", "OUT", "made", "--to", "spreadsheet", "--force"))
    check(mhpc("consolidate", "votes.csv", "--apply", "OUT", "-o", "APPLIED", "--force"))


@few
@given(rng=st.randoms(use_true_random=False))
def test_random_tables_are_consolidated_or_refused(mhpc: Mhpc, rng: random.Random) -> None:
    with tempfile.TemporaryDirectory() as name, chdir(name):
        unusual_tables(rng).write(Path(name))
        check(mhpc("inspect", *BOTH))
        done = mhpc("consolidate", *BOTH, "-o", "OUT", *unusual_options(rng, FAST, list(RULES)))
        check(done)
        created = {path.name for path in Path().iterdir()} - {
            "votes.csv",
            "taxonomy.csv",
            "truth.csv",
        }
        assert created == ({"OUT"} if done.returncode == 0 else set())
        if done.returncode == 0:
            read_labelled_scores(Path("OUT"))


@settings(few, max_examples=4)
@given(rng=st.randoms(use_true_random=False))
def test_a_damaged_output_is_read_or_refused(mhpc: Mhpc, rng: random.Random) -> None:
    tables = Tables(
        [["instance", "source", "label"], ["1", "ann", "bee"], ["1", "bob", "plant"],
         ["2", "ann", "animal"]],
        [["label", "parent"], ["plant", ""], ["animal", ""], ["bee", "animal"]],
        [["instance", "label"], ["1", "bee"]],
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name, chdir(name):
        tables.write(Path(name))
        assert mhpc("consolidate", *BOTH, "-o", "OUT", "--method", "majority").returncode == 0
        path = rng.choice(sorted(Path("OUT").iterdir()))
        path.write_bytes(damage(path.read_bytes(), rng))
        run_commands(mhpc, tables, rng)


@pytest.mark.parametrize("method", ["majority", "auto"])
def test_ids_with_special_characters_are_unchanged(mhpc: Mhpc, garden: Path, method: str) -> None:
    ids = [id_ for id_ in IDS if id_.strip() == id_ and id_.isprintable()]
    sources = ["[red]ann", ":bee:", "=bob"]
    rows = [
        [instance, source, ids[(position + step) % len(ids)]]
        for position, instance in enumerate(ids)
        for step, source in enumerate(sources)
    ]
    votes = [["instance", "source", "label"], *rows]
    tables = Tables(votes, [["label", "parent"], *([id_, ""] for id_ in ids)], [["instance"]])
    tables.write(garden)
    done = mhpc("consolidate", *BOTH, "-o", "OUT", "--method", method)
    assert done.returncode == 0, done.stderr
    for source in sources:
        assert source in done.stdout
    consolidation = read_labelled_scores(garden / "OUT").consolidation
    assert consolidation.instances.ids == tuple(ids)
    assert consolidation.taxonomy.labels.ids == tuple(ids)
    run_commands(mhpc, tables, random.Random(0))


def test_control_characters_are_escaped(mhpc: Mhpc, garden: Path) -> None:
    controls = "\x1b[2J\u202ebee"
    rows = [(controls, controls, controls), (controls, "bob", "plant"), ("2", "bob", controls)]
    votes = "\n".join(["instance,source,label", *(",".join(row) for row in rows), ""])
    (garden / "votes.csv").write_text(votes, encoding="utf-8")
    (garden / "taxonomy.csv").write_text(f"label,parent\nplant,\n{controls},\n", encoding="utf-8")
    (garden / "other.csv").write_text("label,parent\nplant,\nbee,\n", encoding="utf-8")
    for words in (
        ("consolidate", *BOTH, "-o", "OUT", "--method", "sa"),
        ("inspect", "votes.csv", "--taxonomy", "other.csv"),
        ("conflicts", "OUT"),
        ("explain", "OUT", controls),
        ("explain", "OUT", controls, controls + "x"),
        ("inspect", controls, "--taxonomy", "taxonomy.csv"),
    ):
        done = mhpc(*words)
        assert r"\x1b[2J\u202ebee" in done.stdout + done.stderr, done
        assert "\x1b" not in done.stdout + done.stderr
        assert "\u202e" not in done.stdout + done.stderr


def test_an_output_that_is_a_link_is_followed(mhpc: Mhpc, garden: Path) -> None:
    assert mhpc("consolidate", *BOTH, "-o", "REAL", "--method", "sa").returncode == 0
    (garden / "LINK").symlink_to("REAL")
    assert mhpc("consolidate", *BOTH, "-o", "LINK", "--method", "wa", "--force").returncode == 0
    assert (garden / "LINK").is_symlink()
    assert read_labelled_scores(garden / "REAL").consolidation.method == "wa"
    assert not [path.name for path in garden.iterdir() if path.name.startswith(".")]


def test_converted_files_are_read_back_unchanged(mhpc: Mhpc, garden: Path) -> None:
    ids = [id_ for id_ in IDS if id_.strip() == id_]
    rows = [[i, s, label] for i, s, label in zip(ids, ids[1:], ids[2:], strict=False)]
    Tables([["instance", "source", "label"], *rows], [], []).write(garden)
    for name in ("made.csv", "made.tsv", "made.jsonl", "made.parquet"):
        assert mhpc("convert", "votes.csv", name).returncode == 0
        votes = read_votes(garden / name)
        assert votes.instances.ids == tuple(row[0] for row in rows)
        assert votes.labels.ids == tuple(row[2] for row in rows)
