"""YAML within safe limits: no objects, no aliases, no key twice, no deep nesting."""

from typing import Any

from mhpc.errors import MissingExtraError, UnreadableError
from mhpc.read.json_xml import MAX_DEPTH, too_deep_error

MAX_YAML = 1 << 24
"""The largest YAML document to read: 16 MiB. The parser takes about a second per MiB."""

_NULL = "tag:yaml.org,2002:null"


def load_yaml(
    content: bytes, origin: str, *, as_texts: bool = False, max_bytes: int = MAX_YAML
) -> Any:
    """Parse a YAML document in UTF-8, which messages refer to as `origin`.

    Parameters
    ----------
    content : bytes
        The document.
    origin : str
        How messages refer to it.
    as_texts : bool
        Leave words such as ``no`` and ``1.0`` as they are, since they may be labels.
    max_bytes : int
        The size from which it is refused.
    """
    try:
        import yaml
    except ImportError:
        raise MissingExtraError(f"{origin} is YAML; pip install 'mhpc[yaml]' to read it") from None
    if len(content) > max_bytes:
        raise UnreadableError(
            f"{origin} is larger than {max_bytes >> 20} MiB, the limit for YAML; give JSON instead"
        )
    try:
        text = content.decode("utf-8-sig")
        _check_events(yaml, text, origin)
        return yaml.load(text, Loader=_make_loader(yaml, as_texts))  # noqa: S506 - a SafeLoader
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError(f"{origin}, line {line:,}: not UTF-8; save it as UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{origin}, line {mark.line + 1:,}" if mark else origin
        raise UnreadableError(f"{where}: not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UnreadableError(f"{origin}: not YAML: {reason}") from None


def _check_events(yaml: Any, text: str, origin: str) -> None:
    """Refuse aliases, which can multiply a document beyond any size, and deep nesting."""
    depth = 0
    for event in yaml.parse(text, Loader=_base_loader(yaml)):
        if isinstance(event, yaml.AliasEvent):
            raise UnreadableError(
                f"{origin}, line {event.start_mark.line + 1:,}: aliases such as *{event.anchor} "
                "are not read; write them out"
            )
        if getattr(event, "tag", None) not in (None, "!"):
            raise UnreadableError(
                f"{origin}, line {event.start_mark.line + 1:,}: tags such as {event.tag!r} are not "
                "read; leave them out"
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise too_deep_error(origin)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _base_loader(yaml: Any) -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _make_loader(yaml: Any, as_texts: bool) -> Any:
    """Return a safe loader that refuses a key that is given twice."""
    base = _base_loader(yaml)

    def construct_mapping(self: Any, node: Any, deep: bool = False) -> Any:
        mapping = base.construct_mapping(self, node, deep=deep)
        if len(mapping) < len(node.value):
            raise yaml.constructor.ConstructorError(
                None, None, "a key is given twice", node.start_mark
            )
        return mapping

    members: dict[str, Any] = {"construct_mapping": construct_mapping}
    if as_texts:
        members["yaml_implicit_resolvers"] = {
            first: [(tag, pattern) for tag, pattern in resolvers if tag == _NULL]
            for first, resolvers in base.yaml_implicit_resolvers.items()
        }
    return type("Loader", (base,), members)
