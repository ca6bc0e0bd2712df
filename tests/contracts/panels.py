"""Panels at the ends of what can be: every method has to give an answer to them."""

from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from mhpc.core.taxonomy import Taxonomy, build_taxonomy
from tests.build import DAG, GARDEN, Row

Case = tuple[list[Row], Taxonomy]

LABELS = ("a", "b", "c", "d", "e")

ONE = build_taxonomy(["a"], [])

ALL_ABOVE = build_taxonomy(
    [f"k{i}" for i in range(9)], [(f"k{i}", f"k{j}") for i in range(1, 9) for j in range(i)]
)
"""Every label lies below all that come before it, each of which is its parent."""

CHAIN = build_taxonomy([f"c{i}" for i in range(200)], [(f"c{i + 1}", f"c{i}") for i in range(199)])


def siblings(number: int) -> Taxonomy:
    """Return so many labels below one."""
    labels = [f"k{i}" for i in range(number)]
    return build_taxonomy(["root", *labels], [(label, "root") for label in labels])


def said_by_all(labels: str, *, sources: int = 3, score: float = 1.0) -> list[Row]:
    """Return an instance for every label, on which all sources agree."""
    return [(f"x{i}", f"s{s}", k, score) for i, k in enumerate(labels) for s in range(sources)]


def drawn(
    *, instances: int = 10, sources: int = 4, seed: int = 0, scores: bool = True
) -> list[Row]:
    """Return answers at random, none of two instances or labels alike by more than chance."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for i in range(instances):
        for s in range(sources):
            if s and rng.random() < 0.3:
                continue
            said = [k for k in LABELS if rng.random() < 0.4]
            rows += [(f"x{i}", f"s{s}", k, float(rng.random()) if scores else 1.0) for k in said]
            rows += [] if said else [(f"x{i}", f"s{s}", None)]
    return rows


def _chain() -> Case:
    return [(f"x{i}", f"s{s}", f"c{25 * i + 7 * s}") for i in range(8) for s in range(3)], CHAIN


def _many_parents() -> Case:
    rows: list[Row] = [
        (f"x{i}", f"s{s}", f"k{(3 * i + s * s) % 9}") for i in range(6) for s in range(4)
    ]
    return rows, ALL_ABOVE


def _wide_range() -> Case:
    rng = np.random.default_rng(1)
    tiny = [1.0, 0.5, 1e-12, 1e-160, 1e-308, 1e-320, 5e-324]
    return [(row[0], row[1], row[2], float(rng.choice(tiny))) for row in drawn(seed=1)], DAG


EXTREMES: Mapping[str, Callable[[], Case]] = {
    "one vote": lambda: ([("x", "s", "e")], DAG),
    "one source": lambda: ([row for row in drawn() if row[1] == "s0"], DAG),
    "one instance": lambda: ([("x", s, k) for s, k in zip("stu", "dea", strict=True)], DAG),
    "one label": lambda: (
        [("x", "s", "a"), ("x", "t", None), ("y", "s", "a"), ("y", "u", "a")],
        ONE,
    ),
    "twenty copies of a source": lambda: (said_by_all("deca", sources=20), DAG),
    "no overlap": lambda: ([(f"x{i}", f"s{i % 3}", k) for i, k in enumerate("abcdeabcde")], DAG),
    "a source an instance": lambda: (
        [(f"x{i}", f"s{i}", k) for i, k in enumerate("abcdeabcde")],
        DAG,
    ),
    "nothing said": lambda: ([("x", "s", None), ("y", "s", None), ("y", "t", None)], DAG),
    "all unanimous": lambda: (said_by_all("dddd"), DAG),
    "one against all": lambda: (
        [*said_by_all("dddddd", sources=4), *((f"x{i}", "z", "e") for i in range(6))],
        DAG,
    ),
    "ties": lambda: (
        [("x", "s", "oak"), ("x", "t", "finch"), ("y", "s", "finch"), ("y", "t", "oak")],
        GARDEN,
    ),
    "everything said": lambda: (
        [(f"x{i}", f"s{s}", k) for i in range(4) for s in range(3) for k in LABELS],
        DAG,
    ),
    "scores of zero": lambda: (said_by_all("abcde", score=0.0), DAG),
    "denormal scores": lambda: (said_by_all("abcde", score=1e-320), DAG),
    "scores from 1 to the least": _wide_range,
    "a chain of 200 levels": _chain,
    "many parents": _many_parents,
}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Return any answers on any hierarchy of up to six labels, "none of these" among them."""
    K = draw(st.integers(1, 6))
    edges = [
        (f"k{label}", f"k{above}")
        for label in range(1, K)
        for above in draw(st.lists(st.integers(0, label - 1), max_size=2, unique=True))
    ]
    labels = draw(st.permutations([f"k{label}" for label in range(K)]))
    score = st.one_of(
        st.just(1.0), st.sampled_from([0.0, 0.5, 1e-9, 1e-300, 5e-324]), st.floats(0, 1)
    )
    answer = st.dictionaries(st.sampled_from(labels), score, max_size=3)
    pair = st.tuples(st.sampled_from("uvwxyz"), st.sampled_from("rst"))
    answers = draw(st.dictionaries(pair, answer, min_size=1, max_size=14))
    rows: list[Row] = []
    for (instance, source), said in answers.items():
        rows += [(instance, source, label, value) for label, value in said.items()]
        rows += [] if said else [(instance, source, None)]
    return rows, build_taxonomy(labels, edges)
