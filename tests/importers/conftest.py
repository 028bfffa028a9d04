"""Environments with a backtesting library and the seal writer, without this project."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pytest

from tests.support.environments import install, kept_environment
from tests.support.processes import REPOSITORY

CACHE: Final = REPOSITORY / ".importers"
"""Not in the repository: an environment a library, made when it is first needed."""
WRITER: Final = REPOSITORY / "clients" / "seal-writer"

NAMES: Final = ["AAA", "BBB", "CCC"]

Run = Callable[[str, Path], Mapping[str, Any]]


def write_market(folder: Path) -> None:
    """Write random closes of half a year, and long and short weights on every fifth session."""
    days = np.arange(np.datetime64("2024-01-01"), np.datetime64("2024-06-29"))
    days = days[np.is_busday(days)].astype("datetime64[us]")
    rng = np.random.default_rng(1)
    closes = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.01, (days.size, len(NAMES))), axis=0))
    weights = rng.uniform(-0.3, 0.4, (days[5::5].size, len(NAMES)))
    for name, dates, values in (("closes", days, closes), ("weights", days[5::5], weights)):
        pl.DataFrame(values, NAMES).insert_column(0, pl.Series("date", dates)).write_parquet(
            folder / f"{name}.parquet"
        )


def write_documented(folder: Path) -> None:
    """Write the Python blocks of docs/other-engines.md as scripts `SECTION-NUMBER.py`."""
    folder.mkdir()
    page = (REPOSITORY / "docs" / "other-engines.md").read_text("utf-8")
    for section in page.split("\n## ")[1:]:
        name = section.partition("\n")[0].lower().replace(" ", "-")
        for number, block in enumerate(
            re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE), 1
        ):
            (folder / f"{name}-{number}.py").write_text(block, "utf-8")


def environment(requirement: str) -> Path:
    """Return the Python of an environment with these library releases and the current seal writer."""
    name = requirement.replace("==", "-").replace(" ", "+")
    python = kept_environment(CACHE / name, *requirement.split(), "polars", "pyarrow")
    install(python, "--no-deps", "--reinstall-package", "alpha-results-seal", str(WRITER))
    return python


@pytest.fixture(scope="session")
def run_in() -> Callable[[str], Run]:
    """Return a function that runs a script in a library's environment and returns its JSON output."""

    def of(requirement: str) -> Run:
        python = environment(requirement)

        def run(script: str, folder: Path) -> Mapping[str, Any]:
            write_market(folder)
            write_documented(folder / "documented")
            done = subprocess.run(
                [str(python), "-P", str(Path(__file__).parent / script), str(folder)],
                cwd=folder, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            answer: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
            return answer

        return run

    return of
