"""Registry of vote formats."""

from collections.abc import Mapping
from types import MappingProxyType

from mhpc.errors import ParameterError, quote_list, suggest
from mhpc.read.vote_formats import (
    argilla,
    cafa,
    doccano,
    label_studio,
    label_studio_min,
    long,
    matrices,
    peerannot,
    prodigy,
    wide,
    zooniverse,
)
from mhpc.read.vote_formats.base import VoteFormat, VotesInput

FORMATS: Mapping[str, VoteFormat] = MappingProxyType(
    {
        "cafa": cafa,
        "peerannot": peerannot,
        "doccano": doccano,
        "label-studio": label_studio,
        "label-studio-min": label_studio_min,
        "argilla": argilla,
        "prodigy": prodigy,
        "zooniverse": zooniverse,
        "matrices": matrices,
        "wide": wide,
        "long": long,
    }
)
"""Those that the first bytes tell come first, the long table, which takes all else, last."""


def format_of(given: VotesInput, name: str | None) -> VoteFormat:
    """Return the format that is insisted on, or the first that recognises what is given."""
    if name is not None:
        if name not in FORMATS:
            raise ParameterError(
                f"no format {name!r}{suggest(name, FORMATS)}; there are "
                f"{quote_list(list(FORMATS), most=20)}"
            )
        return FORMATS[name]
    return next(format_ for format_ in FORMATS.values() if format_.matches(given))
