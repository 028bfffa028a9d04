"""Exit codes are declared once; errors, ``--help`` and documents follow."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import click
import pytest
from alpha_results.group import cli as installed
from click.testing import CliRunner

from pipeline.group import cli as pipeline
from schemas.errors import AlphaResultsError
from schemas.exit_codes import ExitCode
from serve.cli.group import serve
from tests.support.processes import REPOSITORY, environment

PLACES = ("schemas", "datasets", "pipeline", "serve", "clients/project")
GROUPS = {"pipeline": pipeline, "serve": serve, "alpha-results": installed}


def every(kind: type[AlphaResultsError]) -> Iterator[type[AlphaResultsError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from every(below)


def test_every_errors_exit_code_agrees_on_retrying() -> None:
    for kind in every(AlphaResultsError):
        assert isinstance(kind.exit_code, ExitCode), kind
        assert kind.exit_code.retry in {None, kind.retryable}, kind


def literals(tree: ast.AST) -> Iterator[int]:
    """Yield the codes that a module exits with by number."""
    for node in ast.walk(tree):
        values: list[ast.expr] = []
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name == "SystemExit" or re.fullmatch(
                r"(sys|ctx|context|click\.get_current_context\(\))\.exit", name
            ):
                values = node.args
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(ast.unparse(target).lower().endswith("exit_code") for target in targets):
                values = [node.value]
        for value in values:
            for part in ast.walk(value):
                if isinstance(part, ast.Constant) and type(part.value) is int and part.value:
                    yield part.value


def test_commands_exit_only_with_declared_codes() -> None:
    assert list(literals(ast.parse("import sys\nsys.exit(11)\nclass A:\n    exit_code = 12"))) == [11, 12]
    results = {
        path.relative_to(REPOSITORY).as_posix(): codes
        for place in PLACES
        for path in sorted((REPOSITORY / place).rglob("*.py"))
        if (codes := list(literals(ast.parse(path.read_text("utf-8")))))
    }
    assert results == {}, "take a member of schemas.exit_codes.ExitCode, or declare one"


@pytest.mark.parametrize("name", GROUPS)
def test_the_help_of_every_program_lists_the_exit_codes(name: str) -> None:
    shown = " ".join(CliRunner().invoke(GROUPS[name], ["--help"]).output.split())
    for code in ExitCode:
        assert f"{code.value} {code.meaning}" in shown


def run_into(output: IO[bytes], arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program whose standard output is a file."""
    return subprocess.run(
        [sys.executable, "-m", *arguments.split()],
        cwd=REPOSITORY,
        env=environment(),
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        "pipeline --help",
        "pipeline rules",
        "pipeline rules --json",
        "serve keys --help",
        "datasets units",
        "alpha_results_seal check nowhere --json",
    ],
)
def test_a_command_whose_reader_has_gone_ends_quietly(arguments: str) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = run_into(closed, arguments)
    assert (done.returncode, done.stderr) == (ExitCode.OUTPUT_CLOSED, "")


@pytest.mark.parametrize(
    "arguments",
    ["pipeline --help", "pipeline rules", "pipeline rules --json", "datasets units", "pipeline build --json"],
)
def test_a_command_whose_output_goes_to_a_full_disk_says_so(arguments: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_into(full, arguments)
    assert done.returncode == ExitCode.STORE_AWAY
    assert done.stderr.startswith("error: the output cannot be written: No space left on device; make room")
    assert done.stderr.count("\n") == 1


def commands(group: click.Command, above: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from commands(command, (*above, name))
    else:
        yield " ".join(above), group


@pytest.mark.parametrize("name", ["pipeline", "serve"])
def test_exit_codes_in_help_texts_are_declared(name: str) -> None:
    said = 0
    for _, command in commands(GROUPS[name]):
        _, actual, text = (command.help or "").partition("Exit code: ")
        codes = {int(code) for code in re.findall(r"(?<![\w.-])(\d{1,3})(?= |,|\.|;|$)(?! minutes)", text)}
        assert codes <= set(ExitCode), (command.name, codes - set(ExitCode))
        said += bool(actual)
    assert said


def test_exit_codes_in_documents_are_declared() -> None:
    for path in (REPOSITORY / "docs").glob("*.md"):
        for table in re.findall(
            r"^\| (?:exit )?code\b.*\n\|[-|]+\n((?:\|.*\n)+)", path.read_text("utf-8"), re.MULTILINE
        ):
            for cell in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE):
                if re.fullmatch(r"[\d, ]+", cell):
                    assert {int(code) for code in cell.split(",")} <= set(ExitCode), (path.name, cell)
