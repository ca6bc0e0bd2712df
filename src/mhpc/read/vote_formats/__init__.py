"""The formats in which votes can be read, in the order in which they are tried."""

from collections.abc import Mapping

from mhpc.read.formats import by_name
from mhpc.read.vote_formats.argilla import Argilla
from mhpc.read.vote_formats.base import VoteFormat
from mhpc.read.vote_formats.cafa import Cafa
from mhpc.read.vote_formats.doccano import Doccano
from mhpc.read.vote_formats.label_studio import LabelStudio, LabelStudioMin
from mhpc.read.vote_formats.long import LongFormat
from mhpc.read.vote_formats.matrices import Matrices, WideFormat
from mhpc.read.vote_formats.peerannot import Peerannot
from mhpc.read.vote_formats.prodigy import Prodigy
from mhpc.read.vote_formats.records import Records
from mhpc.read.vote_formats.source_columns import SourceColumns
from mhpc.read.vote_formats.zooniverse import Zooniverse

# Formats that the first bytes reveal come first; the long table, which matches everything, last.
VOTE_FORMATS: Mapping[str, VoteFormat] = by_name(
    Cafa(),
    Peerannot(),
    Doccano(),
    LabelStudio(),
    LabelStudioMin(),
    Argilla(),
    Prodigy(),
    Zooniverse(),
    Records(),
    Matrices(),
    WideFormat(),
    SourceColumns(),
    LongFormat(),
)
"""Every format of votes by its name."""
