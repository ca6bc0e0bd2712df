import json
from pathlib import Path

import numpy as np
import pytest

from mhpc.model import read_model
from tests.fixtures.commands import Mhpc


@pytest.fixture
def out(mhpc: Mhpc, garden: Path) -> Path:
    with (garden / "votes.csv").open("a") as file:
        file.write("1,cid,fuchsia\n3,bob,[bold]\n")
    with (garden / "taxonomy.csv").open("a") as file:
        file.write("[bold],animal\n")
    run = mhpc("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "out")
    assert run.returncode == 0, run.stderr
    return garden / "out"


def test_an_explanation_is_shown_as_text(mhpc: Mhpc, out: Path) -> None:
    text = mhpc("explain", "out", "1").stdout
    assert "1: all answers agree on flower" in text
    assert "ann" in text
    assert "1 gives it" in text
    assert "1 gives only an ancestor" in text
    assert "1 contradicts it" in text
    assert "[bold]" in mhpc("explain", "out", "3").stdout


def test_an_explanation_of_one_label_is_printed_as_json(mhpc: Mhpc, out: Path) -> None:
    explanation = json.loads(mhpc("explain", "out", "1", "monarda", "--json").stdout)
    (label,) = explanation["labels"]
    assert {stance["source"]: stance["stance"] for stance in label["stances"]} == {
        "ann": "direct", "bob": "vague", "cid": "against",
    }  # fmt: skip
    assert all(stance["effect"] is not None for stance in label["stances"])


def test_unknown_ids_are_refused_with_the_nearest_ones(mhpc: Mhpc, out: Path) -> None:
    run = mhpc("explain", "out", "11")
    assert (run.returncode, "instance '11' has no votes" in run.stderr) == (1, True)
    assert "nearest: 'monarda'" in mhpc("explain", "out", "1", "monardo").stderr
    assert "is not the output of a run" in mhpc("explain", "nowhere", "1").stderr


def test_missing_and_changed_votes_are_refused(mhpc: Mhpc, out: Path, garden: Path) -> None:
    (garden / "votes.csv").rename(garden / "moved.csv")
    run = mhpc("explain", "out", "1")
    assert run.returncode == 1
    assert "is not there any more; say where it is with --votes FILE" in run.stderr
    assert mhpc("explain", "out", "1", "--votes", "moved.csv").returncode == 0
    (garden / "votes.csv").write_text((garden / "moved.csv").read_text() + "2,cid,bee\n")
    run = mhpc("explain", "out", "1")
    assert run.returncode == 1
    assert "has changed since" in run.stderr


def test_a_run_without_any_label_is_explained(mhpc: Mhpc, garden: Path) -> None:
    mhpc(
        "consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "out", "--method", "sa",
        "--threshold", "5",
    )  # fmt: skip
    explanation = json.loads(mhpc("explain", "out", "1", "flower", "--json").stdout)
    assert explanation["labels"][0]["chosen"] is False


def test_a_replaced_run_is_explained_by_its_own_model(mhpc: Mhpc, garden: Path) -> None:
    # In one process, as in a notebook, where a cached model could be used by mistake.
    words = ("votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT", "--method", "dawid-skene")
    assert mhpc("consolidate", *words).returncode == 0
    assert mhpc("explain", "OUT", "1").returncode == 0
    votes = "instance,source,label\n" + "".join(
        f"{number},{source},bee\n" for number in range(9) for source in ("cid", "dan", "eve")
    )
    (garden / "votes.csv").write_text(votes)
    assert mhpc("consolidate", *words, "--force").returncode == 0
    explained = mhpc("explain", "OUT", "1")
    assert explained.returncode == 0
    assert "3 give it" in explained.stdout


def test_sources_that_deny_a_label_are_shown(mhpc: Mhpc, garden: Path) -> None:
    rows = (garden / "votes.csv").read_text().splitlines()
    rows = [f"{row},{'negative' if number == 0 else ''}" for number, row in enumerate(rows)]
    rows += ["1,cid,flower,true", "2,cid,bee,false"]
    (garden / "votes.csv").write_text("\n".join(rows) + "\n")
    votes = ("votes.csv", "--taxonomy", "taxonomy.csv")
    assert "1 negative vote" in mhpc("inspect", *votes).stdout
    assert mhpc("consolidate", *votes, "--method", "majority", "-o", "first").returncode == 0
    text = mhpc("explain", "first", "1").stdout
    assert "not flower" in text
    assert "1 contradicts it" in text
    sources = (garden / "first" / "sources.csv").read_text().splitlines()
    assert [row.rsplit(",", 2)[1:] for row in sources] == [
        ["abstentions", "denials"], ["0", "0"], ["0", "0"], ["0", "1"],
    ]  # fmt: skip
    # What the votes counted for is part of the model.
    assert mhpc("consolidate", "votes.csv", "--apply", "first", "-o", "second").returncode == 0
    for file in ("labels.csv", "scores.parquet", "model.npz"):
        content = [(garden / folder / file).read_bytes() for folder in ("first", "second")]
        assert content[0] == content[1]


def test_a_run_without_abstentions_and_negative_votes_in_its_files_is_read(
    mhpc: Mhpc, out: Path
) -> None:
    document = json.loads((out / "run.json").read_text())
    for source in document["sources"]:
        del source["abstentions"], source["denials"]
    (out / "run.json").write_text(json.dumps(document))
    with np.load(out / "model.npz") as saved:
        arrays = dict(saved)
    description = json.loads(arrays["description"].tobytes())
    del description["value"]["fields"]["denial_weights"]
    arrays["description"] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    np.savez(out / "model.npz", **arrays)
    assert read_model(out).denial_weights is None
    assert mhpc("explain", "out", "1").returncode == 0
