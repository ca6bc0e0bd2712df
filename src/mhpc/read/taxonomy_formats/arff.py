"""The taxonomy that the header of a Clus HMC ARFF file declares."""

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import UnreadableError
from mhpc.read.arff import read_arff
from mhpc.read.taxonomy_formats.base import TaxonomyInput


def matches(told: TaxonomyInput) -> bool:
    """Tell whether it is an ARFF file."""
    return told.file is not None and told.file.format == "arff"


def read(told: TaxonomyInput) -> Taxonomy:
    """Return the declared labels."""
    if told.file is None:
        raise UnreadableError(f"{told.origin}: this format is read from a file")
    return read_arff(told.file).taxonomy
