"""The most similar text by trigrams."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mhpc.encoding.similarity import find_most_similar


def cosine(text: str, other: str) -> float:
    """The similarity of two texts, written out."""
    first, second = (
        Counter(padded[i : i + 3] for i in range(len(padded) - 2))
        for padded in (f"  {text}  ", f"  {other}  ")
    )
    product = sum(count * second[trigram] for trigram, count in first.items())
    return product / math.sqrt(
        sum(n * n for n in first.values()) * sum(n * n for n in second.values())
    )


def nearest(query: str, *texts: str, **limits: float) -> str | None:
    group, _ = find_most_similar([query], texts, np.arange(len(texts)), **limits)  # type: ignore[arg-type]
    return None if group[0] < 0 else texts[group[0]]


WORDS = ("monarda", "fuchsia", "bee", "oak", "robin", "lesser spotted woodpecker")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("monrada", "monarda"),
        ("fucshia", "fuchsia"),
        ("robbin", "robin"),
        ("bees", "bee"),
        ("oaks", "oak"),
        ("monarda (bee balm)", "monarda"),
        ("the lesser spoted woodpecker", "lesser spotted woodpecker"),
    ],
)
def test_typos_plurals_and_remarks_are_near(query: str, text: str) -> None:
    assert nearest(query, *WORDS) == text


@pytest.mark.parametrize("query", ["bea", "wasp", "greater woodlouse", "", "?", "a very long oak"])
def test_other_words_are_not_near(query: str) -> None:
    assert nearest(query, *WORDS) is None


def test_texts_with_other_digits_are_never_near() -> None:
    assert nearest("diabetes type 1", "diabetes type 2") is None
    assert nearest("diabetis type 2", "diabetes type 1", "diabetes type 2") == "diabetes type 2"


@pytest.mark.parametrize("query", ["!monarda", "not monarda", "no monarda"])
def test_a_negated_text_is_not_near_to_what_it_negates(query: str) -> None:
    assert nearest(query, "monarda") is None


def test_equally_similar_texts_are_near_only_if_they_stand_for_the_same() -> None:
    group, similarity = find_most_similar(["pariss"], ["paris", "paris"], np.array([3, 4]))
    assert (group.tolist(), similarity[0] > 0.5) == ([-1], True)
    assert find_most_similar(["pariss"], ["paris", "paris"], np.array([3, 3]))[0].tolist() == [3]


words = st.lists(st.text("abé", min_size=1, max_size=6), min_size=1, max_size=8)


@given(words, words, st.sampled_from([1, 7, 1 << 24]))
def test_similarities_agree_with_counting_by_hand(
    queries: list[str], texts: list[str], block: int
) -> None:
    groups, similarity = find_most_similar(queries, texts, np.arange(len(texts)), block_cells=block)
    for row, query in enumerate(queries):
        each = [cosine(query, text) for text in texts]
        best = max(each)
        if best < 0.5 - 1e-9:
            assert (groups[row], similarity[row]) == (-1, 0)
            continue
        assert similarity[row] == pytest.approx(best)
        ties = [text for text, value in enumerate(each) if value > best - 1e-9]
        assert groups[row] == (ties[0] if len(ties) == 1 else -1)
