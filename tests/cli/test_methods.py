import json

from mhpc.methods.registry import METHODS
from tests.fixtures.commands import Mhpc


def test_json_is_all_that_is_on_standard_output(mhpc: Mhpc) -> None:
    done = mhpc("methods", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    methods = json.loads(done.stdout)
    assert [method["name"] for method in methods] == list(METHODS)
    assert all(method["summary"] and method["reference"] for method in methods)
    paper = next(method for method in methods if method["name"] == "mhpc")
    parameters = {entry["name"]: entry for entry in paper["parameters"]}
    assert parameters["lam"]["default"] == 10.0
    assert parameters["lam"]["range"] == "number >= 0"


def test_every_method_is_listed_with_its_parameters(mhpc: Mhpc) -> None:
    lines = mhpc("methods").stdout.splitlines()
    assert [line.split()[0] for line in lines if line and not line.startswith(" ")] == list(METHODS)
    assert any(line.split()[:3] == ["sigma", "=", "0.3"] for line in lines)
