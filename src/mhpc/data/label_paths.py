"""Labels by their paths, without a text for every path: those of a deep taxonomy are too long."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from mhpc.numerics.arrays import IntArray

NO_PARENT = -1
"""The parent of a root."""

_MODULUS = 2**63 - 25
"""A prime. The digest of a text is the number that its bytes are, modulo this prime."""


@dataclass(frozen=True, eq=False)
class LabelPaths:
    """Finds the labels below a root by their path: the names from the root down to the label.

    The digest of a path follows from that of the path above it, so that all digests cost as much as
    the names, whereas all paths would cost the names times the depth. A path is looked up by its
    digest, and then compared with the names.

    Attributes
    ----------
    names : sequence of str, (K,)
        The name of every label, as it is written in a path.
    parent : int array, (K,)
        The parent above every label in its path; `NO_PARENT` for a root.
    order : int array, (K,)
        All labels, each after its parent.
    separator : str
        What separates the names.

    Examples
    --------
    >>> paths = LabelPaths(["plant", "oak"], np.array([NO_PARENT, 0]), np.array([0, 1]), " > ")
    >>> paths.find("plant > oak"), paths.find("oak")
    ([1], [])
    """

    names: Sequence[str]
    parent: IntArray
    order: IntArray
    separator: str

    def find(self, path: str) -> list[int]:
        """Return the labels below a root that have this path, increasing."""
        # Most texts are no paths, and digests are computed for paths only.
        if self.separator not in path:
            return []
        digests, labels = self._sorted_digests
        digest = _digest(_encode(path))
        first, last = np.searchsorted(digests, [digest, digest + 1])
        return [label for label in labels[first:last].tolist() if self.path(label) == path]

    def path(self, label: int) -> str:
        """Return the path of a label."""
        names = [self.names[label]]
        while (label := int(self.parent[label])) != NO_PARENT:
            names.append(self.names[label])
        return self.separator.join(reversed(names))

    @cached_property
    def max_length(self) -> int:
        """The number of bytes of the longest path, 0 without labels."""
        return self._digests[1]

    @cached_property
    def _sorted_digests(self) -> tuple[IntArray, IntArray]:
        """The digests of the paths of labels below a root, increasing, and these labels."""
        labels = np.flatnonzero(self.parent != NO_PARENT)
        digests = self._digests[0][labels]
        # Labels with the same digest stay in order.
        order = np.argsort(digests, kind="stable")
        return digests[order], labels[order]

    @cached_property
    def _digests(self) -> tuple[IntArray, int]:
        digests, lengths = [0] * len(self.names), [0] * len(self.names)
        parents, separator = self.parent.tolist(), _encode(self.separator)
        for label in self.order.tolist():
            text, parent = _encode(self.names[label]), parents[label]
            if parent == NO_PARENT:
                digests[label], lengths[label] = _digest(text), len(text)
                continue
            step = separator + text
            digests[label] = (digests[parent] * _shift(len(step)) + _digest(step)) % _MODULUS
            lengths[label] = lengths[parent] + len(step)
        return np.array(digests, dtype=np.int64), max(lengths, default=0)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _digest(text: bytes) -> int:
    return int.from_bytes(text, "big") % _MODULUS


@cache
def _shift(n_bytes: int) -> int:
    """Return by what a digest is multiplied when so many bytes follow."""
    return pow(256, n_bytes, _MODULUS)
