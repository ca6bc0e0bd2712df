"""Consolidate votes that are in a dataframe: python examples/dataframe.py.

Three people label photographs with labels of a small taxonomy. One of them is vague, one confuses
siblings. The script prints the labels of every photograph, what a person should review, and how
reliable each source is.
"""

import pandas as pd

import mhpc

TAXONOMY = pd.DataFrame(
    {
        "label": ["plant", "flower", "monarda", "fuchsia", "animal", "bird", "goldfinch"],
        "parent": [None, "plant", "flower", "flower", None, "animal", "bird"],
    }
)

VOTES = pd.DataFrame(
    [
        ("photo 1", "ann", "monarda"),
        ("photo 1", "bob", "flower"),
        ("photo 1", "cid", "fuchsia"),
        ("photo 2", "ann", "goldfinch"),
        ("photo 2", "ann", "monarda"),
        ("photo 2", "bob", "bird"),
        ("photo 2", "cid", "goldfinch"),
        ("photo 3", "bob", "plant"),
        ("photo 3", "cid", "fuchsia"),
    ],
    columns=["instance", "source", "label"],
)


def main() -> None:
    """Print the results of the example."""
    votes, taxonomy = mhpc.read_votes(VOTES), mhpc.read_taxonomy(TAXONOMY)
    result = mhpc.consolidate(votes, taxonomy, method="majority")
    for instance, labels in result.labels.items():
        print(f"{instance}: {', '.join(labels) or 'no label'}")
    for case in mhpc.conflicts(result, top=3).instances:
        print(f"Review {case.instance}: sources disagree on {len(case.disputed)} of its labels")
    for source in result.sources:
        print(f"{source.source}: {source.wrong.value:.0%} of its labels were rejected")


if __name__ == "__main__":
    main()
