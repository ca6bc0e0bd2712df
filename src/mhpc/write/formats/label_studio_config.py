"""Label Studio's labelling config: the hierarchy as a Taxonomy control."""

import re
from typing import BinaryIO, ClassVar
from xml.sax.saxutils import quoteattr

from mhpc.core.taxonomy import Taxonomy
from mhpc.errors import DataError
from mhpc.write.formats.format import Format, What, as_text

MOST = 1_000_000
"""Choices at most; a hierarchy with several parents, written as a tree, can grow without end."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class LabelStudioConfig(Format):
    """``<Taxonomy>`` with nested choices; a label with several parents stands below each."""

    name: ClassVar[str] = "label-studio-config"
    writes: ClassVar[tuple[What, ...]] = ("taxonomy",)

    from_name: str = "taxonomy"
    """The control's name."""

    to_name: str = "text"
    """The name of what is labelled."""

    data_key: str = "text"
    """The data field that it shows."""

    def write(self, file: BinaryIO, subject: Taxonomy, what: What) -> None:
        """Write the config, a choice a line."""
        names = [_attribute(name) for name in subject.names]
        shown, name, to = map(_attribute, ("$" + self.data_key, self.from_name, self.to_name))
        with as_text(file) as text:
            text.write(f"<View>\n  <Text name={to} value={shown}/>\n")
            text.write(f"  <Taxonomy name={name} toName={to}>\n")
            count = 0
            # What is still to be written, the next at the end; None closes a choice.
            waiting = [(int(root), 2) for root in reversed(subject.roots)]
            while waiting:
                label, level = waiting.pop()
                if label < 0:
                    text.write(f"{'  ' * level}</Choice>\n")
                    continue
                count += 1
                if count > MOST:
                    raise DataError(
                        f"the taxonomy has more than {MOST:,} paths, too many for a config"
                    )
                below = subject.children_of(label)
                text.write(f"{'  ' * level}<Choice value={names[label]}")
                text.write(">\n" if len(below) else "/>\n")
                if len(below):
                    waiting.append((-1, level))
                    waiting += [(int(child), level + 1) for child in reversed(below)]
            text.write("  </Taxonomy>\n</View>\n")


def _attribute(text: str) -> str:
    if found := _NOT_XML.search(text):
        raise DataError(f"{text!r} has the character {found[0]!r}, which XML cannot hold")
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
