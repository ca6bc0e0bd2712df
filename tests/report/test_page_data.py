"""The data that the report page shows."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mhpc.cli import main
from mhpc.report.page_data import PageLimits, format_command, make_page_data
from mhpc.result import page_data
from mhpc.run import load_run, page_data_of_run
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


def test_the_data_are_json_and_consistent(folder: Path) -> None:
    page = json.loads(json.dumps(page_data_of_run(folder), allow_nan=False))
    assert page.keys() == {
        "format", "title", "overview", "taxonomy", "sources", "agreement", "conflicts",
        "confusions", "instances", "combination", "trace", "scorecards", "settings", "command",
        "versions", "inputs", "shown", "run", "review", "accuracy", "predictions", "contributions",
        "findings", "exclusive",
    }  # fmt: skip
    assert page["title"] == "votes.csv"
    assert page["overview"].keys() == {
        "sentences", "counts", "decision", "method", "parameters", "converged", "notes",
        "technical_notes", "seconds",
    }  # fmt: skip
    assert page["combination"].keys() == {
        "members", "single_label_share", "one_truth_weight", "effective_sources",
        "answers_per_instance", "scope", "gold", "left_out",
    }  # fmt: skip
    labels, sources = page["taxonomy"]["id"], [row["source"] for row in page["sources"]]
    assert sources == ["ann", "bob", "cid"]
    position = {label: k for k, label in enumerate(labels)}
    taxonomy = page["taxonomy"]
    assert taxonomy["parents"][position["monarda"]] == [position["flower"]]
    assert taxonomy["votes"][position["<script>"]] == 2
    assert taxonomy["supported"][position["animal"]] == 3
    assert taxonomy["disputed"][position["flower"]] == 0
    assert taxonomy["disputed"][position["monarda"]] == 1
    assert {row["instance"] for row in page["conflicts"]} == {"1", "3"}
    flowers = next(row for row in page["conflicts"] if row["instance"] == "1")
    assert flowers["agreed"] == position["flower"]
    assert flowers["answers"][0] == {"source": 0, "labels": [[position["monarda"], 1.0]]}
    label = next(row for row in flowers["labels"] if row["label"] == position["monarda"])
    assert label.keys() == {
        "label", "score", "specific", "chosen", "disputed", "vote_share", "stances",
    }  # fmt: skip
    assert [row["stance"] for row in label["stances"]] == ["direct", "against", "vague"]
    unlabelled = next(row for row in page["conflicts"] if row["instance"] == "3")
    assert unlabelled["answers"][0]["labels"] == []
    assert page["agreement"]["common"][0][1] == 3
    # They contradict each other on 1 and 3; on 2, one of them is vague.
    assert page["agreement"]["share"][0][1] == pytest.approx(1 / 3, abs=1e-4)
    assert page["agreement"]["share"][2][2] == 1.0
    assert sorted(page["instances"]["id"]) == ["1", "2", "3", "4"]
    assert len(page["scorecards"]) == 2
    assert page["shown"] == {
        "instances": [4, 4], "conflicts": [2, 2], "sources": [3, 3],
        "labels": [7, 7], "note": None,
    }  # fmt: skip


def test_limits_select_what_to_review_first_and_are_noted(folder: Path) -> None:
    result = load_run(folder)
    limits = PageLimits(instances=3, explained=1, sources=2)
    assert result.document is not None
    page = make_page_data(
        result.panel, result.consolidation, result.decision, result.sources, result.document,
        limits=limits,
    )  # fmt: skip
    assert page["shown"]["instances"] == [3, 4]
    assert page["shown"]["conflicts"] == [1, 2]
    assert page["agreement"]["sources"] == [0, 1]
    for numbers in ("3 of 4 instances", "1 of 2 instances to review", "2 sources"):
        assert numbers in page["shown"]["note"]
    gain = page["instances"]["gain"]
    assert gain == sorted(gain, reverse=True)


@pytest.mark.parametrize(("labels", "explained"), [(0, 1), (4, 1), (100, 2)])
def test_instances_with_too_many_labels_to_explain_are_left_out_but_the_first(
    labels: int, explained: int, folder: Path
) -> None:
    result = load_run(folder)
    assert result.document is not None
    page = make_page_data(
        result.panel, result.consolidation, result.decision, result.sources, result.document,
        limits=PageLimits(labels=labels),
    )  # fmt: skip
    assert page["shown"]["conflicts"] == [explained, 2]
    assert len(page["conflicts"]) == explained


def test_a_run_on_dask_workers_has_the_same_facts(folder: Path) -> None:
    pytest.importorskip("distributed")
    votes, taxonomy = (folder.parent / f"{name}.csv" for name in ("votes", "taxonomy"))
    runs = []
    for engine in ("local", "dask"):
        out = folder.parent / engine
        with pytest.raises(SystemExit) as ended:
            main(
                ["consolidate", str(votes), "--taxonomy", str(taxonomy), "--method", "majority",
                 "--engine", engine, "-o", str(out), "--progress", "none"]
            )  # fmt: skip
        assert ended.value.code == 0
        document = json.loads((out / "run.json").read_text())
        runs.append((document["conflicts"], document["sources"]))
    assert runs[0] == runs[1]


def test_no_folder_of_the_sender_is_on_the_page(folder: Path) -> None:
    document = json.loads((folder / "run.json").read_text())
    assert document["settings"]["votes"] == str(folder.parent / "votes.csv")
    document["settings"] |= {"update": str(folder), "gold": "../elsewhere/gold.csv"}
    document["notes"] = [f"Updates {folder} without its votes"]
    document["input_notes"] = [f"{folder.parent}/votes.csv: 2 rows left out"]
    page = page_data(replace(load_run(folder), document=document))
    text = json.dumps(page)
    assert str(folder.parent) not in text
    assert "elsewhere" not in text
    assert page["settings"]["votes"] == "votes.csv"
    assert "mhpc consolidate votes.csv --taxonomy taxonomy.csv" in page["command"]
    assert page["overview"]["notes"] == [
        "Updates out without its votes", "votes.csv: 2 rows left out",
    ]  # fmt: skip


def test_technical_notes_are_apart_from_those_to_act_on(folder: Path) -> None:
    document = json.loads((folder / "run.json").read_text())
    document |= {"notes": ["a", "b"], "input_notes": ["c", "d"], "technical_notes": ["b", "c"]}
    overview = page_data(replace(load_run(folder), document=document))["overview"]
    assert (overview["notes"], overview["technical_notes"]) == (["a", "d"], ["b", "c"])


def test_the_command_repeats_the_run_without_defaults() -> None:
    settings = RunSettings(
        votes="my votes.csv", taxonomy="t.csv", method="mhpc", parameters={"sigma": None},
        columns={"instance": "photo"}, top="all", seed=3, abstain=("dunno", "no idea"),
    )  # fmt: skip
    assert format_command(settings.model_dump()) == (
        "mhpc consolidate 'my votes.csv' --taxonomy t.csv --method mhpc --set sigma=none --seed 3 "
        "--column instance=photo --abstain dunno --abstain 'no idea' --top all -o OUT/"
    )


def test_what_is_no_answer_is_not_among_the_answers_of_the_page(tmp_path: Path) -> None:
    rows = [f"{row},{'' if number else 'negative'}" for number, row in enumerate(VOTES.split())]
    (tmp_path / "votes.csv").write_text("\n".join([*rows, "1,dee,flower,true", "3,dee,bee,"]))
    (tmp_path / "taxonomy.csv").write_text(TAXONOMY)
    with pytest.raises(SystemExit) as ended:
        main(
            ["consolidate", str(tmp_path / "votes.csv"), "--taxonomy",
             str(tmp_path / "taxonomy.csv"), "-o", str(tmp_path / "out"), "--progress", "none"]
        )  # fmt: skip
    assert ended.value.code == 0
    page = page_data_of_run(tmp_path / "out")
    (first,) = (entry for entry in page["conflicts"] if entry["instance"] == "1")
    assert len(first["answers"]) == 3
