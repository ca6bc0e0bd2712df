import filecmp
import subprocess
import sys
from pathlib import Path

import mhpc
from mhpc.datasets.garden import garden_folder

ROOT = Path(__file__).parents[2]


def test_the_example_is_what_its_script_writes(tmp_path: Path) -> None:
    script = ROOT / "tools" / "make_garden.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    names = ["taxonomy.csv", "truth.csv", "votes.csv"]
    equal, different, missing = filecmp.cmpfiles(garden_folder(), tmp_path, names, shallow=False)
    assert (equal, different, missing) == (names, [], [])


def test_the_default_beats_averaging_and_averaging_beats_every_single_source() -> None:
    garden = mhpc.load_garden()
    result = mhpc.consolidate(garden.votes, garden.taxonomy)
    panel, averaging = result.panel, mhpc.SA(votes="augmented")
    singles = [
        mhpc.evaluate(averaging.consolidate(panel.select_answers(panel.source == m)), garden.truth)
        for m in range(len(panel.sources))
    ]
    averaged = mhpc.evaluate(averaging.consolidate(panel), garden.truth)
    default = mhpc.evaluate(result, garden.truth)
    for metric, sign in (("ranking_loss", 1), ("coverage_error", 1), ("micro_auc", -1)):
        best_single = min(sign * card[metric] for card in singles)
        assert sign * default[metric] < sign * averaged[metric] < best_single
