"""CONTRIBUTING describes the tree as it is."""

import re

from tests.docs.pages import ROOT
from tests.test_architecture import LAYERS


def test_the_tree_lists_every_package_in_the_order_of_the_layers() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (tree,) = re.findall(r"^src/mhpc/\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    names = re.findall(r"^  (\w+)(?:/|\.py) +\S", tree, flags=re.MULTILINE)
    layer_of = {name: layer for layer, names in enumerate(LAYERS) for name in names}
    assert sorted(names) == sorted(layer_of)
    layers = [layer_of[name] for name in names]
    assert layers == sorted(layers)
