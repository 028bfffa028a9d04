"""The client's wheel, installed alone, reads a frame."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.client.conftest import Service
from tests.support.contract_app import FULL
from tests.support.environments import build_wheel, new_environment
from tests.support.processes import REPOSITORY

READ = """
import json, sys
from alpha_results_client import Client, collect
collect.PAGE = 50
with Client(sys.argv[1], sys.stdin.read(), frames=sys.argv[2]) as client:
    frame = client[sys.argv[3]].equity_curve(book="long_only")
    scores = client.table("signals.scores", alpha=sys.argv[3])
assert scores.fetched_by == "link", scores.fetched_by
assert len(scores.frame) > 100
kinds = frame.schema.values() if sys.argv[2] == "polars" else frame.dtypes
print(json.dumps([sys.version_info[:2], len(frame), [str(kind) for kind in kinds][:2]]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(REPOSITORY / "clients" / "python", tmp_path_factory.mktemp("wheel"))


def interpreter(version: str) -> str:
    """Return an installed interpreter of a version, including pyenv's, whose shims may not work."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    of_pyenv = sorted(versions.glob(f"{version}.*/bin/python"))
    if of_pyenv:
        return str(of_pyenv[-1])
    done = subprocess.run(
        ["uv", "python", "find", "--no-python-downloads", "--no-project", version],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no Python {version} is installed here")
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("version", "frames"),
    [(f"{sys.version_info[0]}.{sys.version_info[1]}", "polars"), ("3.9", "polars"), ("3.9", "pandas")],
)
def test_an_installed_wheel_reads_a_frame(
    service: Service, wheel: Path, tmp_path: Path, version: str, frames: str
) -> None:
    python = new_environment(tmp_path / "environment", f"{wheel}[{frames}]", python=interpreter(version))
    done = subprocess.run(
        [str(python), "-W", "error", "-c", READ, service.address, frames, FULL],
        cwd=tmp_path, input=service.keys["reader"], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    actual, rows, kinds = json.loads(done.stdout)
    assert ".".join(map(str, actual)) == version
    assert rows > 100
    instant = "Datetime(time_unit='us', time_zone='UTC')" if frames == "polars" else "datetime64[us, UTC]"
    assert kinds == ["Date" if frames == "polars" else "datetime64[us]", instant]


def test_the_wheel_has_a_py_typed_marker(wheel: Path) -> None:
    assert "alpha_results_client/py.typed" in zipfile.ZipFile(wheel).namelist()
