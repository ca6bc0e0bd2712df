import pytest

import mhpc
from mhpc.errors import ParameterError
from mhpc.methods.registry import make_grid


def test_every_combination_of_values_is_a_method_named_by_them() -> None:
    methods = make_grid(["mhpc"], {"lam": [1, 5], "sigma": [0.1, 0.3]})
    assert methods == {
        f"mhpc, lam={lam}, sigma={sigma}": mhpc.MHPC(lam=lam, sigma=sigma)
        for lam in (1, 5)
        for sigma in (0.1, 0.3)
    }


def test_a_method_without_the_parameter_is_used_without_it() -> None:
    methods = make_grid(["sa", "wa"], {"alpha": [0.1, 0.2]})
    assert methods == {
        "sa": mhpc.SA(),
        "wa, alpha=0.1": mhpc.WA(alpha=0.1),
        "wa, alpha=0.2": mhpc.WA(alpha=0.2),
    }


def test_without_choices_methods_have_their_defaults() -> None:
    assert make_grid(["sa", "majority"]) == {"sa": mhpc.SA(), "majority": mhpc.Majority()}


def test_a_parameter_that_no_method_has_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ParameterError) as refused:
        make_grid(["sa", "wa"], {"alpa": [1]})
    assert str(refused.value) == (
        "none of 'sa', 'wa' has a parameter 'alpa' (nearest: 'alpha'); "
        "they have: 'alpha', 'average', 'votes'"
    )
