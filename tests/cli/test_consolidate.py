import csv
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.fixtures.commands import Mhpc

CONSOLIDATE = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o")


def header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def scores(folder: Path) -> list[tuple[Any, ...]]:
    path = str(folder / "scores.parquet")
    return duckdb.execute("FROM read_parquet(?)", [path]).fetchall()


def document(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return content


def test_the_output_has_the_documented_files_and_columns(garden: Path, mhpc: Mhpc) -> None:
    done = mhpc(*CONSOLIDATE, "OUT", "--method", "majority")
    assert done.returncode == 0
    assert done.stderr.startswith("Written to OUT/: ")
    assert "mhpc report OUT" in done.stderr
    for count in ("2 sources", "5 answers", "3 instances", "6 labels", "3 levels"):
        assert count in done.stdout
    out = garden / "OUT"
    assert sorted(path.name for path in out.iterdir()) == [
        "items.csv", "labels.csv", "model.npz", "run.json", "scores.parquet", "sources.csv",
        "taxonomy.csv",
    ]  # fmt: skip
    described = duckdb.execute("DESCRIBE FROM read_parquet(?)", [f"{out}/scores.parquet"])
    assert [(row[0], row[1]) for row in described.fetchall()] == [
        ("instance", "VARCHAR"), ("label", "VARCHAR"), ("score", "DOUBLE"), ("specific", "DOUBLE"),
    ]  # fmt: skip
    assert header(out / "labels.csv") == ["instance", "label", "score"]
    assert (out / "items.csv").read_text().splitlines() == [
        "instance,labels,path,probability,review_priority,sources,agreement",
        "1,flower,plant > flower,1.0,0.111111111111,2,0.5",
        "2,animal,animal,1.0,0.2,2,0.5",
        "3,,,,0.0,1,1.0",
    ]
    assert header(out / "sources.csv") == [
        "source", "answers", "coverage", "mean_depth",
        "accurate", "accurate_low", "accurate_high", "vague", "vague_low", "vague_high",
        "wrong", "wrong_low", "wrong_high", "most_errors_under",
        "independence", "nearest_source", "dependence", "relation", "abstentions", "denials",
    ]  # fmt: skip
    assert header(out / "taxonomy.csv") == ["label", "parent", "name"]


def test_run_json_records_settings_inputs_and_metrics(garden: Path, mhpc: Mhpc) -> None:
    mhpc(*CONSOLIDATE, "OUT", "--method", "wa", "--set", "alpha=0.1", "--truth", "truth.csv")
    run_json = document(garden / "OUT")
    assert run_json["settings"]["votes"] == str(garden / "votes.csv")
    assert (run_json["method"], run_json["parameters"]["alpha"]) == ("wa", 0.1)
    assert run_json["inputs"]["truth"]["bytes"] == (garden / "truth.csv").stat().st_size
    assert {"python", "mhpc", "numpy", "scipy", "duckdb"} <= run_json["versions"].keys()
    assert {"reading", "encoding", "consolidating"} <= run_json["seconds"].keys()
    assert [card["view"] for card in run_json["scorecards"]] == ["closed", "specific"]


def test_an_instance_without_labels_is_in_the_scores(garden: Path, mhpc: Mhpc) -> None:
    mhpc(*CONSOLIDATE, "OUT", "--method", "sa")
    assert {row[0] for row in scores(garden / "OUT")} == {"1", "2", "3"}
    assert [row for row in scores(garden / "OUT") if row[0] == "3"] == [("3", "plant", 0.0, 0.0)]
    assert "3," not in (garden / "OUT" / "labels.csv").read_text()


def test_votes_that_are_all_none_of_these_are_consolidated(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text("instance,source,label\n1,ann,\n2,bob,\n")
    assert mhpc(*CONSOLIDATE, "OUT").returncode == 0
    assert {row[2] for row in scores(garden / "OUT")} == {0.0}


def test_top_limits_the_labels_of_an_instance(garden: Path, mhpc: Mhpc) -> None:
    averaging = ("--method", "sa", "--set", "votes=augmented", "--threshold", "0.9")
    mhpc(*CONSOLIDATE, "two", "--top", "2", *averaging)
    mhpc(*CONSOLIDATE, "all", "--top", "all", *averaging)
    assert [row[:3] for row in scores(garden / "two")] == [
        ("1", "plant", 1.0), ("1", "flower", 1.0),
        ("2", "animal", 1.0), ("2", "bee", 0.5),
        ("3", "plant", 0.0),
    ]  # fmt: skip
    assert [row[:3] for row in scores(garden / "all")] == [
        ("1", "plant", 1.0), ("1", "flower", 1.0), ("1", "monarda", 0.5),
        ("2", "animal", 1.0), ("2", "bee", 0.5),
        ("3", "plant", 0.0),
    ]  # fmt: skip


def test_chosen_labels_have_their_score_whatever_top_says(garden: Path, mhpc: Mhpc) -> None:
    averaging = ("--method", "sa", "--set", "votes=augmented", "--threshold", "0.5")
    mhpc(*CONSOLIDATE, "OUT", "--top", "1", *averaging)
    assert [row[:3] for row in scores(garden / "OUT")] == [
        ("1", "plant", 1.0), ("1", "flower", 1.0), ("1", "monarda", 0.5),
        ("2", "animal", 1.0), ("2", "bee", 0.5),
        ("3", "plant", 0.0),
    ]  # fmt: skip
    exported = mhpc("convert", "OUT", "-", "--to", "cafa").stdout.splitlines()
    assert exported == [
        "1\tplant\t1", "1\tflower\t1", "1\tmonarda\t0.5", "2\tanimal\t1", "2\tbee\t0.5",
    ]  # fmt: skip


def test_a_run_can_be_repeated_from_anywhere(
    garden: Path, mhpc: Mhpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    mhpc(
        *CONSOLIDATE,
        "OUT",
        "--method",
        "mhpc",
        "--set",
        "lam=3",
        "--set",
        "graph=none",
        "--top",
        "4",
        "--scope",
        "used",
    )
    (garden / "elsewhere").mkdir()
    monkeypatch.chdir(garden / "elsewhere")
    done = mhpc("consolidate", "--config", "../OUT/run.json", "-o", "OUT2")
    assert done.returncode == 0
    repeated = garden / "elsewhere" / "OUT2"
    assert scores(repeated) == scores(garden / "OUT")
    assert document(repeated)["settings"] == document(garden / "OUT")["settings"]
    assert (repeated / "labels.csv").read_bytes() == (garden / "OUT" / "labels.csv").read_bytes()


def test_options_take_precedence_over_settings_from_toml(garden: Path, mhpc: Mhpc) -> None:
    (garden / "settings.toml").write_text(
        "votes = 'votes.csv'\ntaxonomy = 'taxonomy.csv'\nmethod = 'mhpc'\ntop = 3\n"
        "parameters = {lam = 2, sigma = 0.5}\n"
    )
    mhpc("consolidate", "--config", "settings.toml", "-o", "OUT", "--top", "2", "--set", "lam=7")
    settings = document(garden / "OUT")["settings"]
    assert settings["votes"] == str(garden / "votes.csv")
    assert (settings["method"], settings["top"]) == ("mhpc", 2)
    # One parameter on the command line leaves the others of the file as they are.
    parameters = document(garden / "OUT")["parameters"]
    assert (parameters["lam"], parameters["sigma"]) == (7.0, 0.5)


def test_columns_can_be_named(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text("photo,who,label,seen\n1,ann,wrong,bee\n")
    done = mhpc(
        *CONSOLIDATE, "OUT",
        "--column", "instance=photo", "--column", "source=who", "--column", "label=seen",
    )  # fmt: skip
    assert done.returncode == 0
    scored = {row[:2] for row in scores(garden / "OUT") if row[2] > 0}
    assert scored == {("1", "bee"), ("1", "animal")}


def test_a_label_outside_the_scope_of_a_source_is_not_rejected_by_it(
    garden: Path, mhpc: Mhpc
) -> None:
    (garden / "scope.csv").write_text("source,label\nbob,flower\nbob,animal\n")
    mhpc(*CONSOLIDATE, "all", "--method", "sa")
    mhpc(*CONSOLIDATE, "scoped", "--method", "sa", "--scope", "scope.csv")
    # Bob did not give monarda: a "no" if it is in his scope, no answer otherwise.
    assert ("1", "monarda", 0.5, 0.5) in scores(garden / "all")
    assert ("1", "monarda", 1.0, 1.0) in scores(garden / "scoped")


def test_a_threshold_decides_which_labels_are_chosen(garden: Path, mhpc: Mhpc) -> None:
    mhpc(*CONSOLIDATE, "OUT", "--method", "sa", "--set", "votes=augmented", "--threshold", "0.75")
    labels = (garden / "OUT" / "labels.csv").read_text().splitlines()
    assert labels == ["instance,label,score", "1,plant,1.0", "1,flower,1.0", "2,animal,1.0"]


def test_json_is_all_that_is_on_standard_output(garden: Path, mhpc: Mhpc) -> None:
    done = mhpc(*CONSOLIDATE, "OUT", "--truth", "truth.csv", "--json")
    run_json = json.loads(done.stdout)
    assert run_json["counts"] == {
        "instances": 3, "sources": 2, "answers": 5, "labels": 6, "levels": 3,
    }  # fmt: skip
    assert [source["source"] for source in run_json["sources"]] == ["ann", "bob"]
    assert done.stderr.startswith("Written to OUT/: ")


def test_votes_come_from_standard_input(
    garden: Path, mhpc: Mhpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    mhpc(*CONSOLIDATE, "file")
    stdin = io.TextIOWrapper(io.BytesIO((garden / "votes.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    done = mhpc("consolidate", "-", "--taxonomy", "taxonomy.csv", "-o", "pipe")
    assert done.returncode == 0
    assert scores(garden / "pipe") == scores(garden / "file")


def test_the_format_of_the_votes_does_not_matter(garden: Path, mhpc: Mhpc) -> None:
    duckdb.execute(
        f"COPY (SELECT * FROM read_csv('{garden}/votes.csv', header=true)) "
        f"TO '{garden}/votes.parquet'"
    )
    mhpc(*CONSOLIDATE, "csv")
    mhpc("consolidate", "votes.parquet", "--taxonomy", "taxonomy.csv", "-o", "parquet")
    assert scores(garden / "parquet") == scores(garden / "csv")


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_an_old_output_survives_a_failing_run(
    garden: Path, mhpc: Mhpc, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    mhpc(*CONSOLIDATE, "OUT")
    before = {path.name: path.read_bytes() for path in (garden / "OUT").iterdir()}
    entries = sorted(garden.iterdir())

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("mhpc.engines.local.labels_stream", fail)
    done = mhpc(*CONSOLIDATE, "OUT", "--method", "sa", "--force")
    assert done.returncode in (1, 130)
    assert {path.name: path.read_bytes() for path in (garden / "OUT").iterdir()} == before
    assert sorted(garden.iterdir()) == entries


def test_an_output_may_be_deep_and_end_with_a_slash(garden: Path, mhpc: Mhpc) -> None:
    done = mhpc(*CONSOLIDATE, f"a{os.sep}b{os.sep}")
    assert done.stderr.startswith("Written to a/b/: ")
    assert (garden / "a" / "b" / "run.json").exists()


def test_gold_instances_keep_their_labels(garden: Path, mhpc: Mhpc) -> None:
    (garden / "gold.csv").write_text("instance,label\n1,bee\n")
    done = mhpc(*CONSOLIDATE, "OUT", "--gold", "gold.csv")
    assert done.returncode == 0
    with (garden / "OUT" / "labels.csv").open() as file:
        labels = [line.split(",")[1] for line in file if line.startswith("1,")]
    assert labels == ["animal", "bee"]
    assert document(garden / "OUT")["inputs"]["gold"]["bytes"] > 0
    sources = (garden / "OUT" / "sources.csv").read_text()
    assert "gold" not in sources


def test_run_json_has_the_combined_methods(garden: Path, mhpc: Mhpc) -> None:
    done = mhpc(*CONSOLIDATE, "OUT")
    combination = document(garden / "OUT")["combination"]
    assert {"dawid-skene"} <= set(combination["members"])
    assert all(name in done.stdout for name in combination["members"])
    assert combination["answers_per_instance"] >= combination["effective_sources"] > 0
    assert combination["gold"] is None
    mhpc(*CONSOLIDATE, "SA", "--method", "sa")
    assert document(garden / "SA")["combination"] is None


def test_gold_labels_are_not_counted_as_a_source(garden: Path, mhpc: Mhpc) -> None:
    mhpc(*CONSOLIDATE, "OUT")
    (garden / "gold.csv").write_text("instance,label\n1,bee\n")
    mhpc(*CONSOLIDATE, "GOLD", "--gold", "gold.csv")
    assert document(garden / "GOLD")["counts"] == document(garden / "OUT")["counts"]


def test_gold_of_an_unknown_instance_is_refused(garden: Path, mhpc: Mhpc) -> None:
    (garden / "gold.csv").write_text("instance,label\n1,bee\n9,bee\n")
    done = mhpc(*CONSOLIDATE, "OUT", "--gold", "gold.csv")
    assert done.returncode == 1
    assert "gold.csv: instance '9' has no votes" in done.stderr
    assert not (garden / "OUT").exists()


def test_the_seed_reaches_the_method(garden: Path, mhpc: Mhpc) -> None:
    mhpc(*CONSOLIDATE, "OUT", "--seed", "7")
    run_json = document(garden / "OUT")
    assert (run_json["settings"]["seed"], run_json["parameters"]["seed"]) == (7, 7)
    done = mhpc(*CONSOLIDATE, "OUT2", "--seed", "-1")
    assert done.returncode == 2
    assert "seed = '-1' is not allowed; give" in done.stderr


def test_the_rule_and_the_depth_bias_are_used_and_recorded(garden: Path, mhpc: Mhpc) -> None:
    settings = ("--rule", "top-paths", "--paths", "1", "--depth-bias", "-3", "--method", "sa")
    assert mhpc(*CONSOLIDATE, "OUT", *settings, "--set", "votes=augmented").returncode == 0
    written = document(garden / "OUT")
    assert {key: written["settings"][key] for key in ("rule", "paths", "depth_bias")} == {
        "rule": "top-paths", "paths": 1, "depth_bias": -3.0,
    }  # fmt: skip
    decision = written["decision"]
    assert (decision["rule"], decision["paths"], decision["depth_bias"]) == ("top-paths", 1, -3.0)
    rows = (garden / "OUT" / "labels.csv").read_text().splitlines()[1:]
    assert [row.split(",")[:2] for row in rows] == [["1", "plant"], ["2", "animal"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rule", "expected-f", "--threshold", "0.5"), "--threshold cannot be given with --rule"),
        (("--rule", "min-probability", "--paths", "2"), "the rules that have it: top-paths"),
        (("--paths", "2"), "--paths cannot be given without --rule"),
        (("--threshold", "0.5", "--paths", "2"), "--paths cannot be given with --rule threshold"),
        (
            ("--rule", "min-probability", "--threshold", "5"),
            "min-probability: threshold = 5.0 is not allowed",
        ),
        (("--rule", "deepest"), "no rule 'deepest'"),
        (("--depth-bias", "100"), "depth_bias = 100.0 is not allowed"),
    ],
)
def test_options_that_the_rule_does_not_have_are_refused_before_reading(
    garden: Path, mhpc: Mhpc, options: tuple[str, ...], message: str
) -> None:
    (garden / "votes.csv").unlink()
    done = mhpc(*CONSOLIDATE, "OUT", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (garden / "OUT").exists()


def test_words_for_abstaining_come_from_options_or_the_settings_file(
    garden: Path, mhpc: Mhpc
) -> None:
    (garden / "votes.csv").write_text("instance,source,label\n1,ann,bee\n1,bob,dunno\n1,cat,hm\n")
    (garden / "settings.toml").write_text('abstain = ["dunno", "hm"]\n')
    command = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT")
    assert mhpc(*command).returncode == 1
    done = mhpc(*command, "--config", "settings.toml")
    assert done.returncode == 0
    run = json.loads((garden / "OUT" / "run.json").read_text())
    assert (run["settings"]["abstain"], run["counts"]["answers"]) == (["dunno", "hm"], 1)
    options = ("--abstain", "dunno", "--abstain", "hm", "--force")
    assert mhpc(*command, *options).returncode == 0
    (garden / "settings.toml").write_text('abstain = "dunno"\n')
    done = mhpc(*command, "--config", "settings.toml", "--force")
    assert done.returncode == 2
    assert "abstain = 'dunno' is not allowed; give list" in done.stderr


def test_what_was_said_about_the_input_is_kept_without_folders(garden: Path, mhpc: Mhpc) -> None:
    rows = "".join(f"{n},ann,Bee\n" for n in range(1, 40))
    (garden / "votes.csv").write_text(f"instance,source,label\n{rows}40,bob,invented\n")
    done = mhpc(
        "consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT", "--report",
        "--method", "sa",
    )  # fmt: skip
    assert done.returncode == 0
    notes = json.loads((garden / "OUT" / "run.json").read_text())["input_notes"]
    assert [note for note in notes if "'invented'" in note and note.startswith("votes.csv: ")]
    assert [note for note in notes if "'Bee' as 'bee'" in note]
    assert done.stderr.count("'invented'") == 1
    page = json.loads((garden / "OUT" / "report.json").read_text())
    assert set(notes) <= set(page["overview"]["notes"])
