"""The project's wheel hides no other package, and its command works without the checkout."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support import published
from tests.support.environments import build_wheel, imported_by, new_environment
from tests.support.pipeline_command import report
from tests.support.ports import free_port
from tests.support.processes import REPOSITORY, environment
from tests.support.waiting import PATIENCE

PACKAGES = ("schemas", "datasets", "pipeline", "serve", "examples")
PACKAGED = (*PACKAGES[:-1], "examples/__init__.py", "examples/demo.py", "examples/reference_engine")
WRITER = "clients/seal-writer/src"
VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(REPOSITORY, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs of an environment with nothing else installed."""
    return new_environment(tmp_path_factory.mktemp("environment"), str(wheel)).parent


def run(programs: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(programs / "alpha-results"), *arguments],
        cwd=folder, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_wheel_contains_every_file_in_its_own_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "alpha_results", "alpha_results_seal", f"alpha_results-{VERSION}.dist-info",
    }  # fmt: skip
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKAGED, WRITER],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if tracked.returncode:
        pytest.skip("this is not a clone: which files belong to the packages is not known")
    packaged = {name.removeprefix("alpha_results/") for name in names if ".dist-info/" not in name}
    assert packaged - {"__init__.py", "__main__.py", "group.py", "py.typed"} == {
        name.removeprefix("clients/seal-writer/src/") for name in tracked.stdout.splitlines()
    }


