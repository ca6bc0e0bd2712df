"""What a run decides by itself, it says: once in the terminal, in run.json and on the page."""

import json
from pathlib import Path

import pytest

import mhpc as package
from mhpc.report.sentences import describe_rule_sample
from tests.fixtures.commands import Mhpc

LONG = "instance,source,label\n"


@pytest.mark.parametrize(
    ("votes", "phrase"),
    [
        pytest.param(
            "image,id,worker,tag,category\na,1,ann,bee,monarda\na,1,bob,bee,flower\n",
            "column 'category' is read as the label; 'tag' would fit as well",
            id="several columns fit",
        ),
        pytest.param(
            "1,ann,bee\n1,bob,monarda\n2,ann,bee\n",
            "no header; the columns are read as instance, source, label",
            id="no header",
        ),
        pytest.param(
            "id,age,bee,monarda\n1,31,0.9,0.1\n2,62,0.2,-1\n",
            "1 cell with -1 (unsure) read as a score of 0.5",
            id="unsure cells",
        ),
        pytest.param(
            "id,age,bee,monarda\n1,31,0.9,0.1\n2,62,0.2,1\n",
            "read with one column per label, 'bee', 'monarda'; 'age' left out",
            id="columns left out",
        ),
        pytest.param(
            f"{LONG}1,ann,bee\n1,ann,bee\n2,bob,bee\n", "1 row repeated", id="repeated row"
        ),
        pytest.param(
            "instance,source,label,score\n1,ann,bee,80\n1,bob,bee,55\n",
            "scores are read as percentages, divided by 100",
            id="percentages",
        ),
        pytest.param(
            "instance,source,label,score\n1,ann,bee,0.8\n2,ann,bee,\n1,bob,bee,1\n",
            "counts as the mean score of the source",
            id="blank score",
        ),
        pytest.param(
            f"{LONG}{''.join(f'{n},ann,bee{chr(10)}' for n in range(40))}1,bob,wasp\n",
            "not in the taxonomy, left out: 'wasp'",
            id="unknown label",
        ),
        pytest.param(
            f"{LONG}1,ann,Bee\n1,bob,bee\n",
            "1 label matched although spelled differently",
            id="spelling",
        ),
        pytest.param(f"{LONG}1,ann,bee\n1,bob,idk\n", "'idk' as \"did not know\"", id="word"),
    ],
)
def test_how_the_votes_are_understood_is_said_once_everywhere(
    garden: Path, mhpc: Mhpc, votes: str, phrase: str
) -> None:
    (garden / "x.csv").write_text(votes)
    done = mhpc(
        "consolidate", "x.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "-o", "OUT",
        "--report",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(phrase) == 1, done.stderr
    document = json.loads((garden / "OUT" / "run.json").read_text())
    assert sum(phrase in note for note in document["input_notes"]) == 1
    overview = json.loads((garden / "OUT" / "report.json").read_text())["overview"]
    notes = [*overview["notes"], *overview["technical_notes"]]
    assert sum(phrase in note for note in notes) == 1


@pytest.mark.parametrize(
    "votes",
    [
        LONG + "1,ann,bee\n1,bob,monarda\n",
        "photo,worker,tag\n1,ann,bee\n1,bob,monarda\n",
        "instance,source,label,id,image,tag\n1,ann,bee,7,a.png,x\n1,bob,monarda,8,b.png,y\n",
        "photo,ann,bob\n1,bee,monarda\n2,bee,bee\n",
    ],
    ids=["plain", "other names", "further columns", "one column per source"],
)
def test_nothing_is_said_of_tables_that_leave_no_choice(
    garden: Path, mhpc: Mhpc, votes: str
) -> None:
    (garden / "x.csv").write_text(votes)
    done = mhpc("consolidate", "x.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "-o", "OUT")
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert json.loads((garden / "OUT" / "run.json").read_text())["input_notes"] == []


def test_a_taxonomy_made_from_the_labels_is_said(garden: Path, mhpc: Mhpc) -> None:
    done = mhpc("consolidate", "votes.csv", "--method", "sa", "-o", "OUT")
    assert "No taxonomy was given" in done.stderr
    notes = json.loads((garden / "OUT" / "run.json").read_text())["input_notes"]
    assert any("No taxonomy was given" in note for note in notes)


def test_scores_that_are_not_kept_are_said(garden: Path, mhpc: Mhpc) -> None:
    run = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "--force")
    assert "scores.parquet (the 2 highest)" in mhpc(*run, "-o", "OUT", "--top", "2").stderr
    assert "highest" not in mhpc(*run, "-o", "OUT").stderr


def test_no_disagreement_is_not_counted_as_zero(garden: Path, mhpc: Mhpc) -> None:
    (garden / "x.csv").write_text(
        "instance,source,label,score\n1,ann,bee,0.2\n2,bob,bee,0.9\n3,ann,bee,0.9\n"
    )
    run = ("consolidate", "x.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "-o", "OUT")
    done = mhpc(*run, "--threshold", "0.1")
    assert "Sources never contradict each other" in done.stdout
    assert "0 instances" not in done.stdout
    assert "0 instances" not in mhpc("conflicts", "OUT").stdout


def test_the_page_says_that_abstentions_are_not_listed(garden: Path, mhpc: Mhpc) -> None:
    (garden / "x.csv").write_text(f"{LONG}1,ann,bee\n1,bob,unknown\n1,cem,!bee\n")
    mhpc(
        "consolidate", "x.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "-o", "OUT",
        "--report", "--negative", "mark",
    )  # fmt: skip
    shown = json.loads((garden / "OUT" / "report.json").read_text())["shown"]
    assert "without 1 abstention and 1 negative vote" in shown["note"]


def test_samples_are_said() -> None:
    garden = package.load_garden()
    channel = package.consolidate(
        garden.votes, garden.taxonomy, method=package.Channel(landmarks=50)
    )
    (note,) = channel.consolidation.notes
    assert note == "neighbours were searched among a sample of 50 instances"
    for origin, notes in (("matched", 1), ("expected-f", 1), ("given", 0), ("method", 0)):
        assert len([*describe_rule_sample({"threshold_from": origin}, 11, sample=10)]) == notes
        assert not [*describe_rule_sample({"threshold_from": origin}, 10, sample=10)]
