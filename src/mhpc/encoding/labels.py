"""Finding the labels of votes in a taxonomy, also those that are almost right.

A label is looked for in this order:

1. a word that the user declared as "did not know";
2. an id, or a name or path that only one label has;
3. the same in another spelling (`mhpc.data.spelling`), if exactly one label fits;
4. a word for "did not know" or for "none of these" (`mhpc.data.spelling.SPECIAL_WORDS`);
5. what the policy for unknown labels says: the nearest label, the deepest known label of a path, a
   new label, nothing, or an error.

Whatever is not found literally is counted and reported in a warning.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from mhpc.data.index import UNKNOWN, Index
from mhpc.data.spelling import SPECIAL_WORDS, STEP, normalize_label
from mhpc.data.taxonomy import Taxonomy, unknown_label_message
from mhpc.data.votes import ABSTAIN_WORD, ABSTAINED, LabelPolicy, MatchKind, Policy
from mhpc.encoding.similarity import find_most_similar
from mhpc.errors import MhpcWarning, UnknownLabelError, option, pluralize, quote_list, warn
from mhpc.numerics.arrays import IntArray

_SEPARATORS = (";", "|", ",", "/")
"""What may separate several labels in one cell."""

_NEGATION = "!"
"""What marks a label that does not apply."""

_MAX_EXAMINED = 200
"""Unknown labels that are examined for what may be wrong with them."""

_MAX_FITTING = 3
"""Labels that a message names if one spelling fits several."""

_MAX_PAIRS = 3
"""Labels that a warning shows together with what they were taken for."""


@dataclass(frozen=True, eq=False)
class LabelMatches:
    """Where labels are in a taxonomy.

    Attributes
    ----------
    position : int array, (L,)
        The position of every label: `NONE_OF_THESE` or `ABSTAINED` for words that mean this, and
        `ABSTAINED` for labels that were not found, since an invented label is not a "no".
    kinds : mapping of int to MatchKind
        How labels were understood that are not in the taxonomy as they are written.
    missing : int array
        The labels that were not found, increasing.
    """

    position: IntArray
    kinds: dict[int, MatchKind] = field(default_factory=dict)
    missing: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class LocatedLabels:
    """A taxonomy, extended if labels were grafted, and the position of every label in it.

    Attributes
    ----------
    taxonomy : Taxonomy
        The taxonomy.
    position : int array, (L,)
        As in `LabelMatches`.
    """

    taxonomy: Taxonomy
    position: IntArray


def locate_labels(
    taxonomy: Taxonomy,
    labels: Index,
    *,
    unknown: Policy,
    origin: str,
    describe: Callable[[int], str] = lambda label: "",
    count_share: Callable[[IntArray], float] = lambda missing: 1.0,
    can_graft: bool = True,
) -> LocatedLabels:
    """Locate labels in a taxonomy, and refuse, drop, replace or add those that it lacks.

    Parameters
    ----------
    taxonomy : Taxonomy
        Where to look.
    labels : Index
        The labels, by id, name or path, in any spelling.
    unknown : LabelPolicy, or "auto", "error", "drop", "graft", "nearest" or "ancestor"
        What to do with labels that the taxonomy lacks.
    origin : str
        Where the labels come from, for messages.
    describe : callable
        Returns what an error says of the label at a position, such as who gave it.
    count_share : callable
        Returns which share of the votes the labels at some positions have.
    can_graft : bool
        Whether labels may be added to the taxonomy; if not, ``"graft"`` drops them.
    """
    policy = LabelPolicy.of(unknown)
    matches = match_labels(taxonomy, labels, policy)
    missing = matches.missing
    share = count_share(missing) if len(missing) and policy.unknown == "auto" else 1.0
    if len(missing) and policy.refuses(share):
        message = _explain_missing(taxonomy, labels, missing, describe, are_votes=can_graft)
        added = (
            f", or add them to the taxonomy with {option('unknown', 'graft')}" if can_graft else ""
        )
        raise UnknownLabelError(f"{origin}: {message}{added}")
    messages = list(_describe_matches(taxonomy, labels, matches))
    position = matches.position.copy()
    if len(missing):
        names, treatment = [labels[label] for label in missing], "left out"
        if policy.unknown == "graft" and can_graft:
            taxonomy, position[missing] = _graft_spellings(taxonomy, names)
            treatment = "added to the taxonomy"
        count = pluralize(len(names), "label")
        if policy.unknown == "auto":
            count += f" ({share:.1%} of the votes)".replace("%", " %")
        messages.append(f"{count} not in the taxonomy, {treatment}: {quote_list(names)}")
    for message in messages:
        warn(f"{origin}: {message}", MhpcWarning, stacklevel=4)
    return LocatedLabels(taxonomy, position)


def match_labels(taxonomy: Taxonomy, labels: Index, unknown: Policy = "drop") -> LabelMatches:
    """Find labels in a taxonomy as `locate_labels` does, without refusing or adding any.

    Normal forms are computed only if there are labels that are not in the taxonomy as they are.
    """
    policy = LabelPolicy.of(unknown)
    position = taxonomy.locate(labels)
    kinds: dict[int, MatchKind] = {}
    if policy.abstain:
        declared = set(map(normalize_label, policy.abstain))
        words = [label for label, text in enumerate(labels) if normalize_label(text) in declared]
        position[words] = ABSTAINED
        kinds |= dict.fromkeys(words, "abstain")
    for label in np.flatnonzero(position == UNKNOWN).tolist():
        if match := _match_spelling(taxonomy, labels[label]):
            position[label], kind = match
            # Our own word, by which readers write that a source did not answer, is nothing to say.
            if labels[label] != ABSTAIN_WORD:
                kinds[label] = kind
    missing = np.flatnonzero(position == UNKNOWN)
    missing = missing[[label not in kinds for label in missing.tolist()]]
    if policy.unknown in ("nearest", "ancestor"):
        texts = [labels[label] for label in missing]
        find = find_nearest if policy.unknown == "nearest" else find_ancestors
        position[missing] = find(taxonomy, texts)
        placed = position[missing] != UNKNOWN
        kinds |= dict.fromkeys(missing[placed].tolist(), policy.unknown)
        missing = missing[~placed]
    position[missing] = ABSTAINED
    return LabelMatches(position, kinds, missing)


def _match_spelling(taxonomy: Taxonomy, label: str) -> tuple[int, MatchKind] | None:
    """Return the position of a label that is spelled in another way, or that is a special word."""
    normal = normalize_label(label)
    found = taxonomy.spellings.find(normal)
    if len(found) == 1:
        return found[0], "spelling"
    if found or normal not in SPECIAL_WORDS:
        return None
    return SPECIAL_WORDS[normal], "abstain" if SPECIAL_WORDS[normal] == ABSTAINED else "none"


def find_nearest(taxonomy: Taxonomy, labels: Sequence[str]) -> IntArray:
    """Return the label whose id or name is most similar to each of some labels.

    Of a path only the last step is compared, since paths of different labels begin alike.
    `UNKNOWN` if nothing is similar enough, or if several labels are equally similar.
    """
    if not labels:
        return np.zeros(0, dtype=np.int64)
    known = list(enumerate(taxonomy.labels))
    known += [
        (k, name) for (k, id_), name in zip(known, taxonomy.names, strict=True) if name != id_
    ]
    texts = [_last_step(text) for _, text in known]
    owner = np.array([label for label, _ in known])
    return find_most_similar([_last_step(label) for label in labels], texts, owner)[0]


def _last_step(label: str) -> str:
    """Return the normal form of the last step of a path; the whole of one that ends in a number."""
    normal = normalize_label(label)
    last = normal.rpartition(STEP)[2]
    return last if any(map(str.isalpha, last)) else normal


def find_ancestors(taxonomy: Taxonomy, labels: Sequence[str]) -> IntArray:
    """Return the deepest known label on the path of each label, or `UNKNOWN`."""
    found = (taxonomy.spellings.find_above(normalize_label(label)) for label in labels)
    positions = (UNKNOWN if label is None else label for label in found)
    return np.fromiter(positions, dtype=np.int64, count=len(labels))


def graft(taxonomy: Taxonomy, labels: Sequence[str]) -> Taxonomy:
    """Add labels as roots, or below the deepest known label of their path."""
    old = len(taxonomy)
    ids = Index((*taxonomy.labels, *labels))
    above = find_ancestors(taxonomy, labels)
    below = np.flatnonzero(above != UNKNOWN)
    parents = taxonomy.parents.tocoo()
    child = np.concatenate([parents.row, old + below]).astype(np.int64)
    parent = np.concatenate([parents.col, above[below]]).astype(np.int64)
    grown = sparse.coo_array((np.ones(len(child)), (child, parent)), shape=(len(ids), len(ids)))
    return Taxonomy(
        ids, (*taxonomy.names, *labels), grown.tocsr(), taxonomy.alternative_ids, taxonomy.exclusive
    )


def _graft_spellings(taxonomy: Taxonomy, labels: Sequence[str]) -> tuple[Taxonomy, IntArray]:
    """Add labels, those that differ only in spelling once; return their positions as well."""
    spellings = taxonomy.spellings
    # A spelling that fits several labels would be ambiguous again when the votes are read again.
    keys = [x if len(spellings.find(normal := normalize_label(x))) > 1 else normal for x in labels]
    first = dict(zip(reversed(keys), reversed(labels), strict=True))
    new = [label for key, label in zip(keys, labels, strict=True) if first[key] == label]
    grown = graft(taxonomy, new)
    return grown, grown.labels.locate(first[key] for key in keys)


def _describe_matches(taxonomy: Taxonomy, labels: Index, matches: LabelMatches) -> Iterator[str]:
    """Say which labels were understood as something else, in one message for each way."""
    by_kind: dict[str, list[int]] = {}
    for label, kind in matches.kinds.items():
        by_kind.setdefault(kind, []).append(label)
    for kind, words in (
        ("spelling", "matched although spelled differently"),
        ("nearest", "not in the taxonomy, replaced by the nearest one"),
        ("ancestor", "not in the taxonomy, replaced by the deepest known label of the path"),
    ):
        if found := by_kind.get(kind):
            pairs = ((labels[x], _shown_name(taxonomy, int(matches.position[x]))) for x in found)
            yield f"{pluralize(len(found), 'label')} {words}: {_list_pairs([*pairs])}"
    special = [
        f'{quote_list([labels[x] for x in found])} as "{meaning}"'
        for kind, meaning in (("abstain", "did not know"), ("none", "none of these"))
        if (found := by_kind.get(kind))
    ]
    if special:
        yield f"words that are no labels were understood: {'; '.join(special)}"


def _list_pairs(pairs: Sequence[tuple[str, str]]) -> str:
    shown = ", ".join(f"{quote_list([x])} as {quote_list([to])}" for x, to in pairs[:_MAX_PAIRS])
    more = len(pairs) - _MAX_PAIRS
    return f"{shown} and {more:,} more" if more > 0 else shown


def _explain_missing(
    taxonomy: Taxonomy,
    labels: Index,
    missing: IntArray,
    describe: Callable[[int], str],
    *,
    are_votes: bool,
) -> str:
    """Return an example of the unknown labels, and first of all the advice that fits most."""
    texts = [labels[label] for label in missing[:_MAX_EXAMINED]]
    nearest = find_nearest(taxonomy, texts)
    advice = _advise(taxonomy, texts, nearest, are_votes=are_votes)
    counts = {each: advice.count(each) for each in dict.fromkeys(advice)}
    common = max(counts, key=lambda each: (each != "", counts[each]))
    example = advice.index(common)
    more = f" ({pluralize(len(missing), 'such label')} in all)" if len(missing) > 1 else ""
    return (
        f"{_describe_missing(taxonomy, texts[example], nearest[example])}"
        f"{describe(int(missing[example]))}{more}; "
        f"{common or 'correct it'}, or leave such labels out with "
        f"{option('unknown', 'drop')}"
    )


def _describe_missing(taxonomy: Taxonomy, label: str, nearest: int) -> str:
    if nearest != UNKNOWN:
        similar = quote_list([_shown_name(taxonomy, nearest)])
        return f"label {quote_list([label])} is not in the taxonomy (nearest: {similar})"
    fitting = taxonomy.spellings.find(normalize_label(label))
    if len(fitting) > 1 and label not in taxonomy.names:
        ids = [quote_list([taxonomy.labels[position]]) for position in fitting[:_MAX_FITTING]]
        more = " and others" if len(fitting) > _MAX_FITTING else ""
        return f"label {quote_list([label])} fits {' and '.join(ids)}{more}; give an id"
    return unknown_label_message(taxonomy, label)


def _shown_name(taxonomy: Taxonomy, label: int) -> str:
    """Return the name of a label, which says more to people, or the id if others share the name."""
    name = taxonomy.names[label]
    is_unique = taxonomy.spellings.find_one(normalize_label(name)) == label
    return name if is_unique else taxonomy.labels[label]


def _advise(
    taxonomy: Taxonomy, labels: Sequence[str], nearest: IntArray, *, are_votes: bool
) -> list[str]:
    """Return what would make each label known, or an empty text."""
    ancestors = find_ancestors(taxonomy, labels)
    advice = []
    for label, above, similar in zip(labels, ancestors, nearest, strict=True):
        words = _advise_on_marks(taxonomy, label, are_votes=are_votes)
        if not words and above != UNKNOWN:
            words = f"take the deepest known label of a path with {option('unknown', 'ancestor')}"
        elif not words and similar != UNKNOWN:
            words = f"correct it, or take the nearest label with {option('unknown', 'nearest')}"
        advice.append(words)
    return advice


def _advise_on_marks(taxonomy: Taxonomy, label: str, *, are_votes: bool) -> str:
    """Return the option for a cell that holds several labels, or a mark before a label."""
    for separator in _SEPARATORS:
        parts = [part for part in label.split(separator) if part.strip()]
        if len(parts) > 1 and _are_known(taxonomy, parts):
            return f"if a cell holds several labels, give {option('separator', separator)}"
    negated = label.strip().removeprefix(_NEGATION)
    # Only votes can be negative.
    if are_votes and negated != label.strip() and _are_known(taxonomy, [negated]):
        give = option("negative", "mark")
        return f"if {_NEGATION!r} means that a label does not apply, give {give}"
    return ""


def _are_known(taxonomy: Taxonomy, labels: Sequence[str]) -> bool:
    exact = taxonomy.locate(labels)
    return all(
        at != UNKNOWN or taxonomy.spellings.find_one(normalize_label(label)) is not None
        for label, at in zip(labels, exact, strict=True)
    )
