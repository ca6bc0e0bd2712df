"""The formats in which taxonomies can be read, in the order in which they are tried."""

from collections.abc import Mapping

from mhpc.read.formats import by_name
from mhpc.read.taxonomy_formats.arff import Arff
from mhpc.read.taxonomy_formats.base import TaxonomyFormat
from mhpc.read.taxonomy_formats.icd import Icd10Cm
from mhpc.read.taxonomy_formats.indented import Indented
from mhpc.read.taxonomy_formats.label_studio import LabelStudioConfig
from mhpc.read.taxonomy_formats.levels import Levels
from mhpc.read.taxonomy_formats.nested import NestedJson
from mhpc.read.taxonomy_formats.networkx import NetworkxGraph
from mhpc.read.taxonomy_formats.obo import Obo
from mhpc.read.taxonomy_formats.skos import Skos
from mhpc.read.taxonomy_formats.tables import BareEdges, BarePaths, TaxonomyTable
from mhpc.read.taxonomy_formats.yaml import NestedYaml

# The table, which matches everything, comes last.
TAXONOMY_FORMATS: Mapping[str, TaxonomyFormat] = by_name(
    Icd10Cm(),
    NetworkxGraph(),
    Arff(),
    Obo(),
    Skos(),
    LabelStudioConfig(),
    NestedYaml(),
    NestedJson(),
    Levels(),
    Indented(),
    BareEdges(),
    BarePaths(),
    TaxonomyTable(),
)
"""Every format of taxonomies by its name."""
