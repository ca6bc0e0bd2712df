"""Normal forms of labels: what stays of a label when only its spelling is taken away."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from mhpc.data.label_paths import LabelPaths
from mhpc.data.votes import ABSTAINED, NONE_OF_THESE

STEP = ">"
"""What separates the steps of a path in its normal form."""

_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201b\u02bc\u02b9\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        # Characters that nobody sees: soft hyphen, zero-width spaces, joiners, byte order mark.
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff"),
    }
)
"""Typographic characters that stand for plain ones."""

_BLANKS = re.compile(r"[\s_]+")
_HYPHENS = re.compile(r"(?<=\w)(?:-+| -+ )(?=\w)")
_SEPARATORS = re.compile(r" ?(?:::|->|[>/|\\\u203a\u00bb\u2192]) ?")


def normalize_label(text: str) -> str:
    """Return the normal form of a label: equal for labels that differ only in spelling.

    Spelling is case, white space, ``_``, ``-`` or a blank between words, the separator of a path
    and the blanks around it, typographic quotes and dashes, and the form of Unicode (NFKC). A
    hyphen that is not between words may have a meaning, as in ``-1`` or ``A-``, and stays.

    Examples
    --------
    >>> normalize_label("  Bee_Balm / Monarda-didyma ")
    'bee balm>monarda didyma'
    >>> normalize_label("-1"), normalize_label("-")
    ('-1', '-')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_CHARACTERS))
        text = unicodedata.normalize("NFKC", text.casefold()).translate(_CHARACTERS)
    else:
        text = text.lower()
    blank = _BLANKS.sub(" ", text).strip()
    normal = _SEPARATORS.sub(STEP, _HYPHENS.sub(" ", blank))
    if normal.startswith(STEP) or normal.endswith(STEP):
        steps = [step for step in normal.split(STEP) if step]
        # /plant/flower/ is the path plant/flower; >5 is not 5.
        return STEP.join(steps) if len(steps) > 1 else normal
    return normal


@dataclass(frozen=True, eq=False)
class Spellings:
    """The labels that fit a normal form.

    Attributes
    ----------
    unique : mapping of str to int
        The label of every normal form of ids and names that one label has.
    shared : mapping of str to list of int
        The labels of every normal form of ids and names that several labels have, increasing.
    paths : LabelPaths, optional
        The labels by paths of the normal forms of names.
    """

    unique: dict[str, int]
    shared: dict[str, list[int]]
    paths: LabelPaths | None = None

    def find(self, normal: str) -> list[int]:
        """Return the labels with a normal form, increasing."""
        found = [self.unique[normal]] if normal in self.unique else self.shared.get(normal, [])
        by_path = self.paths.find(normal) if self.paths else []
        return sorted({*found, *by_path}) if by_path else found

    def find_one(self, normal: str) -> int | None:
        """Return the only label with a normal form; None if there are none or several."""
        found = self.find(normal)
        return found[0] if len(found) == 1 else None

    def find_above(self, normal: str) -> int | None:
        """Return the only label with the longest path above a path that has one.

        Examples
        --------
        >>> collect_spellings([("plant",), ("plant>flower",)]).find_above("plant>flower>rose")
        1
        """
        end = len(normal)
        while (end := normal.rfind(STEP, 0, end)) != -1:
            # Longer texts than any label has need not be compared: there may be many steps.
            if end <= self._max_length and (label := self.find_one(normal[:end])) is not None:
                return label
        return None

    @cached_property
    def _max_length(self) -> int:
        words = max(map(len, (*self.unique, *self.shared)), default=0)
        return max(words, self.paths.max_length if self.paths else 0)


def collect_spellings(
    spellings: Iterable[Sequence[str]], paths: LabelPaths | None = None
) -> Spellings:
    """Sort normal forms into those of one label and those of several, one sequence per label."""
    unique: dict[str, int] = {}
    shared: dict[str, set[int]] = {}
    for label, normal_forms in enumerate(spellings):
        for normal in normal_forms:
            if (other := unique.setdefault(normal, label)) != label:
                shared.setdefault(normal, {other}).add(label)
    for normal in shared:
        del unique[normal]
    by_normal_form = {normal: sorted(labels) for normal, labels in shared.items()}
    return Spellings(unique, by_normal_form, paths)


ABSTAIN_WORDS = (
    "abstain", "abstained", "unknown", "unsure", "not sure", "uncertain", "undecided", "don't know",
    "dont know", "do not know", "i don't know", "i dont know", "i do not know", "idk",
    "can't tell", "cannot tell", "n/a", "na", "nan", "null", "not available", "no answer",
    "unparsed", "unparsable", "unparseable", "parse error", "invalid", "error", "timeout",
    "refused", "refusal", "skip", "skipped", "?", "??", "???", "-", "--",
)  # fmt: skip
"""Words for "asked, but did not know", in any spelling, unless they are labels of the taxonomy."""

NONE_WORDS = (
    "none", "none of these", "none of the above", "none of them", "no label", "no labels",
    "nothing", "no match", "[]", "{}",
)  # fmt: skip
"""Words for "none of these", in any spelling, unless they are labels of the taxonomy."""

SPECIAL_WORDS: Mapping[str, int] = MappingProxyType({
    **dict.fromkeys(map(normalize_label, ABSTAIN_WORDS), ABSTAINED),
    **dict.fromkeys(map(normalize_label, NONE_WORDS), NONE_OF_THESE),
})  # fmt: skip
"""What each of these words, as `normalize_label` has it, stands for in place of a label."""
