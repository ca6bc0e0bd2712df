"""The most similar of many texts, by the trigrams of their characters."""

import re
from collections.abc import Sequence

import numpy as np

from mhpc.data.index import UNKNOWN
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import concatenate_ranges, incidence, row_blocks, row_indices

MIN_SIMILARITY = 0.5
"""Similarity below which a label is not taken for another.

One typo in a word of six letters or more leaves at least half of the trigrams as they are, and so
do a plural, an article, and a remark in parentheses that is not much longer than the word. At 0.5,
93 % of 300 names of places with one random typo were matched to their own name and 2 % to another
one; at 0.4 it was 95 % and 5 %, at 0.6 88 % and 1 %. Weights by inverse document frequency
recovered fewer of them (84 %).
"""

_BLOCK_CELLS = 1 << 24
"""Pairs of texts that are compared at a time."""

_TOLERANCE = 1e-9
"""Difference below which two similarities are equal."""

_NOT_WORDS = re.compile(r"[\W_]+")
_NOT_DIGITS = re.compile(r"\D+")
_NEGATIONS = re.compile(r"^!|\b(?:no|non|not|never|without)\b")


def find_most_similar(
    queries: Sequence[str],
    texts: Sequence[str],
    group: IntArray,
    *,
    min_similarity: float = MIN_SIMILARITY,
    block_cells: int = _BLOCK_CELLS,
) -> tuple[IntArray, FloatArray]:
    """Return the group of the text that is most similar to each query.

    The similarity of two texts is the cosine of their counts of trigrams, with two blanks before
    and after the text. Texts with different digits are not similar at all, nor is a negated one to
    one that is not: ``type 1`` is not a misspelled ``type 2``, and ``not bee`` is not a bee.

    Parameters
    ----------
    queries : sequence of str, (Q,)
        What is looked for, in normal form.
    texts : sequence of str, (T,)
        Where it is looked for, in normal form.
    group : int array, (T,)
        What each text stands for; several texts may stand for the same.
    min_similarity : float
        The least similarity that counts.
    block_cells : int
        Pairs of texts that are compared at a time.

    Returns
    -------
    group : int array, (Q,)
        `UNKNOWN` where no text is similar, or where texts of several groups are equally similar.
    similarity : float array, (Q,)
        The highest similarity, 0 where it is below the least one.

    Examples
    --------
    >>> find_most_similar(["robbin", "oak 2"], ["robin", "oak 1"], np.array([7, 8]))[0].tolist()
    [7, -1]
    """
    words = [_NOT_WORDS.sub(" ", text).strip() for text in (*queries, *texts)]
    profiles = _profile_trigrams(words)
    facts = [
        f"{_NOT_DIGITS.sub('', text)}{'!' if _NEGATIONS.search(text) else ''}"
        for text in (*queries, *texts)
    ]
    fact = np.unique(facts, return_inverse=True)[1]
    n = len(queries)
    found, similarity = np.full(n, UNKNOWN), np.zeros(n)
    transposed = profiles[n:].T.tocsr()
    for rows in row_blocks(n, len(texts), block_cells):
        product = (profiles[rows] @ transposed).tocsr()
        row, text = row_indices(product), product.indices
        near = product.data >= min_similarity - _TOLERANCE
        near &= fact[rows][row] == fact[n:][text]
        found[rows], similarity[rows] = _choose_best(
            row[near], group[text[near]], product.data[near], product.shape[0]
        )
    return found, similarity


def _profile_trigrams(words: Sequence[str]) -> Sparse:
    """Return the counts of trigrams of every text as a row of length 1."""
    padded = [f"  {word}  " for word in words]
    letters = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    letters = letters.astype(np.int64)
    sizes = np.array([len(text) for text in padded])
    row, first = concatenate_ranges(np.cumsum(sizes) - sizes, sizes - 2)
    # A character has 21 bits.
    trigram = (letters[first] << 42) | (letters[first + 1] << 21) | letters[first + 2]
    distinct, column = np.unique(trigram, return_inverse=True)
    counts = incidence(row, column, shape=(len(words), len(distinct)))
    length = np.sqrt(counts.multiply(counts).sum(axis=1))
    counts.data /= length[row_indices(counts)]
    return counts


def _choose_best(
    row: IntArray, group: IntArray, similarity: FloatArray, n_rows: int
) -> tuple[IntArray, FloatArray]:
    """Return the group with the highest similarity in each row, and that similarity."""
    best = np.zeros(n_rows)
    np.maximum.at(best, row, similarity)
    is_best = similarity >= best[row] - _TOLERANCE
    lowest, highest = np.full(n_rows, np.iinfo(np.int64).max), np.full(n_rows, UNKNOWN)
    np.minimum.at(lowest, row[is_best], group[is_best])
    np.maximum.at(highest, row[is_best], group[is_best])
    return np.where(lowest == highest, highest, UNKNOWN), best
