import numpy as np

from mhpc.methods.channel.answers import count_votes
from mhpc.methods.channel.corruption import corruption_paths
from mhpc.methods.channel.em import estimate_popularity
from mhpc.methods.channel.inversion import MISS_RATE, first_guess
from tests.fixtures.build import GARDEN, panel_of
from tests.methods.channel.reference import ROWS, random_noise


def test_the_first_guess_without_answers_is_popularity() -> None:
    panel = panel_of(ROWS, instances=["unanswered"])
    model, paths = random_noise(GARDEN, 0.3), corruption_paths(GARDEN)
    votes = count_votes(panel, panel.raw)
    popularity = estimate_popularity(votes, model, paths)
    x = first_guess(votes, model.corruption(paths), popularity)
    np.testing.assert_allclose(x[4], MISS_RATE * popularity)
