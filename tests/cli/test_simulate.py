import subprocess
import sys
from pathlib import Path

import pytest

from mhpc.read.votes import read_votes
from tests.fixtures.commands import Mhpc

SIMULATE = ("simulate", "truth.csv", "--taxonomy", "taxonomy.csv")

ARFF = """\
@relation garden
@attribute class hierarchical plant,plant/flower,animal
@data
plant/flower
animal
"""


def test_perfect_sources_give_the_truth(mhpc: Mhpc) -> None:
    done = mhpc(*SIMULATE, "--sources", "2", "--vague", "1", "--noise", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "instance,source,label\n"
        "1,s1,monarda\n1,s2,monarda\n2,s1,bee\n2,s2,bee\n3,s1,\n3,s2,\n"
    )  # fmt: skip


def test_the_same_seed_gives_the_same_bytes(garden: Path, mhpc: Mhpc) -> None:
    first = mhpc(*SIMULATE, "--seed", "7", "--sources", "30")
    assert mhpc(*SIMULATE, "--seed", "7", "--sources", "30", "-o", "new.csv").stdout == ""
    assert (garden / "new.csv").read_bytes() == first.stdout.encode()
    assert mhpc(*SIMULATE, "--seed", "8", "--sources", "30").stdout != first.stdout


def test_options_named_as_in_the_paper_have_aliases(mhpc: Mhpc) -> None:
    paper = mhpc(*SIMULATE, "--vague", "0.9", "--noise", "0.6")
    assert mhpc(*SIMULATE, "--specificity", "0.9", "--accuracy", "0.6").stdout == paper.stdout


def test_coverage_reduces_the_number_of_answers(mhpc: Mhpc) -> None:
    done = mhpc(*SIMULATE, "--coverage", "0.5", "--sources", "100")
    answers = {tuple(line.split(",")[:2]) for line in done.stdout.splitlines()[1:]}
    assert 100 < len(answers) < 200


def test_an_arff_truth_contains_its_taxonomy(garden: Path, mhpc: Mhpc) -> None:
    (garden / "garden.arff").write_text(ARFF)
    done = mhpc("simulate", "garden.arff", "--sources", "1", "--vague", "1", "--noise", "1")
    assert done.stdout == "instance,source,label\n1,s1,plant/flower\n2,s1,animal\n"


def test_an_arff_truth_may_come_from_standard_input(garden: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mhpc", "simulate", "-", "--sources", "1", "--vague", "1"],
        input=ARFF, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 3


def test_a_table_cannot_be_its_own_taxonomy(mhpc: Mhpc) -> None:
    done = mhpc("simulate", "truth.csv")
    assert done.returncode == 2
    assert "--taxonomy FILE is missing" in done.stderr


def test_simulated_votes_can_be_piped_into_consolidate(garden: Path) -> None:
    python = [sys.executable, "-m", "mhpc"]
    simulate = [*python, *SIMULATE, "--vague", "1", "--noise", "1"]
    consolidate = [*python, "consolidate", "-", "--taxonomy", "taxonomy.csv", "-o", "OUT"]
    with subprocess.Popen(simulate, stdout=subprocess.PIPE) as votes:
        done = subprocess.run(consolidate, stdin=votes.stdout, capture_output=True, timeout=60)
    assert (votes.returncode, done.returncode) == (0, 0)
    labels = (garden / "OUT" / "labels.csv").read_text()
    assert "1,monarda," in labels
    assert "2,bee," in labels


@pytest.mark.parametrize("target", ["new.csv", "-"])
def test_simulated_votes_can_be_read(garden: Path, mhpc: Mhpc, target: str) -> None:
    done = mhpc(*SIMULATE, "-o", target)
    (garden / "-").write_text(done.stdout)
    votes = read_votes(garden / target)
    assert votes.sources.ids == ("s1", "s2", "s3", "s4")
    assert set(votes.instances) == {"1", "2", "3"}
