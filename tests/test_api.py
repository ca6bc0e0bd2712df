"""The verbs of the package take whatever is a table, and rules and methods by name."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import mhpc
from mhpc.errors import ParameterError
from tests.fixtures.build import GARDEN

VOTES = {
    "1": {"ann": "oak", "bob": ["tree", "finch"], "cid": "oak"},
    "2": {"ann": "finch", "bob": "bird", "cid": "oak"},
}
TRUTH = {"1": "oak", "2": ["finch"]}


def forms_of_votes(folder: Path) -> dict[str, Any]:
    """Return the same votes in every form."""
    votes = mhpc.read_votes(VOTES)
    mhpc.write_votes(folder / "votes.csv", votes)
    frame = pd.read_csv(folder / "votes.csv", dtype=str)
    return {
        "mapping": VOTES,
        "tuples": list(frame.itertuples(index=False, name=None)),
        "rows": frame.to_dict("records"),
        "columns": frame.to_dict("list"),
        "frame": frame,
        "path": folder / "votes.csv",
        "text": str(folder / "votes.csv"),
        "votes": votes,
    }


def forms_of_taxonomy(folder: Path) -> dict[str, Any]:
    """Return the same taxonomy in every form."""
    mhpc.write_taxonomy(folder / "taxonomy.csv", GARDEN)
    frame = pd.read_csv(folder / "taxonomy.csv", dtype=str)
    edges = frame[["label", "parent"]].astype(object).where(frame["parent"].notna(), None)
    edges["label"] = frame["label"]
    pairs = list(edges.itertuples(index=False, name=None))
    return {
        "parents": dict(pairs),
        "pairs": pairs,
        "children": {
            "plant": {"flower": ["monarda", "fuchsia"], "tree": ["oak"]},
            "animal": {"bird": ["finch"]},
        },
        "frame": frame,
        "columns": frame.to_dict("list"),
        "path": folder / "taxonomy.csv",
        "taxonomy": GARDEN,
    }


def test_every_form_of_votes_and_taxonomies_gives_the_same_result(tmp_path: Path) -> None:
    expected = {"1": ["plant", "tree", "oak"], "2": ["animal", "bird"]}
    taxonomies = forms_of_taxonomy(tmp_path)
    for name, votes in forms_of_votes(tmp_path).items():
        assert mhpc.consolidate(votes, GARDEN, method="majority").labels == expected, name
        assert mhpc.inspect(votes, GARDEN).votes == 7, name
    for name, taxonomy in taxonomies.items():
        labels = mhpc.consolidate(VOTES, taxonomy, method="majority").labels
        assert {instance: set(chosen) for instance, chosen in labels.items()} == {
            instance: set(chosen) for instance, chosen in expected.items()
        }, name


@pytest.mark.parametrize(
    "truth",
    [
        TRUTH,
        list(TRUTH.items()),
        {"instance": [1, 2], "label": ["oak", "finch"]},
        pd.DataFrame({"task": [1, 2], "label": ["oak", "finch"]}),
        mhpc.read_truth(TRUTH),
    ],
)
def test_every_form_of_a_truth_is_known_labels(truth: Any) -> None:
    result = mhpc.consolidate(VOTES, GARDEN, method="majority")
    card = mhpc.evaluate(result, truth)
    assert (card.instances, card["micro_precision"], card["micro_recall"]) == (2, 1.0, 5 / 6)
    gold = mhpc.consolidate(VOTES, GARDEN, method="majority", gold=truth)
    assert gold.labels["2"] == ["animal", "bird", "finch"]
    compared = mhpc.compare(VOTES, GARDEN, "majority", truth=truth, jobs=1)
    assert compared[0].scorecards[0].instances == 2
    simulated = mhpc.simulate(truth, GARDEN, [mhpc.Profile(specificity=1, accuracy=1)])
    assert mhpc.consolidate(simulated, GARDEN).labels["1"] == ["plant", "tree", "oak"]


def test_a_rule_may_be_given_by_name() -> None:
    named = mhpc.consolidate(VOTES, GARDEN, method="majority", rule="top-paths")
    assert named.decision.rule == "top-paths"
    one = mhpc.consolidate(VOTES, GARDEN, method="majority", rule="one-path")
    assert (
        one.labels == mhpc.consolidate(VOTES, GARDEN, method="majority", rule=mhpc.OnePath()).labels
    )
    with pytest.raises(ParameterError, match="no rule 'one-pth'.*nearest: 'one-path'"):
        mhpc.consolidate(VOTES, GARDEN, rule="one-pth")


def test_methods_to_compare_may_be_named_made_or_mapped() -> None:
    methods: list[Any] = ["majority", mhpc.SA(votes="augmented")]
    assert [each.name for each in mhpc.compare(VOTES, GARDEN, methods, jobs=1)] == [
        "majority",
        "sa",
    ]
    mapped = {"one": mhpc.SA(), "two": mhpc.SA(votes="augmented")}
    assert [each.name for each in mhpc.compare(VOTES, GARDEN, mapped, jobs=1)] == ["one", "two"]
    with pytest.raises(ParameterError, match="'sa' is given twice; give a mapping"):
        mhpc.compare(VOTES, GARDEN, ["sa", mhpc.SA()], jobs=1)


def test_errors_speak_of_arguments() -> None:
    with pytest.raises(mhpc.MhpcError, match="unknown='drop'"):
        mhpc.consolidate([("1", "ann", "daisy")], GARDEN)


def test_from_two_frames_to_a_picture_and_ten_instances_in_five_lines() -> None:
    garden = mhpc.load_garden()
    votes = pd.DataFrame(
        {
            "photo": [garden.votes.instances[i] for i in garden.votes.instance],
            "person": [garden.votes.sources[s] for s in garden.votes.source],
            "label": [garden.votes.labels[k] if k >= 0 else None for k in garden.votes.label],
        }
    ).rename(columns={"photo": "item", "person": "annotator"})
    taxonomy = pd.DataFrame(
        {"label": list(garden.taxonomy.labels), "parent": [
            next((garden.taxonomy.labels[p] for p in garden.taxonomy.parents_of(k)), None)
            for k in range(len(garden.taxonomy))
        ]}
    )  # fmt: skip
    result = mhpc.consolidate(votes, taxonomy, method="majority")
    axes = result.sources.plot()
    assert len(axes.get_yticklabels()) == 12
    plt.close("all")
    assert mhpc.conflicts(result)._repr_html_().count("photo-") == 10
