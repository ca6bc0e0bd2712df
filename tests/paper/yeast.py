"""Eight small sets in the shape of the paper's, for experiments that take seconds."""

from pathlib import Path

import numpy as np

from mhpc.datasets.yeast import FOLDER, YEAST

LABELS = [
    "01", "01/01", "01/01/01", "01/01/02", "01/02", "02", "02/01", "02/01/01", "02/02", "03",
    "03/01", "03/02", "03/02/01",
]  # fmt: skip
HEADER = f"""\
@RELATION 'small'

@ATTRIBUTE expression numeric
@ATTRIBUTE class hierarchical {",".join(LABELS)}

@DATA
"""
ARFF = HEADER + "0.1,01/01@02\n0.2,03/02/01\n?,01/02@02/01@03\n"


def write_small_sets(folder: Path, *, genes: int = 24) -> Path:
    """Write all splits of all sets into FOLDER/yeast_funcat."""
    (folder / FOLDER).mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in YEAST:
        for split in ("train", "valid", "test"):
            rows = [
                "0.5," + "@".join(rng.choice(LABELS, size=rng.integers(1, 4), replace=False))
                for _ in range(genes)
            ]
            path = folder / FOLDER / f"{name}_FUN.{split}.arff"
            path.write_text(HEADER + "\n".join(rows) + "\n")
    return folder
