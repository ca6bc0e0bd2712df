"""``mhpc.compare``: any methods with any parameters, from Python."""

import mhpc


def test_methods_with_parameters_are_compared_by_the_names_they_are_given() -> None:
    garden = mhpc.load_garden()
    found = mhpc.compare(
        garden.votes,
        garden.taxonomy,
        {"little": mhpc.MHPC(lam=0.1), "much": mhpc.MHPC(lam=100)},
        truth=garden.truth,
    )
    assert [each.name for each in found] == ["little", "much"]
    little, much = (each.candidate for each in found)
    assert little is not None
    assert much is not None
    assert little.loss("closed") != much.loss("closed")
    assert all(len(each.scorecards) == 2 for each in found)


def test_names_stand_for_methods_as_they_come() -> None:
    garden = mhpc.load_garden()
    (found,) = mhpc.compare(garden.votes, garden.taxonomy, ["majority"])
    assert found.name == "majority"
    assert found.scorecards == ()
