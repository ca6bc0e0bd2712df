"""``mhpc consolidate --apply``: new votes scored by the model of an earlier run."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest

import mhpc as package
from mhpc.datasets.garden import load_garden
from mhpc.methods.registry import METHODS
from mhpc.rules.registry import RULES
from mhpc.write.tables import write_votes
from tests.fixtures.commands import Mhpc


@pytest.fixture
def votes(garden: Path) -> Path:
    """The photographs of the bundled example, with its taxonomy beside them."""
    data = load_garden()
    profiles = [package.Profile(specificity=0.8, accuracy=accuracy) for accuracy in (0.9, 0.7, 0.6)]
    write_votes(garden / "all.csv", package.simulate(data.truth, data.taxonomy, profiles, seed=3))
    labels = data.taxonomy.labels
    rows = [
        f"{labels[k]},{labels[p]}" for k in range(len(labels)) for p in data.taxonomy.parents_of(k)
    ]
    roots = [f"{labels[k]}," for k in data.taxonomy.roots]
    (garden / "tree.csv").write_text("\n".join(["label,parent", *rows, *roots]) + "\n")
    return garden


def scores(folder: Path) -> dict[tuple[str, str], tuple[float, float]]:
    rows = duckdb.execute("FROM read_parquet(?)", [f"{folder}/scores.parquet"]).fetchall()
    return {(instance, label): (score, specific) for instance, label, score, specific in rows}


def label_sets(folder: Path) -> dict[str, set[str]]:
    sets: dict[str, set[str]] = {}
    for line in (folder / "labels.csv").read_text().splitlines()[1:]:
        instance, label, _ = line.split(",")
        sets.setdefault(instance, set()).add(label)
    return sets


@pytest.mark.parametrize("method", METHODS)
def test_the_same_votes_get_the_same_scores_and_label_sets(
    votes: Path, mhpc: Mhpc, method: str
) -> None:
    inputs = ("all.csv", "--taxonomy", "tree.csv", "--method", method)
    done = mhpc("consolidate", *inputs, "--top", "all", "-o", "first")
    assert done.returncode == 0, done.stderr
    done = mhpc("consolidate", "all.csv", "--apply", "first", "--top", "all", "-o", "second")
    assert done.returncode == 0, done.stderr
    first, second = scores(votes / "first"), scores(votes / "second")
    cells = {**first, **second}
    before, after = (np.array([run.get(cell, (0, 0)) for cell in cells]) for run in (first, second))
    np.testing.assert_allclose(after, before, atol=1e-6)
    labels = [label_sets(votes / run) for run in ("first", "second")]
    assert labels[0] == labels[1]
    assert len(labels[0]) > 10
    sources = [(votes / run / "sources.csv").read_text() for run in ("first", "second")]
    assert sources[0] == sources[1]


def test_new_instances_get_about_the_scores_of_a_joint_run(votes: Path, mhpc: Mhpc) -> None:
    lines = (votes / "all.csv").read_text().splitlines()
    instances = sorted({line.split(",")[0] for line in lines[1:]})
    late = set(instances[:5])
    for name, is_late in (("old", False), ("new", True)):
        rows = [line for line in lines[1:] if (line.split(",")[0] in late) == is_late]
        (votes / f"{name}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    method = ("--method", "cross-source", "--top", "all")
    mhpc("consolidate", "old.csv", "--taxonomy", "tree.csv", *method, "-o", "old")
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", *method, "-o", "all")
    done = mhpc("consolidate", "new.csv", "--apply", "old", "--top", "all", "-o", "new")
    assert done.returncode == 0, done.stderr
    joint, applied = scores(votes / "all"), scores(votes / "new")
    assert {instance for instance, _ in applied} == late
    differences = [abs(applied[key][0] - joint[key][0]) for key in applied if key in joint]
    assert np.mean(differences) < 0.05
    document = json.loads((votes / "new" / "run.json").read_text())
    assert document["method"] == "cross-source"
    assert document["settings"]["apply"].endswith("old")


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_of_the_earlier_run_decides(votes: Path, mhpc: Mhpc, rule: str) -> None:
    options = ("--method", "channel", "--rule", rule, "--depth-bias", "0.5")
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", *options, "-o", "first")
    lines = (votes / "all.csv").read_text().splitlines()
    (votes / "part.csv").write_text("\n".join(lines[:40]) + "\n")
    done = mhpc("consolidate", "part.csv", "--apply", "first", "-o", "second")
    assert done.returncode == 0, done.stderr
    before, after = (
        json.loads((votes / run / "run.json").read_text())["decision"]
        for run in ("first", "second")
    )
    counts = ("labels_per_instance", "instances_without_label")
    assert {key: after[key] for key in after if key not in counts} == {
        key: before[key] for key in before if key not in counts
    }
    assert after["rule"] == rule


def test_an_unknown_source_is_named(votes: Path, mhpc: Mhpc) -> None:
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", "--method", "sa", "-o", "first")
    (votes / "new.csv").write_text("instance,source,label\nx,unknown,plant\n")
    done = mhpc("consolidate", "new.csv", "--apply", "first", "-o", "second")
    assert done.returncode == 1
    assert "source 'unknown' has no answers in the earlier run" in done.stderr
    assert not (votes / "second").exists()


@pytest.mark.parametrize(
    "option",
    [
        ("--method", "sa"),
        ("--taxonomy", "tree.csv"),
        ("--set", "lam=1"),
        ("--threshold", "0.5"),
        ("--rule", "min-probability"),
        ("--depth-bias", "1"),
    ],
)
def test_options_of_the_earlier_run_cannot_be_given_again(
    votes: Path, mhpc: Mhpc, option: tuple[str, str]
) -> None:
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", "--method", "sa", "-o", "first")
    done = mhpc("consolidate", "all.csv", "--apply", "first", *option, "-o", "second")
    assert done.returncode == 2
    assert f"{option[0]} cannot be given with --apply" in done.stderr


def test_a_folder_without_a_model_is_refused(votes: Path, mhpc: Mhpc) -> None:
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", "--method", "sa", "-o", "first")
    (votes / "first" / "model.npz").unlink()
    done = mhpc("consolidate", "all.csv", "--apply", "first", "-o", "second")
    assert done.returncode == 1
    assert "holds no model.npz" in done.stderr


@pytest.fixture
def with_a_new_source(votes: Path, mhpc: Mhpc) -> Path:
    """The run "first", and new.csv, in which somebody new answers with and without others."""
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", "-o", "first")
    header, *rows = (votes / "all.csv").read_text().splitlines()[:40]
    shared = rows[0].split(",")[0]
    new = [f"{shared},dee,monarda", "alone,dee,monarda"]
    (votes / "known.csv").write_text("\n".join([header, *rows]) + "\n")
    (votes / "new.csv").write_text("\n".join([header, *rows, *new]) + "\n")
    return votes


def test_the_error_on_new_sources_names_the_option(with_a_new_source: Path, mhpc: Mhpc) -> None:
    done = mhpc("consolidate", "new.csv", "--apply", "first", "-o", "second")
    assert done.returncode == 1
    assert "'dee'" in done.stderr
    assert "--new-sources" in done.stderr


def test_new_sources_that_are_ignored_change_nothing(with_a_new_source: Path, mhpc: Mhpc) -> None:
    mhpc("consolidate", "known.csv", "--apply", "first", "-o", "known")
    options = ("--apply", "first", "--new-sources", "ignore")
    done = mhpc("consolidate", "new.csv", *options, "-o", "second")
    assert done.returncode == 0, done.stderr
    folders = [with_a_new_source / name for name in ("known", "second")]
    assert label_sets(folders[0]) == label_sets(folders[1])
    document = json.loads((folders[1] / "run.json").read_text())
    assert any("left out" in note and "'dee'" in note for note in document["notes"])
    assert document["decision"]["instances_without_label"] >= 1
    assert mhpc("conflicts", "second").returncode == 0


def test_new_sources_count_as_average_ones(with_a_new_source: Path, mhpc: Mhpc) -> None:
    options = ("--apply", "first", "--new-sources", "prior")
    done = mhpc("consolidate", "new.csv", *options, "-o", "second")
    assert done.returncode == 0, done.stderr
    assert label_sets(with_a_new_source / "second")["alone"] >= {"plant", "flower"}
    document = json.loads((with_a_new_source / "second" / "run.json").read_text())
    assert any("average" in note and "'dee'" in note for note in document["notes"])
    assert "dee" in [source["source"] for source in document["sources"]]
    assert mhpc("explain", "second", "alone").returncode == 0
    # The model that this run wrote knows the source.
    done = mhpc("consolidate", "new.csv", "--apply", "second", "-o", "third")
    assert done.returncode == 0, done.stderr
    assert label_sets(with_a_new_source / "second") == label_sets(with_a_new_source / "third")


def test_a_run_says_that_it_applied_an_earlier_one_and_its_rule(votes: Path, mhpc: Mhpc) -> None:
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", "--method", "sa", "-o", "first")
    done = mhpc("consolidate", "all.csv", "--apply", "first", "-o", "second")
    assert "its rule" in " ".join(done.stdout.split())
    notes = json.loads((votes / "second" / "run.json").read_text())["notes"]
    assert any("its rule" in note for note in notes)


def test_an_applied_run_can_be_repeated_from_its_run_json(votes: Path, mhpc: Mhpc) -> None:
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", "--method", "sa", "-o", "first")
    mhpc("consolidate", "all.csv", "--apply", "first", "-o", "second")
    done = mhpc("consolidate", "--config", "second/run.json", "-o", "third")
    assert done.returncode == 0, done.stderr
    assert label_sets(votes / "second") == label_sets(votes / "third")


def test_gold_of_the_earlier_run_is_no_source_of_the_new_one(votes: Path, mhpc: Mhpc) -> None:
    rows = (votes / "all.csv").read_text().splitlines()[1:]
    instances = sorted({row.split(",")[0] for row in rows})[:8]
    (votes / "gold.csv").write_text(
        "instance,label\n" + "".join(f"{instance},monarda\n" for instance in instances)
    )
    options = ("--taxonomy", "tree.csv", "--gold", "gold.csv")
    mhpc("consolidate", "all.csv", *options, "-o", "first")
    (votes / "new.csv").write_text(
        "instance,source,label\nx,dee,red oak\n" + "\n".join(rows) + "\n"
    )
    options = ("--apply", "first", "--new-sources", "prior")
    done = mhpc("consolidate", "new.csv", *options, "-o", "second")
    assert done.returncode == 0, done.stderr
    known, names = (
        [line.split(",")[0] for line in (votes / run / "sources.csv").read_text().splitlines()]
        for run in ("first", "second")
    )
    assert names == [*known, "dee"]


def test_new_labels_are_added_to_the_taxonomy_of_the_earlier_run(votes: Path, mhpc: Mhpc) -> None:
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", "-o", "first")
    header, *rows = (votes / "all.csv").read_text().splitlines()
    sources = sorted({row.split(",")[1] for row in rows})
    new = [f"stone,{source},granite" for source in sources]
    (votes / "new.csv").write_text("\n".join([header, *rows[:30], *new]) + "\n")
    options = ("--apply", "first", "--unknown", "graft")
    done = mhpc("consolidate", "new.csv", *options, "-o", "second")
    assert done.returncode == 0, done.stderr
    assert label_sets(votes / "second")["stone"] == {"granite"}
    # A second new label comes on another day.
    (votes / "later.csv").write_text(
        f"{header}\nsoil,{sources[0]},clay\nrock,{sources[0]},granite\n"
    )
    done = mhpc(
        "consolidate", "later.csv", "--apply", "second", "--unknown", "graft", "-o", "third"
    )
    assert done.returncode == 0, done.stderr
    assert label_sets(votes / "third") == {"soil": {"clay"}, "rock": {"granite"}}
