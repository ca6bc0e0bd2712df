"""CONTRIBUTING describes the tree as it is, and its example of a method works."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.docs.pages import ROOT, split_into_blocks
from tests.test_architecture import LAYERS

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

USE_THE_METHOD = """
import mhpc
from shrinkage import Shrinkage

garden = mhpc.load_garden()
result = mhpc.consolidate(garden.votes, garden.taxonomy, method=Shrinkage(prior_answers=2))
print(mhpc.evaluate(result, garden.truth)["ranking_loss"])
"""


def test_the_tree_lists_every_package_in_the_order_of_the_layers() -> None:
    (tree,) = re.findall(r"^src/mhpc/\n(.*?)^```", CONTRIBUTING, flags=re.MULTILINE | re.DOTALL)
    names = re.findall(r"^  (\w+)(?:/|\.py) +\S", tree, flags=re.MULTILINE)
    layer_of = {name: layer for layer, names in enumerate(LAYERS) for name in names}
    assert sorted(names) == sorted(layer_of)
    layers = [layer_of[name] for name in names]
    assert layers == sorted(layers)


def test_the_example_method_runs(tmp_path: Path) -> None:
    (code,) = [block.text for block in split_into_blocks(CONTRIBUTING) if block.kind == "python"]
    (tmp_path / "shrinkage.py").write_text(textwrap.dedent(code), encoding="utf-8")
    # In its own process, because it registers a method that other tests must not see.
    command = [sys.executable, "-c", USE_THE_METHOD]
    completed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert float(completed.stdout) < 0.1
