"""A format is a small object that recognizes its files and reads them; this finds the right one."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from mhpc.errors import ParameterError, quote_list, suggest


class ReadFormat(Protocol):
    """What every format of votes and of taxonomies has in common."""

    @property
    def name(self) -> str:
        """The name by which users choose the format."""

    def matches(self, source: Any, /) -> bool:
        """Return whether the content of an input is in this format."""


AnyFormat = TypeVar("AnyFormat", bound=ReadFormat)


def by_name(*formats: AnyFormat) -> Mapping[str, AnyFormat]:
    """Return formats as a registry: by name, in the order in which they are tried."""
    return MappingProxyType({format_.name: format_ for format_ in formats})


def choose_format(
    registry: Mapping[str, AnyFormat], source: Any, name: str | None, *, what: str
) -> AnyFormat:
    """Return the format that the user named, or the first one that matches the content.

    Parameters
    ----------
    registry : mapping of name to format
        The last format matches everything.
    source : VotesInput or TaxonomyInput
        What is to be read.
    name : str, optional
        The name of a format.
    what : str
        What the registry holds, for the error message about an unknown name.
    """
    if name is None:
        return next(
            format_
            for format_ in registry.values()
            if _can_match(format_, source) and format_.matches(source)
        )
    if name not in registry:
        raise ParameterError(
            f"no {what} {name!r}{suggest(name, registry)}; there are "
            f"{quote_list(list(registry), most=20)}"
        )
    return registry[name]


def _can_match(format_: ReadFormat, source: Any) -> bool:
    """Return whether a format occurs in files of this kind, without looking at the content.

    A format that occurs in some kinds of files only lists them in `kinds`.
    """
    file = getattr(source, "only_file", None) or getattr(source, "file", None)
    kinds = getattr(format_, "kinds", None)
    return file is None or kinds is None or file.format in kinds
