"""Label Studio's labeling config: the choices of its Taxonomy, or of its Choices.

Labels are paths of values joined by `` > ``, as results have them; where a choice has an alias,
which results have instead, that is the step, and its value the name.
"""

from dataclasses import dataclass, field

from mhpc.data.taxonomy import PATH_SEPARATOR, Taxonomy, build_taxonomy
from mhpc.errors import DataError, TaxonomyError, quote_list, suggest
from mhpc.read.json_xml import walk_elements
from mhpc.read.taxonomy_formats.base import TaxonomyInput, atomic_file

_CONTROLS = ("Taxonomy", "Choices")


@dataclass
class _Control:
    """A control while its choices come: labels so far, and the way down to the current one."""

    tag: str
    name: str
    names: dict[str, str] = field(default_factory=dict)
    way: list[str] = field(default_factory=list)

    def begin(self, attributes: dict[str, str]) -> None:
        value = attributes.get("value", "")
        self.way.append(attributes.get("alias") or value)
        self.names[PATH_SEPARATOR.join(self.way)] = value or self.way[-1]

    def edges(self) -> list[tuple[str, str]]:
        return [
            (label, label.rsplit(PATH_SEPARATOR, 1)[0])
            for label in self.names
            if PATH_SEPARATOR in label
        ]


def matches(told: TaxonomyInput) -> bool:
    """Tell whether it is XML with such a control."""
    return (
        told.file is not None
        and told.file.format == "xml"
        and any(f"<{tag}" in told.head for tag in _CONTROLS)
    )


def read(told: TaxonomyInput) -> Taxonomy:
    """Return the choices of the control that was named, or of the only one."""
    control = _chosen(told, _controls(told))
    return build_taxonomy(
        list(control.names), control.edges(), names=list(control.names.values()),
        origin=told.origin,
    )  # fmt: skip


def _controls(told: TaxonomyInput) -> list[_Control]:
    found: list[_Control] = []
    within: list[_Control] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if tag in _CONTROLS:
            within.append(_Control(tag, attributes.get("name", "")))
            found.append(within[-1])
        elif tag == "Choice" and within:
            within[-1].begin(attributes)

    def end(tag: str) -> None:
        if tag in _CONTROLS:
            within.pop()
        elif tag == "Choice" and within:
            within[-1].way.pop()

    walk_elements(atomic_file(told), told.origin, begin, end)
    return [control for control in found if control.names]


def _chosen(told: TaxonomyInput, controls: list[_Control]) -> _Control:
    names = [control.name for control in controls]
    if not controls:
        raise TaxonomyError(
            f"{told.origin}: no Taxonomy and no Choices with a Choice in it; choices that a task "
            "brings are not in the config"
        )
    if told.argument is not None:
        if told.argument not in names:
            raise DataError(
                f"{told.origin}: no control {told.argument!r}{suggest(told.argument, names)}; "
                f"it has {quote_list(names)}"
            )
        return controls[names.index(told.argument)]
    taxonomies = [control for control in controls if control.tag == "Taxonomy"] or controls
    if len(taxonomies) > 1:
        raise DataError(
            f"{told.origin}: several controls, {quote_list([each.name for each in taxonomies])}; say "
            "which is meant with --taxonomy-format label-studio=NAME"
        )
    return taxonomies[0]