def test_no_module_of_the_wheel_uses_the_checkouts_package_names(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                text = archive.read(name).decode()
                assert not re.search(r"python -m (pipeline|serve|datasets)\b(?!\.)", text), name
    for name, packages in imported_by(wheel).items():
        assert not set(PACKAGES) & packages, name


def test_the_command_is_installed_beside_the_checkouts_programs() -> None:
    program = Path(sys.executable).with_name("alpha-results")
    for rest, usage in (
        ([], "Usage: alpha-results [OPTIONS]"),
        (["serve", "keys"], "Usage: alpha-results serve keys"),
        (["datasets"], "Usage: alpha-results datasets"),
    ):
        done = subprocess.run([str(program), *rest, "--help"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(usage)


def test_the_help_lists_every_command_and_the_version_is_that_of_the_wheel(
    programs: Path, tmp_path: Path
) -> None:
    shown = run(programs, tmp_path, "--help").stdout
    for word in ("build", "check", "gc", "verify", "serve", "datasets", "import"):
        assert re.search(rf"^  {word} ", shown, re.MULTILINE)
    for words in ([], ["serve"]):
        done = run(programs, tmp_path, *words, "--version")
        assert (done.returncode, done.stdout, done.stderr) == (0, f"alpha-results {VERSION}\n", "")


def test_messages_name_the_installed_command(programs: Path, tmp_path: Path) -> None:
    done = run(programs, tmp_path, "gc", "--datasets", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`alpha-results build`" in done.stderr
    done = run(programs, tmp_path, "serve", "run", "--datasets", "nowhere")
    assert done.returncode == 2
    assert "`alpha-results build`" in done.stderr


def test_the_installation_page_leads_to_an_answer(programs: Path, tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "installing.md").read_text("utf-8")
    section = text[text.index("## To use it") : text.index("## Separate packages")]
    port = free_port()
    script = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[-1].replace(
        "8001", str(port)
    )
    script = f"trap 'kill $!; wait $!' EXIT\n{script}"
    done = subprocess.run(
        ["sh", "-e"],
        input=script,
        cwd=tmp_path,
        env=environment(PATH=f"{programs}{os.pathsep}{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    answer = next(line for line in done.stdout.splitlines() if line.startswith('{"data"'))
    assert [row["alpha_id"] for row in json.loads(answer)["data"]] == ["sim_lowvol"], done.stderr
    sheet = ["datasets", "report", "sim_lowvol", "--datasets", "published", "--out", "sheet.html"]
    printed = subprocess.run(
        [str(programs / "alpha-results"), *sheet],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (printed.returncode, printed.stderr) == (0, "")
    assert f"Made by alpha-results {VERSION} " in (tmp_path / "sheet.html").read_text("utf-8")


def test_serving_a_folder_needs_few_packages(programs: Path) -> None:
    listed = subprocess.run(
        ["uv", "pip", "list", "--format", "json", "--python", str(programs / "python")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = [package["name"] for package in json.loads(listed.stdout)]
    assert len(names) <= 45, names


@pytest.mark.parametrize(
    ("extra", "arguments", "variables"),
    [
        ("s3", ("build", "seal", "--datasets", "s3://bucket/root"), {}),
        (
            "s3",
            ("serve", "run", "--datasets", "s3://bucket/root", "--cache", "cache"),
            {"ALPHA_RESULTS_ACCESS": "root.access.sqlite3"},
        ),
        ("s3", ("serve", "run", "--datasets", "root"), {"ALPHA_RESULTS_ARCHIVES": "s3://bucket/archives"}),
        ("postgres", ("serve", "access", "upgrade"), {"ALPHA_RESULTS_ACCESS": "postgresql://nowhere/keys"}),
        ("redis", ("serve", "run", "--datasets", "root"), {"ALPHA_RESULTS_REDIS": "redis://nowhere"}),
        ("cluster", ("build", "seal", "--datasets", "root", "--cluster", "tcp://nowhere:8786"), {}),
    ],
)
def test_a_missing_extra_is_named(
    programs: Path, tmp_path: Path, extra: str, arguments: tuple[str, ...], variables: dict[str, str]
) -> None:
    published.publish(tmp_path / "root", published.full())
    account = ("serve", "accounts", "create", "--email", "a@example.org", "--datasets", "root")
    assert run(programs, tmp_path, *account).returncode == 0
    (tmp_path / "seal").mkdir()
    done = subprocess.run(
        [str(programs / "alpha-results"), *arguments], cwd=tmp_path, env=environment(ALPHA_RESULTS_PORT="0", **variables),
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert f"needs the extra `{extra}`" in done.stderr
    assert f"alpha-results[{extra}]" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_batch_of_the_installed_project_hides_no_other_package(programs: Path, tmp_path: Path) -> None:
    assert run(programs, tmp_path, "simulate", "--out", "simulation").returncode == 0
    done = run(programs, tmp_path, "build", "--from", "simulation", "--datasets", "published", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert [seal["outcome"] for seal in report(done.stdout)["seals"]] == ["built"] * 3
    script = (
        "from alpha_results.pipeline import Cancellation, SealResult, build_from, build_many\n"
        "for result in build_from('simulation', 'published', jobs=2): print(result.outcome, result.retryable)\n"
        "(result,) = build_many(['nowhere'], 'published'); print(type(result.error))\n"
    )
    result = subprocess.run(
        [str(programs / "python"), "-P", "-c", script], cwd=tmp_path, env=environment(),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (
        result.stdout == "unchanged False\n" * 3 + "<class 'alpha_results.schemas.errors.SealUnreadable'>\n"
    )
    code = (
        "from alpha_results.schemas.project import LOCATION; import sys;"
        "sys.path.insert(0, str(LOCATION));"
        "import importlib.util; print([importlib.util.find_spec(n) for n in ('datasets', 'schemas', 'serve')])"
    )
    result = subprocess.run(
        [str(programs / "python"), "-P", "-c", code], cwd=tmp_path, env=environment(),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert result.stdout == "[None, None, None]\n"


def test_uv_installs_the_wheel_as_a_tool(wheel: Path, tmp_path: Path) -> None:
    variables = environment(UV_TOOL_DIR=str(tmp_path / "tools"), UV_TOOL_BIN_DIR=str(tmp_path / "bin"))
    subprocess.run(
        ["uv", "tool", "install", "--quiet", "--python", sys.executable, str(wheel)],
        env=variables, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert run(tmp_path / "bin", tmp_path, "rules", "--help").returncode == 0
