"""Size and import structure of the packages: `just size`.

For each package: files, lines of code (without docstrings, comments, blank lines and imports), import cycles among its modules
and sub-packages, and its longest import chain. Imports under TYPE_CHECKING count.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = ("schemas", "datasets", "pipeline", "serve")
CLIENTS = "clients/*/src"

Imports = Mapping[str, set[str]]
"""Module -> modules it imports."""


def code_lines(source: str) -> int:
    """Count the lines of a module that are code."""
    lines = {
        number
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#")
    }
    for node in ast.walk(ast.parse(source)):
        text = (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        if text or isinstance(node, ast.Import | ast.ImportFrom):
            assert isinstance(node, ast.stmt)
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def cycles(graph: grimp.ImportGraph, package: str) -> list[set[str]]:
    """List the cycles among the children of a package, and of each package below it."""
    children = graph.find_children(package)
    inside = {child: {child} | graph.find_descendants(child) for child in children}
    owner = {module: child for child, modules in inside.items() for module in modules}
    imports: Imports = {
        child: {
            owner[imported]
            for module in modules
            for imported in graph.find_modules_directly_imported_by(module)
            if owner.get(imported, child) != child
        }
        for child, modules in inside.items()
    }
    return tangles(imports) + [cycle for child in sorted(children) for cycle in cycles(graph, child)]


def tangles(imports: Imports) -> list[set[str]]:
    """Group the modules that reach one another."""

    @cache
    def reached(module: str) -> frozenset[str]:
        seen: set[str] = set()
        ahead = list(imports[module])
        while ahead:
            if (following := ahead.pop()) not in seen:
                seen.add(following)
                ahead += imports[following]
        return frozenset(seen)

    groups = {
        frozenset(other for other in reached(module) if module in reached(other))
        for module in imports
        if module in reached(module)
    }
    return sorted(map(set, groups), key=sorted)


def longest_chain(imports: Imports) -> list[str]:
    """Return the longest chain in which each module imports the next; a cycle counts as its modules in one place."""
    groups = {module: frozenset(tangle) for tangle in tangles(imports) for module in tangle}
    groups |= {module: frozenset({module}) for module in imports if module not in groups}
    above: dict[frozenset[str], set[frozenset[str]]] = {group: set() for group in groups.values()}
    for module, imported in imports.items():
        above[groups[module]] |= {groups[x] for x in imported} - {groups[module]}
    chains: dict[frozenset[str], list[str]] = {}
    for group in TopologicalSorter(above).static_order():
        following = max((chains[x] for x in above[group]), key=len, default=[])
        chains[group] = sorted(group) + following
    return max(chains.values(), key=len, default=[])


def imports_within(graph: grimp.ImportGraph, package: str) -> Imports:
    """Return the imports among the modules of a package."""
    modules = {package} | graph.find_descendants(package)
    return {module: graph.find_modules_directly_imported_by(module) & modules for module in modules}


def counted(folder: str) -> tuple[int, int]:
    """Return the lines of code and the files below a folder."""
    modules = list(PROJECT.glob(f"{folder}/**/*.py"))
    return sum(code_lines(path.read_text()) for path in modules), len(modules)


def main() -> None:
    """Write the table; `--chains` writes cycles and chains, too."""
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False)
    table = [f"{'package':12}{'code lines':>12}{'files':>8}{'cycles':>9}{'longest chain':>15}"]
    details: list[str] = []
    for package in PACKAGES:
        tangled, chain = cycles(graph, package), longest_chain(imports_within(graph, package))
        lines, files = counted(package)
        table.append(f"{package:12}{lines:12,}{files:8}{len(tangled):9}{len(chain):15}")
        details += [f"cycle: {', '.join(sorted(cycle))}" for cycle in tangled]
        details.append(f"chain: {' > '.join(chain)}")
    lines, files = counted(CLIENTS)
    table.append(f"{'clients':12}{lines:12,}{files:8}")
    lines, files = (sum(counts) for counts in zip(*map(counted, (*PACKAGES, CLIENTS)), strict=True))
    table.append(f"{'together':12}{lines:12,}{files:8}")
    sys.stdout.write("\n".join([*table, *(details if "--chains" in sys.argv else []), ""]))


if __name__ == "__main__":
    main()
