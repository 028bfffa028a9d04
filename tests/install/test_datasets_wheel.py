"""The datasets wheel installs alone, hides no other package, and its README runs."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import polars as pl
import pytest

import datasets
from pipeline.snapshot_builder import build_seal
from tests.support.environments import build_wheel, imported_by, new_environment
from tests.support.processes import REPOSITORY, environment
from tests.support.seals import make_seal

SOURCE = REPOSITORY / "clients" / "datasets"
NAME = "Test_small"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(SOURCE, tmp_path_factory.mktemp("wheel"), "--wheel")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with nothing else installed."""
    return new_environment(tmp_path_factory.mktemp("environment"), f"{wheel}[pandas]")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    build_seal(str(make_seal(folder)), folder / "published")
    return folder / "published"


def test_the_wheel_contains_one_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "alpha_results_datasets",
        "alpha_results_datasets-0.1.0.dist-info",
    }
    assert "alpha_results_datasets/schemas/tables/decisions.py" in names


def test_no_module_of_the_wheel_imports_the_project_under_its_own_name(wheel: Path) -> None:
    for name, packages in imported_by(wheel).items():
        assert not {"datasets", "schemas"} & packages, name


def test_the_wheels_dependencies_match_its_imports_and_the_projects_bounds() -> None:
    ours = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    of_the_project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert set(ours["dependencies"]) <= set(of_the_project["dependencies"])
    assert ours["optional-dependencies"]["s3"] == of_the_project["optional-dependencies"]["s3"]
    assert ours["version"] == of_the_project["version"]
    assert ours["requires-python"] == of_the_project["requires-python"]


def test_the_installed_package_reads_like_the_checkout(installed: Path, root: Path, tmp_path: Path) -> None:
    code = f"""
import importlib.util, json
import alpha_results_datasets as datasets
run = datasets.open({str(root)!r})[{NAME!r}]
print(json.dumps([run.id, len(run.factor()), run.returns().height, run.scan("decisions").collect().height,
                  [importlib.util.find_spec(name) for name in ("datasets", "schemas")]]))
"""
    done = subprocess.run(
        [str(installed), "-W", "error", "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    run = datasets.open(root)[NAME]
    expected = [
        run.id,
        len(run.factor()),
        run.returns().height,
        run.scan("decisions").collect().height,
        [None, None],
    ]
    assert json.loads(done.stdout) == expected


def test_the_installed_command_works_and_its_readme_runs_as_printed(
    installed: Path, root: Path, tmp_path: Path
) -> None:
    text = (SOURCE / "README.md").read_text("utf-8").replace("Test_sim_momentum", NAME)
    variables = environment(ROOT=str(root), MARKET=str(market(tmp_path)))
    (python,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    command = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[-1]
    for started in (
        [str(installed), "-c", python],
        ["sh", "-ec", f'PATH="{installed.parent}:$PATH"; {command}'],
    ):
        done = subprocess.run(
            started, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "alphas.duckdb").is_file()
    assert "Newey-West" in (tmp_path / "momentum.html").read_text("utf-8")
    shown = subprocess.run(
        [str(installed), "-m", "alpha_results_datasets", "--help"], capture_output=True, text=True, check=True
    )
    assert "python -m alpha_results_datasets" in shown.stdout


def market(folder: Path) -> Path:
    days = pl.date_range(pl.date(2015, 1, 1), pl.date(2030, 1, 1), eager=True)
    path = folder / "market.parquet"
    pl.DataFrame(
        {"date": days, "symbol": "SIMSPY", "close": [100.0 + n for n in range(len(days))]}
    ).write_parquet(path)
    return path
