"""A served root, and third-party tools."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import contract_app
from tests.support.processes import REPOSITORY
from tests.support.server import served, token_for

HERE = Path(__file__).parent
DOCUMENT = REPOSITORY / "docs" / "openapi.json"
CACHE = REPOSITORY / ".interface-tools"
"""Not in the repository: the packages of package.json, installed when they are first needed."""


@dataclass(frozen=True)
class Service:
    """A running service, and a key that may call everything."""

    address: str
    key: str


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("interface")
    root = contract_app.publish(folder)
    prices = contract_app.market_data(folder)
    token = token_for(root)
    with served(
        root, variables={"ALPHA_RESULTS_AGENTS": "true", "ALPHA_RESULTS_MARKET_DATA": str(prices)}
    ) as (_, address):
        yield Service(address, token)


@pytest.fixture(scope="session")
def tools() -> Path:
    """Return the folder of the installed Node packages; `TEST_NODE=required` makes a missing Node a failure."""
    if shutil.which("npm") is None:
        if os.environ.get("TEST_NODE") == "required":
            pytest.fail("TEST_NODE=required, and npm is not on the path")
        pytest.skip("Node is not installed here (.ci/nightly installs it)")
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = (HERE / "package.json").read_text("utf-8")
        installed = CACHE / "installed.json"
        if not installed.exists() or installed.read_text("utf-8") != wanted:
            (CACHE / "package.json").write_text(wanted, "utf-8")
            install = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
            subprocess.run(install, cwd=CACHE, check=True, capture_output=True)
            installed.write_text(wanted, "utf-8")
    return CACHE


def node(tools: Path, program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program of an installed package."""
    return subprocess.run(
        [str(tools / "node_modules" / ".bin" / program), *arguments],
        cwd=folder,
        env={
            **os.environ,
            "REDOCLY_TELEMETRY": "off",
            "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true",
            "NO_COLOR": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def row_schemas() -> dict[str, list[str]]:
    """Row schema of the document -> its columns."""
    schemas = json.loads(DOCUMENT.read_text("utf-8"))["components"]["schemas"]
    return {name: list(schema["properties"]) for name, schema in schemas.items() if name.endswith("Row")}
