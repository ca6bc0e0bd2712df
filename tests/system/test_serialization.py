"""Saved data are read back equal, and only registered types are ever created."""

import ast
import json
import random
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np
import pytest
from scipy import sparse
from typing_extensions import TypeAliasType

import mhpc
from mhpc.errors import UnreadableError
from mhpc.methods.fitted import FittedMethod
from mhpc.model import HOMES
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.parameters import registered, registered_types
from mhpc.system.serialization import FORMAT, check_type, field_types, read_frozen, write_frozen
from tests.fixtures.saved_files import change_description

Scalar = TypeVar("Scalar", bound=np.generic)
Array = TypeAliasType("Array", np.ndarray[Any, np.dtype[Scalar]], type_params=(Scalar,))
Count = TypeAliasType("Count", int)


@registered("test.sample")
@dataclass(frozen=True)
class Sample:
    number: float
    seconds: float = 0.0
    ids: IntArray | None = None


def registered_in_source() -> dict[str, str]:
    """Return the module of every name that a decorator in the package registers."""
    root = Path(mhpc.__file__).parent
    names = {}
    for file in root.rglob("*.py"):
        module = ".".join(("mhpc", *file.relative_to(root).with_suffix("").parts))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                for call in node.decorator_list:
                    if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "registered":
                        names[ast.literal_eval(call.args[0])] = module.removesuffix(".__init__")
    return names


def round_trip(value: Any, folder: Path) -> Any:
    write_frozen(folder / "file.npz", value)
    return read_frozen(folder / "file.npz", HOMES)


def test_data_are_read_back_equal(tmp_path: Path) -> None:
    value = {
        "numbers": (1, 2.5, None, True, "text"),
        "array": np.arange(6).reshape(2, 3),
        "sparse": sparse.csr_array(np.array([[0.0, 2.0]])),
        "list": [np.float32(0.5), Sample(1.0, 2.0)],
        "method": mhpc.MHPC(lam=3),
    }
    result = round_trip(value, tmp_path)
    assert result["numbers"] == value["numbers"]
    np.testing.assert_array_equal(result["array"], value["array"])
    np.testing.assert_array_equal(dense(result["sparse"]), [[0.0, 2.0]])
    assert result["list"] == [0.5, Sample(1.0, 2.0)]
    assert result["method"] == mhpc.MHPC(lam=3)


@pytest.mark.parametrize("name", sorted(registered_in_source()))
def test_every_registered_class_round_trips(name: str, tmp_path: Path) -> None:
    import_module(registered_in_source()[name])
    kind = registered_types()[name]
    values = {field.name: example(field_types(kind)[field.name]) for field in fields(kind)}
    result = round_trip(kind(**values), tmp_path)
    assert type(result) is kind
    for field, value in values.items():
        restored = getattr(result, field)
        assert type(restored) is type(value), field
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(restored, value)


def example(annotation: Any) -> Any:
    """Return a small value that an annotation allows."""
    candidates: tuple[Any, ...] = (
        1, 0.5, True, "text", (), {}, np.zeros(2), np.zeros(2, dtype=np.int64),
        np.zeros(2, dtype=bool), sparse.csr_array((2, 2)), None,
    )  # fmt: skip
    if get_origin(annotation) is Literal:
        return get_args(annotation)[0]
    if get_origin(annotation) is tuple and Ellipsis not in get_args(annotation):
        return tuple(map(example, get_args(annotation)))
    union = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    for kind in (annotation, *union):
        if isinstance(kind, type) and getattr(kind, "saved_name", None):
            types = field_types(kind)
            return kind(**{field.name: example(types[field.name]) for field in fields(kind)})
    for value in candidates:
        try:
            check_type(value, annotation, "example")
        except TypeError:
            continue
        return value
    raise AssertionError(f"no example of {annotation}")


def test_every_fitted_method_is_registered() -> None:
    for home in HOMES.values():
        import_module(home.partition(":")[0])
    classes = [*FittedMethod.__subclasses__()]
    for kind in classes:
        classes += kind.__subclasses__()
    ours = [kind for kind in classes if kind.__module__.startswith("mhpc.")]
    assert len(ours) > 8
    assert [kind for kind in ours if "saved_name" not in vars(kind)] == []


def test_importing_the_home_of_a_prefix_registers_its_names() -> None:
    names = [name for name in registered_in_source() if "." in name]
    assert {name.partition(".")[0] for name in names} <= HOMES.keys()
    script = (
        "import sys; from importlib import import_module; from mhpc.model import HOMES\n"
        "from mhpc.parameters import registered_types\n"
        "for name in sys.argv[1:]: import_module(HOMES[name.partition('.')[0]].partition(':')[0])\n"
        "print(set(sys.argv[1:]) - set(registered_types()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, *names], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "set()"


@pytest.mark.parametrize("value", [print, object(), {1}, Path()])
def test_a_value_of_another_type_cannot_be_saved(value: object, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="cannot be saved"):
        write_frozen(tmp_path / "file.npz", value)


def test_a_subclass_is_not_saved_under_the_name_of_its_base(tmp_path: Path) -> None:
    class Other(Sample):
        pass

    with pytest.raises(TypeError, match="Other cannot be saved"):
        write_frozen(tmp_path / "file.npz", Other(1.0))


def test_two_classes_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match=r"'test\.sample' is the name of Sample already"):
        registered("test.sample")(dataclass(type("Another", (), {})))


