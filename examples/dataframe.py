"""Consolidate votes held in a dataframe, with columns named your way: python examples/dataframe.py.

Twelve people of very different skill labelled 295 photographs with species, families and kingdoms
(the bundled example). The script prints

- the answers to one photograph, and the label set that follows from all votes;
- how good the label sets are, beside a plain majority vote: a truth exists here, no method saw it;
- the sources from the most to the least reliable, estimated without the truth.
"""

import pandas as pd

import mhpc
from mhpc.datasets.garden import garden_folder

PHOTO = "photo-073"


def main() -> None:
    """Print the three tables."""
    votes = pd.read_csv(garden_folder() / "votes.csv")
    votes = votes.rename(columns={"instance": "photo", "source": "person", "label": "species"})
    taxonomy = pd.read_csv(garden_folder() / "taxonomy.csv")
    truth = pd.read_csv(garden_folder() / "truth.csv")

    columns = {"instance": "photo", "source": "person", "label": "species"}
    table = mhpc.read_votes(votes, columns=columns)  # not needed with the usual column names
    result = mhpc.consolidate(table, taxonomy)
    majority = mhpc.consolidate(table, taxonomy, method="majority")

    print(votes[votes["photo"] == PHOTO].to_string(index=False))
    print(f"\n{PHOTO}: {', '.join(result.labels[PHOTO])}\n")

    measures = pd.DataFrame({"mhpc": measure(result, truth), "majority": measure(majority, truth)})
    print(measures.round(3).to_string(), end="\n\n")

    print(profile(result).round(2).to_string(index=False))


def measure(result: mhpc.Result, truth: pd.DataFrame) -> dict[str, float]:
    """Return the quality of the label sets, ancestors included."""
    scorecard = mhpc.evaluate(result, truth)
    metrics = ("hierarchical_precision", "hierarchical_recall", "hierarchical_f")
    return {metric: scorecard[metric] for metric in metrics}


def profile(result: mhpc.Result) -> pd.DataFrame:
    """Return one row per source, the most reliable first."""
    rows = [
        {
            "person": source.source,
            "answers": source.answers,
            "accurate": source.accurate.value,
            "vague": source.vague.value,
            "wrong": source.wrong.value,
        }
        for source in result.sources
    ]
    return pd.DataFrame(rows).sort_values("wrong")


if __name__ == "__main__":
    main()
