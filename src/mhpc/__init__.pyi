# The public names of the package. `__init__.py` loads them from here; `X as X` exports a name.
from mhpc.api import compare as compare
from mhpc.api import conflicts as conflicts
from mhpc.api import consolidate as consolidate
from mhpc.api import evaluate as evaluate
from mhpc.api import explain as explain
from mhpc.api import inspect as inspect
from mhpc.data.decision import Decision as Decision
from mhpc.data.panel import Panel as Panel
from mhpc.data.scorecard import Scorecard as Scorecard
from mhpc.data.scores import Consolidation as Consolidation
from mhpc.data.taxonomy import Taxonomy as Taxonomy
from mhpc.data.votes import Truth as Truth
from mhpc.data.votes import Votes as Votes
from mhpc.datasets.garden import load_garden as load_garden
from mhpc.encoding.panel import encode as encode
from mhpc.errors import MhpcError as MhpcError
from mhpc.errors import MhpcWarning as MhpcWarning
from mhpc.methods.averaging import SA as SA
from mhpc.methods.averaging import WA as WA
from mhpc.methods.channel import Channel as Channel
from mhpc.methods.cross_source import CrossSource as CrossSource
from mhpc.methods.dawid_skene import DawidSkene as DawidSkene
from mhpc.methods.mhpc import MHPC as MHPC
from mhpc.methods.mhpc import MPCU as MPCU
from mhpc.methods.mhpc import LocalMHPC as LocalMHPC
from mhpc.methods.mlcm import MLCM as MLCM
from mhpc.methods.one_truth import OneTruth as OneTruth
from mhpc.methods.voting import INat as INat
from mhpc.methods.voting import Majority as Majority
from mhpc.methods.voting import Wawa as Wawa
from mhpc.read.taxonomy import read_taxonomy as read_taxonomy
from mhpc.read.truth import read_truth as read_truth
from mhpc.read.votes import read_votes as read_votes
from mhpc.result import Result as Result
from mhpc.rules.expected_f import ExpectedF as ExpectedF
from mhpc.rules.paths import OnePath as OnePath
from mhpc.rules.paths import TopPaths as TopPaths
from mhpc.rules.threshold import MinProbability as MinProbability
from mhpc.rules.threshold import Threshold as Threshold
from mhpc.selection.auto import Auto as Auto
from mhpc.simulation.sources import Profile as Profile
from mhpc.simulation.sources import simulate as simulate
from mhpc.write.tables import write_taxonomy as write_taxonomy
from mhpc.write.tables import write_votes as write_votes

__version__: str
__all__: list[str]
