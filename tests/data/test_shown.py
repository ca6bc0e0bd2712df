"""What print and notebooks show: short tables in which ids are text and never markup."""

import sys
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import mhpc
from mhpc.data.profiles import Proportion, SourceProfile, SourceProfiles
from mhpc.errors import MissingExtraError
from mhpc.system.display import MAX_ROWS

HOSTILE = "<script>alert(1)</script>\x1b[2J$x_1$"
"""An id that a page would run, a terminal obey and matplotlib set as a formula."""


@pytest.fixture(scope="module")
def result() -> mhpc.Result:
    """Twelve sources that contradict each other about fifteen instances."""
    votes = [
        (f"{HOSTILE}{i}", f"{HOSTILE}{s}", HOSTILE if s < 8 else ["other", "third"][i % 2])
        for i in range(15)
        for s in range(12)
        if (i + s) % 5
    ]
    return mhpc.consolidate(votes, {HOSTILE: None, "other": None, "third": None}, method="majority")


@pytest.fixture(autouse=True)
def _no_open_figures() -> Iterator[None]:
    mpl.use("Agg")
    yield
    plt.close("all")


def everything(result: mhpc.Result) -> list[Any]:
    instance = result.panel.instances[1]
    truth = {instance: HOSTILE}
    assert result.votes is not None
    unknown = mhpc.read_votes([(HOSTILE, "ann", f"{HOSTILE}!"), (HOSTILE, "bob", "other")])
    return [
        result,
        result.sources,
        mhpc.conflicts(result),
        mhpc.explain(result, instance),
        mhpc.inspect(unknown, result.panel.taxonomy),
        mhpc.compare(result.votes, result.panel.taxonomy, ["majority", "sa"], jobs=1),
        mhpc.compare(result.votes, result.panel.taxonomy, ["sa"], truth=truth, jobs=1),
        mhpc.evaluate(result, truth),
    ]


def test_ids_are_inert_and_tables_short_wherever_they_are_shown(result: mhpc.Result) -> None:
    for shown in everything(result):
        html, text = shown._repr_html_(), str(shown)
        assert "<script" not in html, shown
        assert html.count("<tr>") <= 2 * (MAX_ROWS + 1), shown
        assert html.count("<table>") == html.count("</table>"), shown
        assert "\x1b" not in text, shown
        assert len(text.splitlines()) <= 2 * (MAX_ROWS + 4), shown
        assert len(repr(shown).splitlines()) == 1


def test_a_result_is_printed_in_about_ten_lines(result: mhpc.Result) -> None:
    lines = str(result).splitlines()
    assert 6 <= len(lines) <= 12
    assert lines[0].startswith("12 sources gave 144 answers about 15 instances")
    for words in ("majority", "labels per instance", "disagree on 15", "Most reliable", "Next:"):
        assert any(words in line for line in lines), words
    assert repr(result) == "Result(majority: 15 labels of 15 instances, 12 sources)"


def test_a_result_without_disputes_has_nothing_to_review() -> None:
    alone = mhpc.consolidate([("1", "ann", "a")], ["a", "b"], method="majority")
    assert "never contradict" in str(alone)
    assert str(mhpc.conflicts(alone)) == "Sources never contradict each other"
    assert "<table>" not in mhpc.conflicts(alone)._repr_html_()


def test_sources_are_listed_by_answers_and_counted(result: mhpc.Result) -> None:
    text = str(result.sources).splitlines()
    assert text[-1].strip() == "… and 2 more"
    assert len(text) == 1 + 1 + MAX_ROWS + 1
    assert isinstance(result.sources, tuple)


def test_a_comparison_is_a_tuple_whose_table_has_the_best_first() -> None:
    garden = mhpc.load_garden()
    compared = mhpc.compare(
        garden.votes, garden.taxonomy, ["sa", "majority"], truth=garden.truth, jobs=1
    )
    assert [each.name for each in compared] == ["sa", "majority"]
    rows = str(compared).splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["majority", "sa"]
    assert "hierarchical f" in str(compared)


def test_methods_without_cross_validation_are_listed() -> None:
    compared = mhpc.compare([("1", "ann", "a"), ("2", "ann", "b")], ["a", "b"], "sa", jobs=1)
    assert compared[0].candidate is None
    assert "sa" in str(compared)


def profile(name: str, answers: int, accurate: float, vague: float, wrong: float) -> SourceProfile:
    def proportion(share: float) -> Proportion:
        return Proportion(share, share - 0.05, share + 0.05)

    return SourceProfile(
        name, answers, coverage=0.5, mean_depth=1.0, accurate=proportion(accurate),
        vague=proportion(vague), wrong=proportion(wrong), independence=1.0, nearest_source="",
        dependence=0.0,
    )  # fmt: skip


def test_the_picture_of_the_sources_has_three_bars_each_and_the_best_on_top() -> None:
    nan = float("nan")
    profiles = SourceProfiles(
        [
            profile("good", 9, 0.8, 0.1, 0.1),
            profile("silent", 2, nan, nan, nan),
            profile(HOSTILE, 5, 0.2, 0.3, 0.5),
        ]
    )
    axes = profiles.plot()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["silent (2)", f"{HOSTILE} (5)", "good (9)"]
    widths = [[round(bar.get_width(), 2) for bar in bars] for bars in axes.containers]
    assert widths == [[0.0, 0.2, 0.8], [0.0, 0.3, 0.1], [0.0, 0.5, 0.1]]
    intervals = [np.round(np.asarray(line.get_xdata()), 2).tolist() for line in axes.lines]
    assert intervals[4:] == [[0.75, 0.85], [0.95, 0.85]]
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())


def test_a_picture_shows_the_sources_with_the_most_answers_on_given_axes() -> None:
    profiles = SourceProfiles(profile(f"s{n}", n, 0.8, 0.1, 0.1) for n in range(1, 6))
    _, axes = plt.subplots()
    assert profiles.plot(most=2, ax=axes) is axes
    names = {label.get_text() for label in axes.get_yticklabels()}
    assert names == {"s4 (4)", "s5 (5)"}
    assert "2 sources" in axes.get_title()


def test_a_missing_matplotlib_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"mhpc\[report\]"):
        SourceProfiles([profile("ann", 1, 0.8, 0.1, 0.1)]).plot()
