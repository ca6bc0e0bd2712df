"""Normal forms: labels that differ only in spelling are equal, others are not."""

import pytest

from mhpc.data.spelling import collect_spellings, normalize_label
from mhpc.data.taxonomy import build_taxonomy


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Bee Balm", "bee balm"),
        ("  bee \t\n balm ", "bee balm"),
        ("bee_balm", "bee-balm"),
        ("bee - balm", "bee balm"),
        ("A>B", "a > b"),
        ("A / B", "A|B"),
        ("A::B", "A » B"),
        ("A -> B", "a\\b"),
        ("/plant/flower/", "plant > flower"),
        ("don\u2019t know", "DON'T KNOW"),
        ("bee\u2013balm", "bee balm"),
        ("\ufb01nch", "finch"),
        ("Stra\u00dfe", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("\ufeffbee\u200b", "bee"),
        ("bee\u00a0balm", "bee balm"),
    ],
)
def test_labels_that_differ_only_in_spelling_have_one_normal_form(text: str, same: str) -> None:
    assert normalize_label(text) == normalize_label(same)


@pytest.mark.parametrize(
    ("text", "other"),
    [("-1", "1"), ("A-", "A"), ("x -1", "x 1"), (">5", "5"), ("beebalm", "bee balm"), ("é", "e")],
)
def test_marks_that_may_have_a_meaning_stay(text: str, other: str) -> None:
    assert normalize_label(text) != normalize_label(other)


@pytest.mark.parametrize("text", ["-", "?", "/", ">", "--"])
def test_a_label_of_marks_only_does_not_become_empty(text: str) -> None:
    assert normalize_label(text)


def test_spellings_of_several_labels_are_apart() -> None:
    spellings = collect_spellings([("a", "x"), ("b", "x"), ("c", "c"), ("x",)])
    assert spellings.unique == {"a": 0, "b": 1, "c": 2}
    assert spellings.shared == {"x": [0, 1, 3]}


def test_a_taxonomy_has_the_spellings_of_ids_names_paths_and_alternative_ids() -> None:
    taxonomy = build_taxonomy(
        ["P1", "F1"], [("F1", "P1")], names=["Plant", "Flower"], alternative_ids={"OLD_1": "F1"}
    )
    expected = {"p1": 0, "plant": 0, "f1": 1, "flower": 1, "plant>flower": 1, "old 1": 1}
    assert {normal: taxonomy.spellings.find_one(normal) for normal in expected} == expected
    assert taxonomy.spellings.find("flower>plant") == []
