"""Generated votes whose truth is known."""

import pytest

import mhpc
from mhpc.data.panel import Panel
from mhpc.data.votes import EncodedTruth
from mhpc.encoding.gold import encode_truth

PROFILES = [mhpc.Profile(specificity=0.8, accuracy=accuracy) for accuracy in (0.9, 0.6, 0.6, 0.3)]


@pytest.fixture(scope="session")
def simulated_garden() -> tuple[Panel, EncodedTruth]:
    """Return the answers of four simulated sources on the garden's photographs, and the truth."""
    data = mhpc.load_garden()
    votes = mhpc.simulate(data.truth, data.taxonomy, PROFILES, seed=1)
    panel = mhpc.encode(votes, data.taxonomy)
    return panel, encode_truth(data.truth, panel.taxonomy, panel.instances)
