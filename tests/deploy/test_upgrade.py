"""Upgrade and downgrade as printed in docs/operations.md, while another node serves.

A separate machine is simulated: paths are below a folder, and `systemctl` starts and ends the programs of the units.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import datasets
from pipeline.snapshot_builder import build_seal
from tests.deploy.test_first_deployment import commands_of
from tests.support.ports import free_port
from tests.support.postgres import PostgresServer
from tests.support.processes import REPOSITORY, environment
from tests.support.seals import make_seal
from tests.support.waiting import PATIENCE, eventually

_UNITS = """
systemctl() {
  case $1 in
  stop) kill -TERM "$(cat "$UNITS/$2")"; while kill -0 "$(cat "$UNITS/$2")" 2>/dev/null; do sleep 0.05; done ;;
  start) (cd "$UNITS/../opt/alpha-results" && exec .venv/bin/python -m serve run --port "$PORT" >>"$UNITS/log" 2>&1) &
    echo $! >"$UNITS/$2" ;;
  restart) : ;; # the builder: the test builds itself
  esac
}
"""


class Machine:
    """A folder with two checkouts, and a node of the one that `/opt/alpha-results` links to."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.folder, self.port = folder, free_port()
        self._variables = variables
        (folder / "units").mkdir()

    def run(self, script: str) -> str:
        script = re.sub(r"(?<![\w.:/])/(opt|srv)/", f"{self.folder}/\\1/", script).replace(
            ":8000", f":{self.port}"
        )
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", _UNITS + script], cwd=self.folder,
            env=environment(**self._variables, UNITS=str(self.folder / "units"), PORT=str(self.port)),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}\n{self.log()}"
        return done.stdout

    def log(self) -> str:
        log = self.folder / "units" / "log"
        return log.read_text()[-2000:] if log.exists() else ""


@contextmanager
def node(code: Path, port: int, variables: dict[str, str]) -> Iterator[None]:
    """Run the other machine's node."""
    process = subprocess.Popen(
        [".venv/bin/python", "-m", "serve", "run", "--port", str(port)], cwd=code, env=environment(**variables),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def listed(port: int, token: str) -> set[str]:
    """Return the alphas that a node lists; none while it is down."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/alphas", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return {row["alpha_id"] for row in json.load(answer)["data"]}
    except urllib.error.HTTPError:
        raise
    except OSError:
        return set()


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    """The folder of two checkouts; `/opt/alpha-results` leads to the old one."""
    opt = tmp_path / "opt"
    old, new = opt / "alpha-results-old", opt / "alpha-results-new"
    for code in (old, new):
        code.mkdir(parents=True)
        for name in ("schemas", "datasets", "pipeline", "serve", "examples", "pyproject.toml"):
            (code / name).symlink_to(REPOSITORY / name)
        (code / ".venv").symlink_to(sys.prefix)
    (opt / "alpha-results").symlink_to(old)
    return opt


def test_machines_are_upgraded_and_downgraded_one_by_one_while_both_publish(
    checkouts: Path,
    tmp_path: Path,
    postgres: PostgresServer,
) -> None:
    root = tmp_path / "srv/alpha-results/published"
    build_seal(str(make_seal(tmp_path / "seals", alpha_id="Test_first", weeks=14)), root)
    variables = {
        "ALPHA_RESULTS_DATASETS": str(root),
        "ALPHA_RESULTS_ACCESS": postgres.url(),
        "ALPHA_RESULTS_PEPPER": "of-no-use-but-for-the-tests-0123",
        "ALPHA_RESULTS_LIMITS_STATE": str(tmp_path / "limits"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    machine = Machine(tmp_path, variables)
    store, exchange, builders = commands_of("## Upgrades")
    old, new = checkouts / "alpha-results-old", checkouts / "alpha-results-new"
    token = machine.run(
        "cd /opt/alpha-results\n.venv/bin/python -m serve access upgrade >/dev/null\n"
        ".venv/bin/python -m serve accounts create --email you@example.com --ceiling-endpoints all >/dev/null\n"
        ".venv/bin/python -m serve keys issue --account you@example.com --name first --endpoints all --alphas all --runs all"
        " --rate per_second=10000,per_minute=500000,per_day=5000000,monthly=50000000"
    ).split()[-1]

    def build(code: Path, name: str) -> None:
        seal = make_seal(tmp_path / "seals", alpha_id=name, weeks=14)
        command = [".venv/bin/python", "-m", "pipeline", "build", str(seal), "--datasets", str(root)]
        done = subprocess.run(
            command, cwd=code, env=environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    other = free_port()

    def both_list(name: str) -> None:
        eventually(lambda: all(name in listed(port, token) for port in (machine.port, other)), name)

    with node(old, other, variables | {"ALPHA_RESULTS_LIMITS_STATE": str(tmp_path / "limits-other")}):
        machine.run("systemctl start alpha-results-serve")
        eventually(lambda: listed(machine.port, token) and listed(other, token), "two old nodes")
        machine.run(store)
        assert listed(other, token), "the store's upgrade interrupts no node that runs"
        machine.run(exchange)
        assert (checkouts / "alpha-results").resolve().name == "alpha-results-new"
        for code, name in ((old, "Test_by_old"), (new, "Test_by_new")):
            build(code, name)
            both_list(name)
        assert listed(machine.port, token) == listed(other, token)
        machine.run(builders)
        # Downgrade: the builder first, then the node.
        machine.run(exchange.replace("-new", "-old"))
        build(old, "Test_after")
        both_list("Test_after")
        assert listed(machine.port, token) == listed(other, token)
        machine.run("systemctl stop alpha-results-serve")
    assert {"Test_by_old", "Test_by_new", "Test_after"} < set(datasets.open(root))
