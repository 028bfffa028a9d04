"""Makes the package from the project's `datasets` and what it imports of `schemas`, under a name of its own.

Imports are renamed in place, as installers do with what they vendor; the rest of the source does not change.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "alpha_results_datasets"
NAMES = {"datasets": PACKAGE, "schemas": f"{PACKAGE}.schemas"}


class Vendored(BuildHookInterface[Any]):
    """Puts the package into a wheel or a source distribution."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the package; an editable one would have to be written again after every change, so there is none."""
        if version == "editable":
            raise RuntimeError("install it as a wheel: the checkout's own package is `datasets`")
        here = Path(self.root)
        source = here / "made" / PACKAGE  # in a source distribution it is made already
        if not source.is_dir():
            source = here / "build" / PACKAGE
            shutil.rmtree(source, ignore_errors=True)
            write_package(here.parents[1], source)
        prefix = "made/" if self.target_name == "sdist" else ""
        build_data["force_include"][str(source)] = f"{prefix}{PACKAGE}"


def write_package(repository: Path, target: Path) -> None:
    """Write every file of `datasets`, and every module of `schemas` that one of them imports, by whatever way, into a folder."""
    own = repository / "datasets"
    modules_of_own = [path for path in files(own) if path.suffix == ".py"]
    places = {path: path.relative_to(repository) for path in closure(repository, modules_of_own)}
    places |= {path: path.relative_to(own) for path in files(own)}
    write_files(repository, target, places)


def files(folder: Path) -> list[Path]:
    """Return the files below a folder that belong to a package."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def write_files(
    repository: Path, target: Path, places: Mapping[Path, Path], names: dict[str, str] = NAMES
) -> None:
    """Write files to their places in a folder, modules with their imports renamed."""
    for path, relative in places.items():
        place = target / relative
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".py":
            place.write_text(renamed(path.read_text("utf-8"), repository, names), "utf-8")
        else:
            shutil.copyfile(path, place)


def closure(repository: Path, start: list[Path], names: dict[str, str] = NAMES) -> list[Path]:
    """Return modules and, by whatever way, every module of the project that one of them imports."""
    reached: dict[Path, None] = {}
    waiting = [part for path in start for part in modules(repository, _dotted(path.relative_to(repository)))]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached[path] = None
        for name in imported(ast.parse(path.read_text("utf-8")), names):
            waiting += [module for module in modules(repository, name) if module not in reached]
    return sorted(reached)


def _dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imported(tree: ast.AST, names: dict[str, str] = NAMES) -> list[str]:
    """Return the dotted names that a module imports or names in full, those that may be modules among them."""
    dotted = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            dotted += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            dotted += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            dotted += [node.value] if all(part.isidentifier() for part in node.value.split(".")) else []
    return [name for name in dotted if name.partition(".")[0] in names]


def modules(repository: Path, name: str) -> list[Path]:
    """Return the files that importing a name runs: its packages, from the outermost, and itself."""
    paths = []
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        place = repository.joinpath(*parts[:depth])
        paths += [path for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()]
    return paths


def renamed(text: str, repository: Path, names: dict[str, str] = NAMES) -> str:
    """Return a module's text with its imports from the project, and the modules it names in full, under other names.

    What a logger is called stays, so that log lines are the same however the program is installed.
    """
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    loggers = {id(argument) for call in ast.walk(tree) if makes_logger(call) for argument in call.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            put(
                lines,
                node.lineno,
                f"from {node.module} import",
                f"from {new_name(node.module, names)} import",
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in loggers
            and is_module(repository, node.value, names)
        ):
            put(lines, node.lineno, f'"{node.value}"', f'"{new_name(node.value, names)}"')
        elif isinstance(node, ast.Import) and (
            named := {x.name.partition(".")[0] for x in node.names} & set(names)
        ):
            raise ValueError(f"line {node.lineno}: say `from {min(named)} import`, so that it can be renamed")
    return "".join(lines)


def makes_logger(node: ast.AST) -> TypeGuard[ast.Call]:
    """Return whether a node of a module is `structlog.get_logger(…)` or the like."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {
        "get_logger",
        "getLogger",
    }


def new_name(name: str, names: dict[str, str] = NAMES) -> str:
    """Return a module's name in the package; the same for one that is not of the project."""
    top, _, rest = name.partition(".")
    return ".".join(filter(None, [names.get(top, top), rest]))


def is_module(repository: Path, text: str, names: dict[str, str] = NAMES) -> bool:
    """Return whether a text is the full name of a module of the project, or of something in one, rather than a word like `datasets`."""
    parts = text.partition(":")[0].split(".")
    if len(parts) < 2 or parts[0] not in names or not all(part.isidentifier() for part in parts):
        return False
    place = repository.joinpath(*parts)
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def put(lines: list[str], number: int, old: str, new: str) -> None:
    """Replace a text that stands in a line, counted from 1."""
    lines[number - 1] = lines[number - 1].replace(old, new, 1)
