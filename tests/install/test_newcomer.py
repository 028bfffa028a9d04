"""The README's commands in an empty home, with an otherwise empty PATH."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.documents.pages import blocks, matches
from tests.support.processes import REPOSITORY
from tests.support.waiting import PATIENCE

LINE = re.compile(r"^\. \S+/env$", re.MULTILINE)
STARTS_WITHIN = 600.0
"""Seconds for the environment to be made and the demo to serve."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of the files under version control."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("this is not a clone: which files belong to it is not known")
    folder = tmp_path / "checkout"
    for name in filter(None, listed.stdout.split("\0")):
        if (REPOSITORY / name).is_file():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPOSITORY / name, place)
    return folder


@pytest.fixture
def newcomer(tmp_path: Path) -> dict[str, str]:
    """Return an environment with an empty home and a Python; packages come from this machine's index."""
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "python")], check=True)
    kept = subprocess.run(["uv", "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    index = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
    return {
        **index,
        "HOME": str(home),
        "PATH": f"{tmp_path / 'python/bin'}{os.pathsep}{os.defpath}",
        "UV_CACHE_DIR": kept,
        "LANG": "C.UTF-8",
    }


def test_the_readme_leads_from_an_empty_home_to_the_first_answer(
    checkout: Path, newcomer: dict[str, str], tmp_path: Path
) -> None:
    printed = blocks("README.md")
    command = next(block.text for block in printed if block.language == "sh")
    call, answer = next(block for block in printed if block.language == "console").calls()[0]
    python = next(block.text for block in printed if "alpha_results_datasets" in block.text)
    log, errors = tmp_path / "out", tmp_path / "err"
    with log.open("w") as output, errors.open("w") as progress:
        demo = subprocess.Popen(
            ["sh", "-ec", command], cwd=checkout, env=newcomer, stdout=output, stderr=progress,
            start_new_session=True,
        )  # fmt: skip
        try:
            end = time.monotonic() + STARTS_WITHIN
            while not (line := LINE.search(log.read_text())):
                assert demo.poll() is None, errors.read_text()
                assert time.monotonic() < end, errors.read_text()
                time.sleep(0.5)
            assert re.search(r"^http://\S+/explorer#key=", log.read_text(), re.MULTILINE)
            script = f"{line[0]}\n{call}\nprintf '\\036'\npython - <<'END'\n{python}END\n"
            shown = subprocess.run(
                ["sh", "-e"], input=script, cwd=newcomer["HOME"], env=newcomer,
                capture_output=True, text=True, check=True,
            ).stdout.split("\x1e")  # fmt: skip
        finally:
            os.killpg(demo.pid, signal.SIGINT)
            demo.wait(PATIENCE)
    assert matches(answer, shown[0]), shown[0]
    assert "equity units" in shown[1]
