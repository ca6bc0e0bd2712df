"""Labels are found in a taxonomy, also those that are almost right."""

import warnings
from typing import get_args

import pytest

import mhpc
from mhpc.data.index import Index
from mhpc.data.spelling import ABSTAIN_WORDS, NONE_WORDS
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.data.votes import ABSTAINED, NONE_OF_THESE, LabelPolicy, Policy, Unknown
from mhpc.encoding.labels import (
    LocatedLabels,
    find_ancestors,
    find_nearest,
    locate_labels,
    match_labels,
)
from mhpc.errors import MhpcWarning, ParameterError, UnknownLabelError
from mhpc.settings import RunSettings
from tests.fixtures.build import GARDEN, votes_of

PLANTS = build_taxonomy(
    ["plant", "flower", "monarda", "fuchsia", "bee_fly"],
    [("flower", "plant"), ("monarda", "flower"), ("fuchsia", "flower")],
)
PLACES = build_taxonomy(["1", "2", "3"], [], names=["Paris", "paris", "Oslo"])


def locate(
    *labels: str, unknown: Policy = "error", taxonomy: Taxonomy = PLANTS
) -> tuple[LocatedLabels, list[str]]:
    """Return where labels are, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        located = locate_labels(taxonomy, Index(labels), unknown=unknown, origin="votes.csv")
    assert all(warning.category is MhpcWarning for warning in caught)
    return located, [str(warning.message) for warning in caught]


def refusal(*labels: str, taxonomy: Taxonomy = PLANTS) -> str:
    with pytest.raises(UnknownLabelError) as error:
        locate(*labels, taxonomy=taxonomy)
    return str(error.value)


def test_known_labels_are_found_without_normal_forms() -> None:
    taxonomy = build_taxonomy(["a", "b"], [("b", "a")])
    located, messages = locate("b", "a > b", "a", taxonomy=taxonomy)
    assert located.position.tolist() == [1, 1, 0]
    assert messages == []
    assert "spellings" not in vars(taxonomy)


def test_other_spellings_are_found_and_reported_once() -> None:
    labels = ("Monarda ", "PLANT", "Plant/Flower/Fuchsia", "plant::flower", "Bee-Fly")
    located, messages = locate(*labels)
    assert located.position.tolist() == [2, 0, 3, 1, 4]
    (message,) = messages
    assert "votes.csv: 5 labels" in message
    assert "'Monarda ' as 'monarda'" in message
    assert "and 2 more" in message


def test_a_label_whose_name_others_share_is_reported_by_its_id() -> None:
    towns = build_taxonomy(["paris-fr", "paris-us", "oslo"], [], names=["Paris", "Paris", "Oslo"])
    _, (message,) = locate("PARIS FR", "OSLO ", taxonomy=towns)
    assert "'PARIS FR' as 'paris-fr', 'OSLO ' as 'Oslo'" in message


def test_a_spelling_that_fits_several_labels_stays_unknown_and_the_error_names_them() -> None:
    assert "fits '1' and '2'; give an id" in refusal("PARIS", taxonomy=PLACES)
    located, _ = locate("PARIS", unknown="nearest", taxonomy=PLACES)
    assert located.position.tolist() == [ABSTAINED]
    many = build_taxonomy(list("123456"), [], names=["Paris"] * 6)
    assert "fits '1' and '2' and '3' and others" in refusal("PARIS", taxonomy=many)


def test_an_exact_name_wins_over_another_spelling() -> None:
    located, messages = locate("Paris", "paris", taxonomy=PLACES)
    assert (located.position.tolist(), messages) == ([0, 1], [])


@pytest.mark.parametrize("word", ABSTAIN_WORDS)
def test_words_for_did_not_know_are_abstentions(word: str) -> None:
    located, (message,) = locate(word.upper())
    assert located.position.tolist() == [ABSTAINED]
    assert "did not know" in message


@pytest.mark.parametrize("word", NONE_WORDS)
def test_words_for_none_of_these_are_answers_without_a_label(word: str) -> None:
    located, (message,) = locate(f" {word.title()}")
    assert located.position.tolist() == [NONE_OF_THESE]
    assert "none of these" in message


def test_both_kinds_of_words_are_reported_in_one_warning() -> None:
    _, messages = locate("n/a", "none", "idk")
    assert len(messages) == 1


def test_the_word_by_which_readers_write_an_abstention_is_not_reported() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matches = match_labels(PLANTS, Index(("abstain", "monarda")))
    assert matches.position[0] == ABSTAINED
    assert not matches.kinds


def test_a_special_word_that_is_a_label_is_that_label() -> None:
    taxonomy = build_taxonomy(["Unknown", "none", "NA", "na"], [])
    located, _ = locate("unknown", "None", taxonomy=taxonomy)
    assert located.position.tolist() == [0, 1]
    assert "fits 'NA' and 'na'" in refusal("Na", taxonomy=taxonomy)


def test_the_words_of_the_user_are_abstentions_even_if_they_are_labels() -> None:
    policy = LabelPolicy("error", ("dunno", "plant"))
    located, (message,) = locate("Dunno", "Plant", "flower", unknown=policy)
    assert located.position.tolist() == [ABSTAINED, ABSTAINED, 1]
    assert "'Dunno', 'Plant'" in message


def test_a_dropped_label_is_an_abstention() -> None:
    located, (message,) = locate("hornet", "plant", unknown="drop")
    assert located.position.tolist() == [ABSTAINED, 0]
    assert "1 label not in the taxonomy, left out: 'hornet'" in message


def test_the_nearest_label_is_taken_if_it_is_near() -> None:
    located, messages = locate("monrada", "Fuchsias", "hornet", unknown="nearest")
    assert located.position.tolist() == [2, 3, ABSTAINED]
    assert "2 labels" in messages[0]
    assert "'monrada' as 'monarda', 'Fuchsias' as 'fuchsia'" in messages[0]
    assert "left out: 'hornet'" in messages[1]


def test_the_nearest_label_is_looked_for_among_ids_and_names() -> None:
    codes = build_taxonomy(["C1", "C2"], [], names=["goldfinch", "greenfinch"])
    assert find_nearest(codes, ["gold-finch", "greenfinches", "CC1"]).tolist() == [0, 1, 0]
    assert find_nearest(codes, ["C3", "sparrow"]).tolist() == [-1, -1]
    located, (message,) = locate("goldfimch", unknown="nearest", taxonomy=codes)
    assert "'goldfimch' as 'goldfinch'" in message
    assert located.position.tolist() == [0]


def test_of_a_path_the_last_step_decides_which_label_is_nearest() -> None:
    labels = ["plant > flower > monrada", "plant > flower > tulip", "shrub/fuchsia"]
    assert find_nearest(PLANTS, labels).tolist() == [2, -1, 3]


def test_the_number_at_the_end_of_a_code_does_not_decide_alone() -> None:
    codes = build_taxonomy(["20", "20/01"], [("20/01", "20")])
    assert find_nearest(codes, ["99/01", "20/02"]).tolist() == [-1, -1]


def test_the_deepest_known_prefix_of_a_path_is_taken() -> None:
    labels = ("plant > flower > tulip", "Plant/Tree", "Flower|Rose", "stone/flower/rose", "stone")
    located, messages = locate(*labels, unknown="ancestor")
    assert located.position.tolist() == [1, 0, 1, ABSTAINED, ABSTAINED]
    assert "3 labels" in messages[0]
    assert "2 labels not in the taxonomy, left out" in messages[1]


def test_an_ambiguous_prefix_is_skipped() -> None:
    taxonomy = build_taxonomy(["a", "a/x", "A|X"], [("a/x", "a")])
    assert find_ancestors(taxonomy, ["a > x > y"]).tolist() == [0]


def test_spellings_of_one_new_label_are_grafted_once() -> None:
    labels = ("Hornet", "hornet ", "wasp", "Flower/Rose")
    located, messages = locate(*labels, unknown="graft")
    assert located.taxonomy.labels.ids[5:] == ("Hornet", "wasp", "Flower/Rose")
    assert located.position.tolist() == [5, 5, 6, 7]
    assert located.taxonomy.parents_of(7).tolist() == [1]
    assert len(messages) == 1
    # Read again with the taxonomy of the run, labels are where they were.
    again, _ = locate(*labels, unknown="drop", taxonomy=located.taxonomy)
    assert again.position.tolist() == [5, 5, 6, 7]


def test_spellings_that_fit_several_labels_are_grafted_one_by_one() -> None:
    located, _ = locate("PARIS", "PaRiS", unknown="graft", taxonomy=PLACES)
    assert located.position.tolist() == [3, 4]


def test_where_nothing_can_be_grafted_labels_are_dropped() -> None:
    with pytest.warns(MhpcWarning, match="left out"):
        located = locate_labels(
            PLANTS, Index(("hornet",)), unknown="graft", origin="truth.csv", can_graft=False
        )
    assert (located.taxonomy, located.position.tolist()) == (PLANTS, [ABSTAINED])


@pytest.mark.parametrize(
    ("labels", "advice"),
    [
        (("monarda; Fuchsia",), "separator=';'"),
        (("monarda|plant > flower",), "separator='|'"),
        (("monarda, fuchsia, bee fly",), "separator=','"),
        (("monarda/fuchsia",), "separator='/'"),
        (("!monarda",), "negative='mark'"),
        (("plant > flower > tulip",), "unknown='ancestor'"),
        (("monrada",), "unknown='nearest'"),
        (("hornet",), "; correct it, or leave"),
        (("hornet", "wasp", "!Monarda"), "negative='mark'"),
        (("monrada", "a;b", "plant;flower", "plant;monarda"), "separator=';'"),
    ],
)
def test_the_error_begins_with_the_advice_that_fits_what_was_seen(
    labels: tuple[str, ...], advice: str
) -> None:
    message = refusal(*labels)
    assert advice in message
    options = ("separator=", "negative=", "unknown='ancestor'", "unknown='nearest'")
    assert sum(option in message for option in options) == ("=" in advice)
    assert "unknown='drop'" in message
    assert "unknown='graft'" in message
    assert "\n" not in message


def test_the_error_shows_a_label_that_the_advice_is_for_and_counts_all() -> None:
    message = refusal("hornet", "monrada")
    assert "label 'monrada' is not in the taxonomy (nearest: 'monarda')" in message
    assert "(2 such labels in all)" in message


def test_the_error_of_a_table_that_adds_no_labels_does_not_offer_to_add_them() -> None:
    with pytest.raises(UnknownLabelError) as error:
        locate_labels(PLANTS, Index(("x",)), unknown="error", origin="truth.csv", can_graft=False)
    assert "graft" not in str(error.value)


def test_matching_tells_how_each_label_was_understood() -> None:
    labels = Index(("plant", "PLANT", "idk", "none", "monrada", "hornet"))
    matches = match_labels(PLANTS, labels, "nearest")
    assert matches.kinds == {1: "spelling", 2: "abstain", 3: "none", 4: "nearest"}
    assert matches.missing.tolist() == [5]


def test_a_policy_can_be_given_by_its_first_part() -> None:
    assert LabelPolicy.of("drop") == LabelPolicy("drop", ())
    assert LabelPolicy.of("drop", "dunno") == LabelPolicy("drop", ("dunno",))
    assert LabelPolicy.of(LabelPolicy("drop", ("a",)), ["b"]) == LabelPolicy("drop", ("a", "b"))
    with pytest.raises(ParameterError, match="'nearst' is not allowed; give auto"):
        LabelPolicy.of("nearst")  # type: ignore[arg-type]


def test_the_settings_of_a_run_offer_all_policies() -> None:
    assert get_args(RunSettings.model_fields["unknown"].annotation) == get_args(Unknown)


@pytest.mark.filterwarnings("ignore::mhpc.errors.MhpcWarning")
def test_policies_are_arguments_of_consolidate_and_compare() -> None:
    votes = {"instance": [1, 1, 2], "source": ["s", "t", "s"], "label": ["monrada", "hm", "plant"]}
    result = mhpc.consolidate(votes, PLANTS, method="sa", unknown="nearest", abstain=["hm"])
    assert result.panel.raw.indices.tolist() == [2, 0]
    with pytest.raises(UnknownLabelError, match="'hm'"):
        mhpc.consolidate(votes, PLANTS, method="sa", abstain="monrada")
    compared = mhpc.compare(votes, PLANTS, ["sa"], unknown="nearest", abstain=["hm"])
    assert [comparison.name for comparison in compared] == ["sa"]


def test_a_few_unknown_labels_are_left_out_by_default_and_said() -> None:
    few: list[tuple[str, str, str | None]] = [(str(n), "ann", "oak") for n in range(19)]
    votes = votes_of([*few, ("x", "bob", "invented")])
    with pytest.warns(MhpcWarning, match=r"1 label \(5.0 % of the votes\).*left out: 'invented'"):
        panel = mhpc.encode(votes, GARDEN, unknown="auto")
    assert len(panel.instance) == 19
    assert panel.abstained is not None


def test_more_than_a_few_unknown_labels_are_refused_by_default() -> None:
    votes = votes_of([*((str(n), "ann", "oak") for n in range(18)), ("x", "bob", "invented")])
    with pytest.raises(UnknownLabelError, match="invented"):
        mhpc.encode(votes, GARDEN, unknown="auto")
