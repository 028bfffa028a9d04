"""The project installs from a checkout, and its commands run apart from it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("schemas", "datasets", "pipeline", "serve")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["uv", "build", "--wheel", "--quiet", "--out-dir", str(folder), str(REPOSITORY)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_holds_every_file_of_the_four_packages_and_nothing_else(wheel: Path) -> None:
    packaged = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKAGES],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if tracked.returncode:
        pytest.skip("this is not a clone: which files belong to the packages is not known")
    assert packaged == set(tracked.stdout.splitlines())


def test_the_installed_commands_run_in_any_folder_and_tell_the_version(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "site"
    install = ["uv", "pip", "install", "--quiet", "--no-deps", "--target", str(installed), str(wheel)]
    subprocess.run(install, check=True)
    stated = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for program in ("pipeline", "serve"):
        # What is installed there comes before the checkout, which the suite's environment knows too.
        code = f"import sys; sys.path.insert(0, {str(installed)!r}); import runpy; runpy.run_module({program!r}, run_name='__main__')"
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, "--version"],
            cwd=elsewhere,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, f"alpha-results {stated}\n", "")
