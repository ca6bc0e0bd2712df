"""Arguments of a wrong type or value are refused by name, in one line."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.errors import DataError, ParameterError, TooLargeError
from mhpc.system.memory import use_memory_budget

VOTES = [("1", "ann", "bee"), ("1", "bob", "ant"), ("2", "ann", "bee"), ("2", "bob", "bee")]
LABELS = ["ant", "bee"]
WRONG = (7, 0.5, object(), ["x"], {"a": 1}, np.zeros((2, 2)), b"x", len, type)

ARGUMENTS: dict[str, Callable[[Any], object]] = {
    "method": lambda value: mhpc.consolidate(VOTES, LABELS, method=value),
    "rule": lambda value: mhpc.consolidate(VOTES, LABELS, rule=value),
    "unknown": lambda value: mhpc.consolidate(VOTES, LABELS, unknown=value),
    "apply": lambda value: mhpc.consolidate(VOTES, apply=value),
    "update": lambda value: mhpc.consolidate(VOTES, update=value),
    "result": lambda value: mhpc.explain(value, "1"),
    "view": lambda value: mhpc.evaluate(result(), {"1": "bee"}, view=value),
    "strategy": lambda value: mhpc.conflicts(result(), strategy=value),
    "what": lambda value: result().to_frame(value),
    "label": lambda value: mhpc.explain(result(), "1", value),
    "decided": lambda value: mhpc.evaluate(result(), {"1": "bee"}, decided=value),
    "format": lambda value: mhpc.read_votes(VOTES, format=value),
    "separator": lambda value: mhpc.read_truth({"1": "bee"}, separator=value),
    "negative": lambda value: mhpc.read_votes(VOTES, negative=value),
    "sources": lambda value: mhpc.simulate({"1": "bee"}, LABELS, value),
    "votes": lambda value: mhpc.encode(value, mhpc.read_taxonomy(LABELS)),
    "taxonomy": lambda value: mhpc.encode(mhpc.read_votes(VOTES), value),
    "folder": lambda value: mhpc.load_run(value),
    "target": lambda value: mhpc.write_votes(value, mhpc.read_votes(VOTES)),
    "target of a result": lambda value: result().write(value),
    "format of a result": lambda value: result().write("result.csv", format=value),
    "target of a report": lambda value: result().report(value),
    "folder to save to": lambda value: result().save(value),
    "force": lambda value: result().save("run", force=value),
    "ax": lambda value: result().sources.plot(ax=value),
}

NUMBERS: dict[str, Callable[[Any], object]] = {
    "top": lambda value: mhpc.conflicts(result(), top=value),
    "seed": lambda value: mhpc.conflicts(result(), strategy="random", seed=value),
    "folds": lambda value: mhpc.compare(VOTES, LABELS, ["sa"], folds=value),
    "jobs": lambda value: mhpc.compare(VOTES, LABELS, ["sa"], jobs=value),
    "instances": lambda value: mhpc.compare(VOTES, LABELS, ["sa"], instances=value),
    "score_max": lambda value: mhpc.read_votes(VOTES, score_max=value),
    "top of what is saved": lambda value: result().save("run", top=value),
    "most": lambda value: result().sources.plot(most=value),
    "half_width": lambda value: mhpc.answers_needed(accuracy(), value),
    "keep": lambda value: mhpc.source_contributions(result(), keep=value),
}

FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "progress": lambda value: mhpc.consolidate(VOTES, LABELS, progress=value),
    "progress of a comparison": lambda value: mhpc.compare(VOTES, LABELS, ["sa"], progress=value),
    "report": lambda value: mhpc.compare(VOTES, LABELS, ["sa"], report=value),
}

MAPPINGS: dict[str, Callable[[Any], object]] = {
    "columns": lambda value: mhpc.read_taxonomy(LABELS, columns=value),
    "costs": lambda value: mhpc.source_contributions(result(), costs=value),
}


def result() -> mhpc.Result:
    return mhpc.consolidate(VOTES, LABELS, method="majority")


def accuracy() -> mhpc.Accuracy:
    return mhpc.estimate_accuracy(result(), {"1": "bee"})


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_of_a_wrong_type_is_refused_by_name(name: str) -> None:
    for value in WRONG:
        with pytest.raises(ParameterError, match=f"^{name.split()[0]} = ") as refusal:
            ARGUMENTS[name](value)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_not_a_number_is_refused_by_name(name: str) -> None:
    for value in ("x", True, -0.5, float("nan"), [1], {"a": 1}, np.zeros(2), len):
        with pytest.raises(ParameterError, match=f"^{name.split()[0]} = "):
            NUMBERS[name](value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_cannot_be_called_is_refused_by_name(name: str) -> None:
    for value in (None, "x", 7, ["x"], np.zeros(2)):
        with pytest.raises(ParameterError, match=f"^{name.split()[0]} = .* give a function"):
            FUNCTIONS[name](value)


@pytest.mark.parametrize("name", MAPPINGS)
def test_what_is_not_a_mapping_of_texts_is_refused_by_name(name: str) -> None:
    for value in ("x", 7, ["x"], [("a", "b")], {7: "x"}, np.zeros(2), len):
        with pytest.raises(ParameterError, match=f"^{name} = "):
            MAPPINGS[name](value)


@pytest.mark.parametrize("methods", [7, [7], {"a": 1}, [mhpc.SA], b"sa"])
def test_methods_that_are_none_are_refused(methods: Any) -> None:
    with pytest.raises(ParameterError, match="^methods? = .* is not allowed"):
        mhpc.compare(VOTES, LABELS, methods)


def test_a_price_that_is_no_number_is_refused() -> None:
    with pytest.raises(ParameterError, match="the price of 'ann' is 'x'"):
        mhpc.source_contributions(result(), costs={"ann": "x", "bob": 1})  # type: ignore[dict-item]


def test_half_a_character_separates_nothing() -> None:
    with pytest.raises(ParameterError, match="^separator = "):
        mhpc.read_votes(VOTES, separator="\ud800")


def test_one_instance_without_votes_is_one_instance() -> None:
    added = mhpc.consolidate(VOTES, LABELS, method="majority", instances="i9")
    assert added.panel.instances.ids == ("1", "2", "i9")


@pytest.mark.parametrize("seed", [-1, 2**63, 10**40])
def test_a_seed_that_does_not_fit_is_refused(seed: int) -> None:
    with pytest.raises(ParameterError, match="seed = .* is not allowed"):
        mhpc.conflicts(result(), strategy="random", seed=seed)


def test_more_simulated_answers_than_fit_are_refused() -> None:
    sources = [mhpc.Profile()] * 2
    with use_memory_budget(100), pytest.raises(TooLargeError, match="2 sources .* need about"):
        mhpc.simulate({"1": "bee"}, LABELS, sources)


@pytest.mark.parametrize("number", [np.int64(5), np.uint8(5)])
def test_integers_of_numpy_are_integers(number: Any) -> None:
    drawn = mhpc.conflicts(result(), strategy="random", seed=number, top=number)
    assert drawn == mhpc.conflicts(result(), strategy="random", seed=5, top=5)
    scored = [(*vote, 2) for vote in VOTES]
    assert mhpc.read_votes(scored, score_max=number).score.tolist() == [0.4] * 4
    with pytest.raises(mhpc.MhpcError, match="it is above 5, which score_max gives"):
        mhpc.read_votes([("1", "ann", "bee", 7)], score_max=number)


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], "ab", []])
def test_names_are_as_many_as_simulated_sources(names: Any) -> None:
    with pytest.raises(ParameterError, match="^names has .* there are 2 sources"):
        mhpc.simulate({"1": "bee"}, LABELS, [mhpc.Profile()] * 2, names=names)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 1), (10**6, 10**6)])
def test_label_sets_of_other_instances_or_labels_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ParameterError, match="give a sparse array of 2 x 2"):
        mhpc.evaluate(result(), {"1": "bee"}, decided=sparse.csr_array(shape))


def test_label_sets_may_be_in_any_sparse_format() -> None:
    sets = sparse.coo_array(np.array([[0, 1j], [0, 1]]))
    assert mhpc.evaluate(result(), {"1": "bee", "2": "bee"}, decided=sets)["exact_match"] == 1


@pytest.mark.parametrize("labels", [1, None, object(), True, b"bee"])
def test_a_scope_that_lists_no_labels_is_refused(labels: Any) -> None:
    with pytest.raises(DataError, match="the labels of source 'ann' are .*; give a list"):
        mhpc.read_votes(VOTES, scope={"ann": labels})


def test_the_name_of_a_column_is_a_text() -> None:
    with pytest.raises(ParameterError, match="the column of 'label' = None is not allowed"):
        mhpc.read_votes({"label": ["bee"]}, columns={"label": None})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "call",
    [
        lambda: mhpc.explain(result(), 10**5000),  # type: ignore[arg-type]
        lambda: mhpc.consolidate(VOTES, LABELS, instances=[10**5000]),  # type: ignore[list-item]
        lambda: mhpc.consolidate(VOTES, LABELS, instances=np.array(5)),
        lambda: mhpc.consolidate(VOTES, LABELS, instances=StringIO("i9\n")),
        lambda: mhpc.read_votes([(10**5000, "ann", "bee")]),
        lambda: mhpc.read_votes(VOTES, map={"bee": 10**5000}),
        lambda: mhpc.read_votes(VOTES, score_max=10**5000),
        lambda: mhpc.source_contributions(result(), costs={"ann": 10**400, "bob": 1}),
    ],
)
def test_numbers_too_long_for_text_arrays_without_dimensions_and_files_are_no_ids(
    call: Callable[[], object],
) -> None:
    with pytest.raises(mhpc.MhpcError):
        call()


def test_a_long_path_in_a_list_is_a_label_that_is_too_long() -> None:
    with pytest.raises(mhpc.MhpcError, match="has a label of 20,000 characters"):
        mhpc.read_taxonomy(["y" * 20_000, "x"])


def test_a_message_is_one_line_whatever_the_file_is_called() -> None:
    with pytest.raises(mhpc.MhpcError, match="^a b: no such file$"):
        mhpc.read_votes("a\nb")


@pytest.mark.filterwarnings("ignore::mhpc.MhpcWarning")
@pytest.mark.parametrize("words", ["dunno", ["dunno"], iter(["dunno"]), [7, "dunno"]])
def test_words_for_not_known_are_no_labels_of_a_taxonomy_made_from_votes(words: Any) -> None:
    votes = [*VOTES, ("3", "ann", "dunno"), ("3", "bob", "d")]
    result = mhpc.consolidate(votes, method="majority", abstain=words)
    assert set(result.consolidation.taxonomy) == {"ant", "bee", "d"}
