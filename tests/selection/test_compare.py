"""``mhpc.compare``: any methods with any parameters, from Python."""

import mhpc


def test_methods_with_parameters_are_compared_under_the_names_they_are_given() -> None:
    garden = mhpc.load_garden()
    comparisons = mhpc.compare(
        garden.votes,
        garden.taxonomy,
        {"little": mhpc.MHPC(lam=0.1), "much": mhpc.MHPC(lam=100)},
        truth=garden.truth,
    )
    assert [comparison.name for comparison in comparisons] == ["little", "much"]
    weak, strong = (comparison.candidate for comparison in comparisons)
    assert weak is not None
    assert strong is not None
    assert weak.loss("closed") != strong.loss("closed")
    assert all(len(comparison.scorecards) == 2 for comparison in comparisons)


def test_a_name_stands_for_the_method_with_its_defaults() -> None:
    garden = mhpc.load_garden()
    (by_name,) = mhpc.compare(garden.votes, garden.taxonomy, ["majority"])
    (by_value,) = mhpc.compare(garden.votes, garden.taxonomy, {"majority": mhpc.Majority()})
    assert by_name.name == "majority"
    assert by_name.scorecards == ()
    assert by_name.candidate is not None
    assert by_value.candidate is not None
    assert by_name.candidate.closed == by_value.candidate.closed
