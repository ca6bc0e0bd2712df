"""The taxonomy that the header of a Clus HMC ARFF file declares."""

from mhpc.data.taxonomy import Taxonomy
from mhpc.read.arff import read_arff
from mhpc.read.taxonomy_formats.base import TaxonomyInput


class Arff:
    """Clus HMC ARFF, which `mhpc.read.arff` describes."""

    name = "arff"
    kinds = ("arff",)

    def matches(self, source: TaxonomyInput) -> bool:
        """Return whether it is an ARFF file."""
        return source.file is not None and source.file.format == "arff"

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of the declared labels."""
        return read_arff(source.require_file()).taxonomy
