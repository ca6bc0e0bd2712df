"""What the pages, the help and the messages name, the package has: nothing is listed here twice."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

import mhpc
from mhpc import errors
from mhpc.cli import cli
from mhpc.errors import MhpcError, spell_arguments
from mhpc.methods.registry import METHODS, method_class
from mhpc.parameters import Parameters
from mhpc.read.taxonomy_formats import TAXONOMY_FORMATS
from mhpc.read.vote_formats import VOTE_FORMATS
from mhpc.rules.registry import RULES, rule_class
from mhpc.write.formats import WRITE_FORMATS, format_class
from tests.docs.mentions import (
    GAP,
    SOURCES,
    TEXT_PAGES,
    Mention,
    commands_in,
    fenced_code,
    inline_code,
    options_in,
    parameters,
    parse,
    texts_of,
)
from tests.docs.pages import ROOT

GROUP_OPTIONS = {"--help", "--version", "--debug", "--verbose"}

OTHER_PROGRAMS = re.compile(r"\b(dask (worker|ssh|scheduler)|kubectl run|pip|git|npm)\b")

OTHER_OPTIONS = {"--break-system-packages"}
"""Options of pip that a page advises against."""

EXAMPLE_METHOD = "shrinkage"
"""The method that CONTRIBUTING adds."""

PARAMETERIZED = [
    *(method_class(name) for name in METHODS),
    *(rule_class(name) for name in RULES),
    *(format_class(name) for name in WRITE_FORMATS),
]
REGISTRIES: Mapping[str, Callable[[], Any]] = {
    "--method": lambda: METHODS,
    "--rule": lambda: RULES,
    "--format": lambda: {**VOTE_FORMATS, **TAXONOMY_FORMATS},
    "--taxonomy-format": lambda: TAXONOMY_FORMATS,
}
"""Options whose value is the name of something that is registered."""

pages = pytest.mark.parametrize(
    "page", TEXT_PAGES, ids=lambda page: page.relative_to(ROOT).as_posix()
)


def code_of(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [*inline_code(text), *fenced_code(text)]


def is_known(mention: Mention) -> bool:
    if mention.flag in GROUP_OPTIONS | OTHER_OPTIONS:
        return True
    commands = [mention.command] if mention.command else list(parameters())
    return any(mention.flag in parameters()[name] for name in commands)


def allows(mention: Mention) -> bool:
    """Return whether the value behind an option is allowed; placeholders and paths are."""
    value = mention.value
    if value is None or not re.fullmatch(r"[a-z][a-z0-9-]*", value):
        return True
    if mention.flag in REGISTRIES:
        return value.partition("=")[0] in REGISTRIES[mention.flag]()
    commands = [mention.command] if mention.command else list(parameters())
    choices = [
        parameters()[name][mention.flag].type
        for name in commands
        if mention.flag in parameters()[name]
    ]
    return not choices or any(
        not isinstance(kind, click.Choice) or value in kind.choices for kind in choices
    )


@pages
def test_pages_name_commands_options_and_values_that_exist(page: Path) -> None:
    for code in code_of(page):
        assert set(commands_in(code)) <= set(parameters()), code
        if OTHER_PROGRAMS.search(code) or "python -m" in code or EXAMPLE_METHOD in code:
            continue
        for mention in options_in(code):
            if page.name == "quality.md" and not mention.command:
                continue  # Those of the benchmarks, which the next test looks for.
            assert is_known(mention), code
            assert allows(mention), code


@pages
def test_options_of_scripts_exist(page: Path) -> None:
    for code in code_of(page):
        for module, rest in re.findall(r"python -m ((?:benchmarks|stress|tools)[\w.]*)(.*)", code):
            script = ROOT.joinpath(*module.split("."))
            file = script / "__main__.py" if script.is_dir() else script.with_suffix(".py")
            for mention in options_in(rest):
                assert f'"{mention.flag}"' in file.read_text(encoding="utf-8"), code


def test_texts_of_the_code_name_options_that_exist() -> None:
    for text in (text for module in SOURCES for text in texts_of(module) if "--" in text):
        for mention in options_in(text):
            assert is_known(mention), text
        for mention in (mention for code in inline_code(text) for mention in options_in(code)):
            assert allows(mention), text


def test_texts_of_the_page_name_options_that_exist() -> None:
    styles = re.compile(r"<style.*?</style>|style[=:][^\n]*|var\(--[^)]*\)", re.S)
    folder = ROOT / "web" / "src"
    for file in (*folder.rglob("*.svelte"), *folder.rglob("*.ts")):
        for mention in options_in(styles.sub("", file.read_text(encoding="utf-8"))):
            assert is_known(mention), f"{file.name}: {mention}"


@pytest.mark.parametrize("command", parameters())
def test_help_names_options_of_its_own_command(command: str) -> None:
    declared = cli.get_command(click.Context(cli), command)
    assert declared is not None
    helps = [declared.help, declared.short_help, declared.epilog]
    helps += [
        parameter.help for parameter in declared.params if isinstance(parameter, click.Option)
    ]
    for text in filter(None, helps):
        for mention in options_in(text):
            owner = mention.command or command
            assert mention.flag in parameters()[owner], text


@pytest.mark.parametrize("command", parameters())
def test_every_command_and_option_is_documented(command: str) -> None:
    # docs/reference/commands.md is made of these texts.
    declared = cli.get_command(click.Context(cli), command)
    assert declared is not None
    assert declared.help
    assert declared.short_help
    for parameter in declared.params:
        assert not isinstance(parameter, click.Option) or parameter.help, parameter.name


@pytest.mark.parametrize("kind", PARAMETERIZED, ids=lambda kind: kind.name)
def test_every_parameter_is_documented(kind: type[Parameters]) -> None:
    assert all(field["meaning"] for field in kind.describe())


def advised_options() -> Iterator[tuple[str, Any, str | None]]:
    """Yield the name, value and command of every option that a message advises."""
    for path in SOURCES:
        for node in ast.walk(parse(path)):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) != "option":
                continue
            if not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            value = _constant(node.args[1]) if len(node.args) > 1 else None
            commands = [_constant(word.value) for word in node.keywords if word.arg == "command"]
            yield str(node.args[0].value), value, commands[0] if commands else None


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return GAP


def test_advice_names_options_of_the_command_line_and_arguments_of_python() -> None:
    advised = list(advised_options())
    assert len(advised) > 30
    for name, value, command in advised:
        (mention, *_) = options_in(errors.spell_options(errors.option(name, value)))
        assert is_known(Mention(mention.flag, mention.value, command)), name
        assert allows(mention), name
        argument = re.match(r"\w+", spell_arguments(errors.option(name, value)))
        assert command or (argument and argument[0] in python_arguments()), name


@cache
def python_arguments() -> set[str]:
    """Return the arguments of the public functions and of the methods of a result."""
    signatures = map(inspect.signature, public_callables().values())
    return {name for signature in signatures for name in signature.parameters}


@cache
def public_callables() -> dict[str, Callable[..., Any]]:
    """Return the public functions, methods of a result, and classes with parameters, by name."""
    members = inspect.getmembers(mhpc.Result, callable)
    found = {f"result.{name}": member for name, member in members if not name.startswith("_")}
    for name in dir(mhpc):
        item = getattr(mhpc, name)
        if inspect.isfunction(item) or (inspect.isclass(item) and issubclass(item, Parameters)):
            found[f"mhpc.{name}"] = item
    return found


@pages
def test_calls_of_python_have_the_arguments_of_the_functions(page: Path) -> None:
    for code in inline_code(page.read_text(encoding="utf-8")):
        if not code.startswith(("mhpc.", "result.")):
            continue
        try:
            tree = ast.parse(code)
        except SyntaxError:
            continue  # A sentence with an ellipsis.
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = {"mhpc": mhpc, "result": mhpc.Result}.get(node.value.id)
                assert owner is None or has_attribute(owner, node.attr), code
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if name in public_callables():
                    accepted = inspect.signature(public_callables()[name]).parameters.values()
                    takes_any = any(item.kind is item.VAR_KEYWORD for item in accepted)
                    keywords = {word.arg for word in node.keywords}
                    assert takes_any or keywords <= {item.name for item in accepted}, code


def has_attribute(owner: Any, name: str) -> bool:
    if hasattr(owner, name) or name in getattr(owner, "__dataclass_fields__", ()):
        return True
    # A submodule, such as mhpc.metrics.
    return owner is mhpc and (ROOT / "src" / "mhpc" / name).exists()


@pages
def test_parameters_with_values_are_allowed(page: Path) -> None:
    for code in inline_code(page.read_text(encoding="utf-8")):
        setting = re.fullmatch(r"(?:--set )?([a-z_]+)=([\w.+-]+)", code)
        if setting is None or page.name == "formats.md":
            continue  # There, `levels=A` is the argument of a format.
        name, value = setting[1], None if setting[2] == "none" else setting[2]
        owners = [kind for kind in PARAMETERIZED if name in kind.model_fields]
        if not owners:
            assert name in python_arguments(), code
            continue
        assert any(accepts(kind, name, value) for kind in owners), code


def accepts(kind: type[Parameters], name: str, value: Any) -> bool:
    try:
        kind(**{name: value})
    except MhpcError:
        return False
    return True
