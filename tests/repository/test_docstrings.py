from __future__ import annotations

import doctest
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from statsmodels.tools.docstring import NumpyDocString

import datasets.figures
import pipeline.maths

MODULES = [
    import_module(module.name)
    for package in (datasets.figures, pipeline.maths)
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
]
ROOT = Path(__file__).parents[2]
WITH_EXAMPLES = sorted(
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("schemas", "datasets", "pipeline", "serve")
    for file in (ROOT / package).rglob("*.py")
    if ">>> " in file.read_text()
)
STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def public_functions(module: ModuleType) -> Iterator[Callable[..., Any]]:
    classes = [
        member
        for name, member in vars(module).items()
        if inspect.isclass(member) and member.__module__ == module.__name__ and not name.startswith("_")
    ]
    for owner in (module, *classes):
        for name, member in vars(owner).items():
            function = inspect.unwrap(getattr(member, "__func__", member))
            is_own = inspect.isfunction(function) and function.__module__ == module.__name__
            if is_own and not name.startswith("_"):
                yield function


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_public_functions_document_their_parameters_and_results(module: ModuleType) -> None:
    for function in public_functions(module):
        signature = inspect.signature(function)
        sections = NumpyDocString(inspect.cleandoc(function.__doc__ or ""))
        documented = [name for entry in sections["Parameters"] for name in entry.name.split(", ")]
        parameters = [
            f"{STARS.get(parameter.kind, '')}{name}"
            for name, parameter in signature.parameters.items()
            if name not in {"self", "cls"}
        ]
        assert documented == parameters, function
        assert all(entry.type for entry in sections["Parameters"]), f"{function}: a parameter has no type"
        has_result = signature.return_annotation != "None"
        assert bool(sections["Returns"] or sections["Yields"]) == has_result, function


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings_give_the_results_shown(module: str) -> None:
    result = doctest.testmod(import_module(module))
    assert result.attempted
    assert not result.failed
