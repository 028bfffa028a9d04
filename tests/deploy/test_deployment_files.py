"""Deployment files match the programs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import alpha_results_client.settings
import pytest
import yaml
from click.testing import CliRunner

from pipeline.group import cli as pipeline
from schemas.settings import GROUPS, PREFIX, SETTINGS
from serve.cli.group import serve
from tests.support.processes import REPOSITORY

DEPLOY = REPOSITORY / "deploy"
CLIENTS = {alpha_results_client.settings.URL, alpha_results_client.settings.KEY}
"""Read by the client, which shares no code with the project."""
DECLARED = {setting.variable for setting in SETTINGS.values()} | CLIENTS
NAMED = re.compile(rf"\b{PREFIX}[A-Z_]+\b")
PROGRAMS = {"serve": serve, "pipeline": pipeline}
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def compose() -> dict[str, Any]:
    result: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return result


def ours() -> dict[str, dict[str, Any]]:
    """Return the services that run this project."""
    return {name: entry for name, entry in compose()["services"].items() if "build" in entry}


def understood(arguments: list[str]) -> None:
    """Fail unless the programs have this command with these options."""
    program, *rest = arguments
    result = CliRunner().invoke(PROGRAMS[program], [*rest, "--help"])
    assert result.exit_code == 0, result.output


def test_every_variable_named_in_a_file_or_a_source_is_a_declared_setting() -> None:
    sources = [
        path
        for folder in ("serve", "pipeline", "datasets", "schemas")
        for path in (REPOSITORY / folder).rglob("*.py")
    ]
    documents = [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]
    files = [path for path in DEPLOY.rglob("*") if path.is_file()]
    unknown = {
        (path.relative_to(REPOSITORY).as_posix(), name)
        for path in (*sources, *documents, *files)
        for name in NAMED.findall(path.read_text())
        if name not in DECLARED and not name.endswith("_")
    }
    assert not unknown


def test_every_setting_is_declared_completely_and_once() -> None:
    names = [setting.name for group in GROUPS for setting in group.settings]
    flags = [setting.flag for setting in SETTINGS.values() if setting.flag]
    assert len(names) == len(set(names))
    assert len(flags) == len(set(flags))
    for setting in SETTINGS.values():
        assert setting.meaning.endswith("."), setting.name
        assert setting.required + (setting.default is not None) <= 1, setting.name
        if setting.default not in (None, ()):
            shown = setting.default_text or ""
            assert setting.kind.read(shown) == setting.default, setting.name
            assert not isinstance(setting.default, float) or not shown.endswith(".0"), "86400, not 86400.0"


PIPELINE = {"Publishing", "Removing", "Events"}
BUILDS = {"Both programs", "Publishing"}


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (
            ["serve", "run"],
            [s.name for group in GROUPS if group.title not in PIPELINE for s in group.settings if s.flag],
        ),
        (
            ["pipeline", "build"],
            [s.name for group in GROUPS if group.title in BUILDS for s in group.settings],
        ),
        (
            ["pipeline", "notify"],
            [s.name for group in GROUPS if group.title == "Events" for s in group.settings if s.flag],
        ),
    ],
)
def test_the_commands_take_every_setting_that_their_table_lists(command: list[str], names: list[str]) -> None:
    shown = re.sub(r"\s+", "", CliRunner().invoke(PROGRAMS[command[0]], [*command[1:], "--help"]).output)
    for name in names:
        assert SETTINGS[name].flag in shown
        assert SETTINGS[name].variable in shown
        assert re.sub(r"\s+", "", SETTINGS[name].meaning) in shown


def test_the_compose_file_is_valid_by_the_schema_of_its_specification() -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    command = [str(checker), "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_services_run_existing_commands_with_valid_values() -> None:
    services = ours()
    assert {"serve", "pipeline", "gc", "verify", "access-upgrade", "admin", "bucket"} == set(services)
    for name, entry in services.items():
        for variable, value in entry["environment"].items():
            if variable in DECLARED and "${" not in value:
                setting = next(s for s in SETTINGS.values() if s.variable == variable)
                setting.kind.read(value)
        if name == "bucket":
            compile(entry["command"][0], "compose.yaml", "exec")
            continue
        entrypoint = entry.get("entrypoint", ["/app/entrypoint"])
        understood([*entrypoint[1:], *entry["command"]])


def test_the_services_are_hardened_not_exposed_and_without_default_passwords() -> None:
    full = compose()
    for name, entry in ours().items():
        assert entry["read_only"] is True, name
        assert entry["cap_drop"] == ["ALL"], name
        assert "/tmp" in entry["tmpfs"], name
    for name, entry in full["services"].items():
        for port in entry.get("ports", ()):
            assert port.startswith("127.0.0.1:"), (name, port)
        for variable, value in entry.get("environment", {}).items():
            if re.search("PASSWORD|PEPPER|SECRET|ACCESS$", variable):
                assert ":?" in value, (name, variable)
        for other in entry.get("depends_on", ()):
            assert other in full["services"]
        for volume in entry.get("volumes", ()):
            assert volume.partition(":")[0] in full["volumes"]
    example = (DEPLOY / "example.env").read_text()
    requested = set(re.findall(r"\$\{(\w+):\?", (DEPLOY / "compose.yaml").read_text()))
    assert set(re.findall(r"^(\w+)=$", example, re.MULTILINE)) == requested


def test_the_stop_grace_period_covers_the_drain() -> None:
    from serve.server import CLOSING_SECONDS  # noqa: PLC0415 - next to its use

    entry = compose()["services"]["serve"]
    given = float(entry["stop_grace_period"].removesuffix("s"))
    assert given > float(entry["environment"]["ALPHA_RESULTS_DRAIN_SECONDS"]) + CLOSING_SECONDS
    unit = (DEPLOY / "systemd" / "alpha-results-serve.service").read_text()
    stop = float(re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[0])
    assert stop > SETTINGS["drain_seconds"].default + CLOSING_SECONDS


def test_image_and_unit_have_the_same_allocator_and_blas_settings() -> None:
    unit = (DEPLOY / "systemd" / "alpha-results-serve.service").read_text()
    of_unit = dict(re.findall(r"(MALLOC_\w+|OPENBLAS_\w+)=(\d+)", unit))
    of_image = dict(
        re.findall(r"(MALLOC_\w+|OPENBLAS_\w+)=\"\$\{\1:-(\d+)\}", (DEPLOY / "entrypoint").read_text())
    )
    assert of_unit == of_image
    assert of_unit.keys() >= {"MALLOC_ARENA_MAX", "OPENBLAS_NUM_THREADS"}


def test_the_image_copies_existing_files_and_starts_an_existing_command() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE):
        *sources, _ = line.split()
        for source in sources:
            assert (REPOSITORY / source).exists(), source
    for name, value in re.findall(rf"({PREFIX}[A-Z_]+)=(\S+)", text):
        setting = next(s for s in SETTINGS.values() if s.variable == name)
        setting.kind.read(value)
    started = re.findall(r"^CMD \[(.+)\]$", text, re.MULTILINE)[-1]
    understood([word.strip('" ') for word in started.split(",")])
    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)
    entrypoint = DEPLOY / "entrypoint"
    assert os.access(entrypoint, os.X_OK)
    # .dockerignore excludes everything that the Dockerfile does not copy.
    included = set(re.findall(r"^!(\S+)$", (DEPLOY / "Dockerfile.dockerignore").read_text(), re.MULTILINE))
    copied = {
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE)
        for source in line.split()[:-1]
    }
    assert included == copied


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_the_units_run_existing_commands(unit: Path) -> None:
    text = unit.read_text()
    (line,) = re.findall(r"^ExecStart=(.+)$", text, re.MULTILINE)
    python, module, *arguments = shlex.split(line)
    assert (Path(python).name, module) == ("python", "-m")
    understood(arguments)
    for name, value in re.findall(rf"^Environment=({PREFIX}[A-Z_]+)=(\S+)$", text, re.MULTILINE):
        next(s for s in SETTINGS.values() if s.variable == name).kind.read(value)


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_the_service_manager_accepts_the_units(unit: Path, tmp_path: Path) -> None:
    checker = shutil.which("systemd-analyze")
    if checker is None:
        pytest.skip("systemd-analyze, of Debian's package systemd, is not installed")
    # Only the location of the project differs here.
    text = unit.read_text().replace("/opt/alpha-results/.venv/bin/python", sys.executable)
    copy = tmp_path / unit.name
    copy.write_text(text)
    timer = unit.with_suffix(".timer")
    timers = [shutil.copy(timer, tmp_path)] if timer.exists() else []
    done = subprocess.run(
        [checker, "verify", str(copy), *timers], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert unit.stem not in done.stderr
