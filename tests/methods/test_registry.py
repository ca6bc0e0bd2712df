import pytest

import mhpc
from mhpc.errors import ParameterError
from mhpc.methods.registry import grid


def test_every_combination_of_values_is_a_method_named_by_them() -> None:
    found = grid(["mhpc"], {"lam": [1, 5], "sigma": [0.1, 0.3]})
    assert found == {
        f"mhpc, lam={lam}, sigma={sigma}": mhpc.MHPC(lam=lam, sigma=sigma)
        for lam in (1, 5)
        for sigma in (0.1, 0.3)
    }


def test_a_method_that_lacks_a_parameter_is_taken_without_it() -> None:
    found = grid(["sa", "wa"], {"alpha": [0.1, 0.2]})
    assert found == {
        "sa": mhpc.SA(),
        "wa, alpha=0.1": mhpc.WA(alpha=0.1),
        "wa, alpha=0.2": mhpc.WA(alpha=0.2),
    }


def test_without_choices_methods_are_as_they_come() -> None:
    assert grid(["sa", "majority"]) == {"sa": mhpc.SA(), "majority": mhpc.Majority()}


def test_a_parameter_that_all_lack_is_refused_with_the_nearest_and_all_there_are() -> None:
    with pytest.raises(ParameterError) as refused:
        grid(["sa", "wa"], {"alpa": [1]})
    assert str(refused.value) == (
        "none of 'sa', 'wa' has a parameter 'alpa' (nearest: 'alpha'); "
        "they have: 'alpha', 'average', 'votes'"
    )
