from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mhpc.data import label_paths
from mhpc.data.index import UNKNOWN
from mhpc.data.spelling import STEP, collect_spellings, normalize_label
from mhpc.data.taxonomy import Taxonomy, build_taxonomy

NAMES = ("a", "b", "a > b", "é", "", "\udcff", "A")
"""Names that repeat, that look like paths, and that have bytes of their own."""


@st.composite
def named_taxonomies(draw: st.DrawFn) -> Taxonomy:
    K = draw(st.integers(1, 8))
    edges = [
        (f"k{label}", f"k{parent}")
        for label in range(1, K)
        for parent in draw(st.lists(st.integers(0, label - 1), max_size=2, unique=True))
    ]
    names = draw(st.lists(st.sampled_from(NAMES), min_size=K, max_size=K))
    return build_taxonomy([f"k{label}" for label in range(K)], edges, names=names)


def slow_paths(taxonomy: Taxonomy, names: list[str], separator: str) -> list[str]:
    """Return the path of every label as a text."""

    def path(label: int) -> str:
        parents = taxonomy.parents_of(label)
        above = path(int(parents[0])) + separator if len(parents) else ""
        return above + names[label]

    return [path(label) for label in range(len(taxonomy))]


@given(taxonomy=named_taxonomies())
def test_labels_are_found_by_the_names_and_paths_that_one_label_has(taxonomy: Taxonomy) -> None:
    paths = slow_paths(taxonomy, list(taxonomy.names), " > ")
    for text in {*taxonomy.names, *paths, "a > b > a", "b > a > b"}:
        fitting = [k for k in range(len(taxonomy)) if text in (taxonomy.names[k], paths[k])]
        expected = fitting[0] if len(fitting) == 1 else UNKNOWN
        assert taxonomy.locate([text]).tolist() == [expected]
    assert [taxonomy.path(label) for label in range(len(taxonomy))] == paths


@given(taxonomy=named_taxonomies())
def test_spellings_are_those_of_ids_names_and_paths(taxonomy: Taxonomy) -> None:
    names = list(map(normalize_label, taxonomy.names))
    paths = slow_paths(taxonomy, names, STEP)
    slow = collect_spellings(zip(taxonomy.labels, names, paths, strict=True))
    for normal in {*names, *paths, *taxonomy.labels, "a>b>a", "k1>a"}:
        assert taxonomy.spellings.find(normal) == slow.find(normal)
        assert taxonomy.spellings.find_above(f"{normal}>z") == slow.find_above(f"{normal}>z")


def test_paths_with_the_same_digest_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_paths, "_MODULUS", 1)
    taxonomy = build_taxonomy(["p", "a", "b"], [("a", "p"), ("b", "p")])
    assert taxonomy.locate(["p > a", "p > b", "p > c"]).tolist() == [1, 2, UNKNOWN]


def test_a_path_of_many_steps_is_compared_with_known_lengths_only() -> None:
    spellings = collect_spellings([("a",), ("b",)])
    assert spellings.find_above(STEP.join(["a"] * 200_000)) == 0


def test_deep_taxonomies_need_no_text_for_every_path() -> None:
    # 40,000 labels on 20,000 levels: their paths have 2.6 billion characters.
    depth = 20_000
    parent = np.r_[-1, np.arange(depth - 1), np.arange(depth)]
    label = partial("k{}".format)
    edges = [(label(k), label(p)) for k, p in enumerate(parent.tolist()) if p >= 0]
    taxonomy = build_taxonomy([label(k) for k in range(2 * depth)], edges)
    path = " > ".join(label(k) for k in range(depth))
    assert taxonomy.locate([path, f"{path} > k39999"]).tolist() == [depth - 1, 39_999]
    assert taxonomy.spellings.find(path.replace(" ", "")) == [depth - 1]
