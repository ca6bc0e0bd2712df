"""XML without what makes it dangerous: no entities, nothing from elsewhere, not too deep."""

from collections.abc import Callable
from typing import NoReturn
from xml.parsers import expat

from mhpc.errors import UnreadableError

MAX_DEPTH = 200
"""Elements within elements."""

Begin = Callable[[str, dict[str, str]], None]
End = Callable[[str], None]


def walk_elements(content: bytes, origin: str, begin: Begin, end: End) -> None:
    """Tell of every element as it begins and ends; what is not plain XML is refused."""
    parser = expat.ParserCreate()
    depth = 0

    def opened(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise UnreadableError(
                f"{origin}, line {parser.CurrentLineNumber:,}: elements nested deeper than "
                f"{MAX_DEPTH}, the most there may be"
            )
        begin(name, attributes)

    def closed(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(name)

    def refused(*_: object) -> NoReturn:
        raise UnreadableError(
            f"{origin}, line {parser.CurrentLineNumber:,}: XML with entities or references to "
            "other files is not read; write them out"
        )

    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    parser.EntityDeclHandler = refused
    parser.UnparsedEntityDeclHandler = refused
    parser.ExternalEntityRefHandler = refused
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        said = expat.errors.messages[error.code]
        raise UnreadableError(f"{origin}, line {error.lineno:,}: not XML: {said}") from None


def refuse_entities(content: bytes, origin: str) -> None:
    """Look through XML that another library is going to read."""
    walk_elements(content, origin, lambda name, attributes: None, lambda name: None)
