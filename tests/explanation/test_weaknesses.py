import numpy as np
from scipy import sparse

from mhpc.data.profiles import Weakness
from mhpc.explanation.sources import weaknesses
from tests.fixtures.build import GARDEN


def table(**counts: int) -> sparse.csr_array:
    row = np.zeros((1, len(GARDEN)))
    for label, count in counts.items():
        row[0, GARDEN.locate([label])[0]] = count
    return sparse.csr_array(row)


def test_a_source_errs_where_it_errs_more_than_elsewhere() -> None:
    said = table(monarda=20, fuchsia=20, oak=50, finch=50)
    wrong = table(monarda=15, fuchsia=14, oak=1)
    (found,) = weaknesses(said, wrong, GARDEN)
    # Both flowers, told as one subtree; neither oaks nor the whole hierarchy.
    assert found == (Weakness("flower", 40, 29),)


def test_a_chain_with_the_same_errors_is_told_by_its_deepest_label() -> None:
    (found,) = weaknesses(table(oak=10, finch=30), table(oak=9, finch=1), GARDEN)
    assert found == (Weakness("oak", 10, 9),)


def test_who_is_never_wrong_has_no_weakness_and_one_mistake_is_none() -> None:
    assert weaknesses(table(oak=10), table(), GARDEN) == ((),)
    assert weaknesses(table(oak=1, finch=9), table(oak=1, finch=2), GARDEN) == ((),)
