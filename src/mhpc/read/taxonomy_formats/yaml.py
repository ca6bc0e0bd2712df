"""YAML trees, which mean the same as nested JSON."""

from mhpc.data.taxonomy import Taxonomy
from mhpc.read.taxonomy_formats.base import TaxonomyInput
from mhpc.read.taxonomy_formats.levels import Levels
from mhpc.read.taxonomy_formats.nested import are_rows, taxonomy_from_document
from mhpc.read.taxonomy_formats.tables import TaxonomyTable
from mhpc.read.yaml_documents import load_yaml

SUFFIXES = (".yaml", ".yml", ".yaml.gz", ".yml.gz")
"""How the names of YAML files end; their content looks like that of other formats."""


class NestedYaml:
    """A tree of mappings and lists, or a list of rows with labels and parents."""

    name = "yaml"
    kinds = ("csv", "json", "jsonl")

    def matches(self, source: TaxonomyInput) -> bool:
        """Look at the name of the file."""
        return source.file is not None and source.file.name.lower().endswith(SUFFIXES)

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of all nodes, each below the node that contains it."""
        document = load_yaml(source.read_content(), source.origin, as_texts=True)
        if not are_rows(document):
            return taxonomy_from_document(document, source.origin)
        rows = TaxonomyInput(document, source.origin, source.argument, source.columns)
        return Levels().read(rows) if Levels().matches(rows) else TaxonomyTable().read(rows)
