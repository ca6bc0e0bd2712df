"""Without the packages of its extra, an adapter names the extra when it is imported."""

import sys
from importlib import import_module

import pytest

from mhpc.errors import MissingExtraError


@pytest.mark.parametrize(
    ("adapter", "package"), [("sklearn", "sklearn.base"), ("crowdkit", "pandas")]
)
def test_an_adapter_names_the_extra_that_is_missing(
    adapter: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"mhpc.adapters.{adapter}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mhpc\[adapters\]'"):
        import_module(f"mhpc.adapters.{adapter}")
