import pytest

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import TaxonomyError
from mhpc.read.paths import taxonomy_from_paths


def parents(taxonomy: Taxonomy) -> dict[str, list[str]]:
    return {
        label: [taxonomy.labels[p] for p in taxonomy.parents_of(k)]
        for k, label in enumerate(taxonomy)
    }


@pytest.mark.parametrize("separator", [" > ", "/", "|", ";", "::", ">", "."])
def test_the_separator_is_detected_and_prefixes_are_added(separator: str) -> None:
    taxonomy = taxonomy_from_paths([separator.join("abc"), separator.join("ad")])
    ab, ad, abc = separator.join("ab"), separator.join("ad"), separator.join("abc")
    assert parents(taxonomy) == {"a": [], ab: ["a"], abc: [ab], ad: ["a"]}


def test_the_separator_of_most_labels_wins() -> None:
    taxonomy = taxonomy_from_paths(["20/01", "20/01.5", "30/02"])
    assert parents(taxonomy) == {
        "20": [], "20/01": ["20"], "20/01.5": ["20"], "30": [], "30/02": ["30"],
    }  # fmt: skip


def test_a_separator_can_be_given() -> None:
    assert parents(taxonomy_from_paths(["a/b.c", "a/b.d"], separator=".")) == {
        "a/b": [], "a/b.c": ["a/b"], "a/b.d": ["a/b"],
    }  # fmt: skip


def test_labels_without_a_separator_are_roots() -> None:
    assert parents(taxonomy_from_paths(["bee", "wasp"])) == {"bee": [], "wasp": []}


def test_names_are_given_or_last_steps_or_codes() -> None:
    taxonomy = taxonomy_from_paths(["plant > flower"])
    assert taxonomy.names == ("plant", "flower")
    taxonomy = taxonomy_from_paths(["20/01"], names={"20/01": "metabolism"})
    assert dict(zip(taxonomy.labels, taxonomy.names, strict=True)) == {
        "20": "20", "20/01": "metabolism",
    }  # fmt: skip


def test_an_empty_step_is_refused() -> None:
    with pytest.raises(TaxonomyError, match="paths.csv: path 'a//b' has an empty step"):
        taxonomy_from_paths(["a//b", "a/c"], origin="paths.csv")