def test_times_are_left_out_where_equal_data_must_give_equal_files(tmp_path: Path) -> None:
    for name, seconds in (("a", 1.0), ("b", 2.0)):
        write_frozen(tmp_path / name, Sample(1.0, seconds), timed=False)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"format": 1, "model": None}, r"written by another version \(format 1\); consolidate"),
        ({"format": "x" * 999, "value": None}, r"another version \(format x{20}\)"),
        ({"format": FORMAT, "value": {"type": "os.system", "fields": {}}}, "contains 'os.system'"),
        ({"format": FORMAT, "value": {"type": "mhpc:run", "fields": {}}}, "contains 'mhpc:run'"),
        ({"format": FORMAT, "value": {"type": "mhpc.data.index:Index", "fields": {}}}, "contains"),
        ({"format": FORMAT, "value": {"type": "test.sample", "fields": {}}}, "damaged"),
        (
            {"format": FORMAT, "value": {"type": "mhpc", "fields": {"lam": -1}}},
            "damaged: mhpc: lam",
        ),
        ({"format": FORMAT, "value": {"array": "gone"}}, "damaged"),
        ({"format": FORMAT, "value": [1]}, "damaged"),
        ({"format": FORMAT}, "damaged"),
        ([], "damaged"),
    ],
)
def test_a_file_that_this_version_did_not_write_is_refused_in_one_line(
    description: object, message: str, tmp_path: Path
) -> None:
    write_frozen(tmp_path / "file.npz", Sample(1.0))
    change_description(tmp_path / "file.npz", lambda _: description)
    with pytest.raises(UnreadableError, match=message) as error:
        read_frozen(tmp_path / "file.npz", HOMES)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "fields",
    [{"number": "text"}, {"number": None}, {"number": 1.0, "ids": 3}, {"number": 1.0, "other": 1}],
)
def test_a_field_of_another_type_is_refused(fields: dict[str, object], tmp_path: Path) -> None:
    write_frozen(tmp_path / "file.npz", Sample(1.0))
    change = {"format": FORMAT, "value": {"type": "test.sample", "fields": fields}}
    change_description(tmp_path / "file.npz", lambda _: change)
    with pytest.raises(UnreadableError, match="is damaged"):
        read_frozen(tmp_path / "file.npz", HOMES)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x04N.", b"\x93NUMPY", b"{}"])
def test_a_file_that_is_not_an_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file.npz").write_bytes(content)
    with pytest.raises(UnreadableError, match=r"file\.npz is damaged"):
        read_frozen(tmp_path / "file.npz", HOMES)


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "file.npz", description=np.array([print], dtype=object))
    with pytest.raises(UnreadableError, match="is damaged: its array 'description' cannot be read"):
        read_frozen(tmp_path / "file.npz", HOMES)


def test_headers_that_numpy_cannot_parse_are_refused_in_our_words(tmp_path: Path) -> None:
    """NumPy ends on some headers with errors of Python's parser."""
    path, rng = tmp_path / "file.npz", random.Random(0)
    write_frozen(path, {"x": np.arange(3)})
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(300):
        (name,) = members.keys() - {"description.npy"}
        content = bytearray(members[name])
        for _ in range(rng.choice((1, 1, 3))):
            content[rng.randrange(60)] = rng.choice((rng.randrange(256), *b"(){}[]'\",:\\\n"))
        with zipfile.ZipFile(path, "w") as archive:
            for member, old in members.items():
                archive.writestr(member, bytes(content) if member == name else old)
        try:
            read_frozen(path, HOMES)
        except UnreadableError as error:
            reason = str(error).removeprefix(f"{path} is damaged: ")
            assert re.match(r"its array '\w+' cannot be read;|it has no array '", reason), reason


def test_a_file_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "file.npz", a=np.zeros(1 << 20))
    with pytest.raises(UnreadableError, match=r"file\.npz unpacks to more than 200 times"):
        read_frozen(tmp_path / "file.npz", HOMES, max_unpacked=1 << 20)


@pytest.mark.parametrize(
    ("value", "annotation", "fits"),
    [
        (1, int, True),
        (True, int, False),
        (1, float, True),
        (np.zeros(2), FloatArray, True),
        (np.zeros(2), IntArray, False),
        (np.array(["a"]), FloatArray, False),
        (np.zeros(2), Array[np.float64], True),
        (np.zeros(2), Array[np.int64], False),
        (1, Count, True),
        ("a", Count, False),
        ((1, 2), tuple[int, ...], True),
        ((1, "a"), tuple[int, ...], False),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ({"a": 1}, dict[str, int], True),
        ({"a": "b"}, dict[str, int], False),
        ("a", Literal["a", "b"], True),
        ("c", Literal["a", "b"], False),
        (None, Sparse | None, True),
        (np.zeros(2), Sparse, False),
        (object(), Any, True),
    ],
)
def test_types_are_compared_with_annotations(value: object, annotation: Any, fits: bool) -> None:
    if fits:
        check_type(value, annotation, "value")
    else:
        with pytest.raises(TypeError, match="value is"):
            check_type(value, annotation, "value")


def test_a_description_holds_no_module_path(tmp_path: Path) -> None:
    data = mhpc.load_garden()
    result = mhpc.consolidate(data.votes, data.taxonomy, method="channel")
    assert result.consolidation.fitted is not None
    write_frozen(tmp_path / "file.npz", result.consolidation.fitted())
    with np.load(tmp_path / "file.npz") as arrays:
        description = json.loads(arrays["description"].tobytes())
    assert description["format"] == FORMAT
    assert "mhpc." not in json.dumps(description["value"])
