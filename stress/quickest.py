"""A plugin of pytest for `stress.mutation`: quick tests come first, and none searches on.

A mutant dies by the first test that fails, so quick ones go before slow ones. The smallest failing
example, which hypothesis would look for, is of no use here; that it draws the same examples each
time is, since otherwise a survivor of one run would be killed in the next.
"""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

STATS = Path("mutmut-stats.json")
"""Where mutmut keeps how long tests took, in the folder that tests run in."""


def pytest_configure() -> None:
    """Let hypothesis draw the same examples each time and stop at the first that fails."""
    settings.register_profile(
        "mutants",
        phases=[Phase.explicit, Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("mutants")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the quick ones first; without times, the order stays."""
    if STATS.exists():
        seconds = json.loads(STATS.read_text())["duration_by_test"]
        items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))
