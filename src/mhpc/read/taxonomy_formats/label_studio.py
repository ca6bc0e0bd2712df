"""Label Studio's labeling config: the choices of its Taxonomy or Choices control."""

from dataclasses import dataclass, field

from mhpc.data.taxonomy import PATH_SEPARATOR, Taxonomy, build_taxonomy
from mhpc.errors import DataError, TaxonomyError, option, quote_list, suggest
from mhpc.read.json_xml import walk_elements
from mhpc.read.taxonomy_formats.base import TaxonomyInput

_CONTROLS = ("Taxonomy", "Choices")


class LabelStudioConfig:
    """The XML config of a project.

    Labels are paths of values joined by `` > ``, as in Label Studio's results. If a choice has an
    alias, which results contain instead of the value, the alias is the step and the value the name.
    """

    name = "label-studio"
    kinds = ("xml",)

    def matches(self, source: TaxonomyInput) -> bool:
        """Look for such a control in an XML file."""
        return (
            source.file is not None
            and source.file.format == "xml"
            and any(f"<{tag}" in source.head for tag in _CONTROLS)
        )

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the choices of the control that the user named, or of the only one."""
        control = _choose_control(source, _read_controls(source))
        return build_taxonomy(
            list(control.names), control.edges(), names=list(control.names.values()),
            origin=source.origin,
        )  # fmt: skip


@dataclass
class _Control:
    """A control while its choices are read: labels so far, and the path to the current one."""

    tag: str
    name: str
    names: dict[str, str] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)

    def begin_choice(self, attributes: dict[str, str]) -> None:
        value = attributes.get("value", "")
        self.path.append(attributes.get("alias") or value)
        self.names[PATH_SEPARATOR.join(self.path)] = value or self.path[-1]

    def edges(self) -> list[tuple[str, str]]:
        return [
            (label, label.rsplit(PATH_SEPARATOR, 1)[0])
            for label in self.names
            if PATH_SEPARATOR in label
        ]


def _read_controls(source: TaxonomyInput) -> list[_Control]:
    controls: list[_Control] = []
    open_controls: list[_Control] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if tag in _CONTROLS:
            open_controls.append(_Control(tag, attributes.get("name", "")))
            controls.append(open_controls[-1])
        elif tag == "Choice" and open_controls:
            open_controls[-1].begin_choice(attributes)

    def end(tag: str) -> None:
        if tag in _CONTROLS:
            open_controls.pop()
        elif tag == "Choice" and open_controls:
            open_controls[-1].path.pop()

    walk_elements(source.read_content(), source.origin, begin, end)
    return [control for control in controls if control.names]


def _choose_control(source: TaxonomyInput, controls: list[_Control]) -> _Control:
    names = [control.name for control in controls]
    if not controls:
        raise TaxonomyError(
            f"{source.origin}: no Taxonomy and no Choices with a Choice in it; choices that tasks "
            "bring along are not in the config"
        )
    if source.argument is not None:
        if source.argument not in names:
            raise DataError(
                f"{source.origin}: no control {source.argument!r}{suggest(source.argument, names)};"
                f" it has {quote_list(names)}"
            )
        return controls[names.index(source.argument)]
    taxonomies = [control for control in controls if control.tag == "Taxonomy"] or controls
    if len(taxonomies) > 1:
        candidates = quote_list([control.name for control in taxonomies])
        raise DataError(
            f"{source.origin}: several controls, {candidates}; choose one with "
            f"{option('taxonomy_format', 'label-studio=NAME')}"
        )
    return taxonomies[0]
