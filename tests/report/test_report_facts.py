"""The facts of a report, as its page takes them."""

import json
from pathlib import Path

import pytest

from mhpc.cli import main
from mhpc.report.page_data import command
from mhpc.run import page_data_of_run
from mhpc.settings import RunSettings

VOTES = """\
instance,source,label
1,ann,monarda
1,bob,fuchsia
1,cid,flower
2,ann,bee
2,bob,animal
3,ann,
3,bob,<script>
4,cid,<script>
"""
TAXONOMY = """\
label,parent
plant,
flower,plant
monarda,flower
fuchsia,flower
animal,
bee,animal
<script>,animal
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "votes.csv").write_text(VOTES)
    (tmp_path / "taxonomy.csv").write_text(TAXONOMY)
    (tmp_path / "truth.csv").write_text("instance,label\n1,monarda\n2,bee\n")
    names = {name: str(tmp_path / f"{name}.csv") for name in ("votes", "taxonomy", "truth")}
    with pytest.raises(SystemExit) as ended:
        main(
            ["consolidate", names["votes"], "--taxonomy", names["taxonomy"], "--truth",
             names["truth"], "-o", str(tmp_path / "out"), "--progress", "none"]
        )  # fmt: skip
    assert ended.value.code == 0
    return tmp_path / "out"


def test_the_facts_are_json_and_hold_together(folder: Path) -> None:
    found = json.loads(json.dumps(page_data_of_run(folder), allow_nan=False))
    assert found.keys() == {
        "format", "title", "overview", "taxonomy", "sources", "agreement", "conflicts",
        "confusions", "instances", "comparison", "trace", "scorecards", "settings", "command",
        "versions", "inputs", "shown",
    }  # fmt: skip
    assert found["title"] == "votes.csv"
    assert found["overview"].keys() == {
        "sentences", "counts", "decision", "method", "parameters", "converged", "notes", "seconds",
    }  # fmt: skip
    labels, sources = found["taxonomy"]["id"], [each["source"] for each in found["sources"]]
    assert sources == ["ann", "bob", "cid"]
    at = {label: k for k, label in enumerate(labels)}
    taxonomy = found["taxonomy"]
    assert taxonomy["parents"][at["monarda"]] == [at["flower"]]
    assert taxonomy["votes"][at["<script>"]] == 2
    assert taxonomy["said"][at["animal"]] == 3
    assert taxonomy["disputed"][at["flower"]] == 0
    assert taxonomy["disputed"][at["monarda"]] == 1
    assert {each["instance"] for each in found["conflicts"]} == {"1", "3"}
    case = next(each for each in found["conflicts"] if each["instance"] == "1")
    assert case["agreed"] == at["flower"]
    assert case["answers"][0] == {"source": 0, "said": [[at["monarda"], 1.0]]}
    label = next(each for each in case["labels"] if each["label"] == at["monarda"])
    assert label.keys() == {
        "label", "score", "specific", "chosen", "disputed", "own", "stances",
    }  # fmt: skip
    assert [each["stance"] for each in label["stances"]] == ["direct", "against", "vague"]
    other = next(each for each in found["conflicts"] if each["instance"] == "3")
    assert other["answers"][0]["said"] == []
    assert found["agreement"]["common"][0][1] == 3
    # On 1 and 3 they contradict each other, on 2 one of them is vague.
    assert found["agreement"]["share"][0][1] == pytest.approx(1 / 3, abs=1e-4)
    assert found["agreement"]["share"][2][2] == 1.0
    assert sorted(found["instances"]["id"]) == ["1", "2", "3", "4"]
    assert len(found["scorecards"]) == 2
    assert found["shown"] == {
        "instances": [4, 4], "conflicts": [2, 2], "sources": [3, 3],
        "labels": [7, 7], "note": None,
    }  # fmt: skip


def test_what_is_left_out_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mhpc.report.page_data.LISTED", 3)
    monkeypatch.setattr("mhpc.report.page_data.EXPLAINED", 1)
    monkeypatch.setattr("mhpc.report.page_data.SOURCES", 2)
    found = page_data_of_run(folder)
    assert found["shown"]["instances"] == [3, 4]
    assert found["shown"]["conflicts"] == [1, 2]
    assert found["agreement"]["sources"] == [0, 1]
    for words in ("3 of 4 instances are listed", "sample by the hash", "1 most contested of 2"):
        assert words in found["shown"]["note"]
    # The contested ones are listed first.
    assert set(found["instances"]["id"][:2]) == {"1", "3"}


def test_the_same_facts_come_of_a_run_on_workers(folder: Path) -> None:
    pytest.importorskip("distributed")
    votes, taxonomy = (folder.parent / f"{name}.csv" for name in ("votes", "taxonomy"))
    found = []
    for engine in ("local", "dask"):
        out = folder.parent / engine
        with pytest.raises(SystemExit) as ended:
            main(
                ["consolidate", str(votes), "--taxonomy", str(taxonomy), "--method", "majority",
                 "--engine", engine, "-o", str(out), "--progress", "none"]
            )  # fmt: skip
        assert ended.value.code == 0
        document = json.loads((out / "run.json").read_text())
        found.append((document["conflicts"], document["sources"]))
    assert found[0] == found[1]


def test_a_command_repeats_the_run() -> None:
    settings = RunSettings(
        votes="my votes.csv", taxonomy="t.csv", method="mhpc", parameters={"sigma": None},
        columns={"instance": "photo"}, top="all", seed=3,
    )  # fmt: skip
    assert command(settings.model_dump()) == (
        "mhpc consolidate 'my votes.csv' --taxonomy t.csv --method mhpc --set sigma=none --seed 3 "
        "--column instance=photo --top all -o OUT/"
    )
