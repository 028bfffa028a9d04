"""Backup and restore as printed in docs/operations.md."""

from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

import datasets
from pipeline.snapshot_builder import build_seal
from schemas.errors import AlphaResultsError
from tests.deploy.test_first_deployment import Machine, commands_of, steps
from tests.support.postgres import PostgresServer
from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal

STORE = "ALPHA_RESULTS_ACCESS=/var/lib/alpha-results/access.sqlite3"
KEYS = """
.venv/bin/python -m serve accounts create --email you@example.com --ceiling-endpoints all
.venv/bin/python -m serve keys issue --account you@example.com --name first --alphas all --runs all
"""


COPY, ROOT, FILE, DUMP, LOAD = commands_of("## Backup and restore")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with the program, the folders and the settings of the first deployment."""
    result = Machine(tmp_path)
    program = tmp_path / "opt/alpha-results"
    program.mkdir()
    for name in ("schemas", "datasets", "pipeline", "serve", "examples", "pyproject.toml"):
        (program / name).symlink_to(REPOSITORY / name)
    (program / ".venv").symlink_to(sys.prefix)
    result.stub("chown", "exit 0")  # only a machine of its own has another user
    result.run(steps()[1])
    return result


def publish(machine: Machine, name: str, seed: int, day: int = 1) -> None:
    seal = machine.folder / f"seals-{seed}" / name
    if not seal.exists():
        make_seal(
            machine.folder / f"seals-{seed}",
            alpha_id=name,
            seed=seed,
            weeks=14,
            sealed_at=f"2026-01-0{day}T00:00:00Z",
        )
    build_seal(str(seal), machine.folder / "srv/alpha-results/published")


def rows(root: Path) -> dict[str, tuple[str, pl.DataFrame]]:
    opened = datasets.open(root)
    return {name: (opened[name].id, opened[name].scan("decisions").collect()) for name in opened}


def same(actual: dict[str, tuple[str, pl.DataFrame]], wanted: dict[str, tuple[str, pl.DataFrame]]) -> bool:
    return actual.keys() == wanted.keys() and all(
        actual[name][0] == wanted[name][0] and actual[name][1].equals(wanted[name][1]) for name in wanted
    )


def test_root_and_keys_are_restored_from_a_copy_made_during_builds(machine: Machine) -> None:
    root = machine.folder / "srv/alpha-results/published"
    publish(machine, "Test_a", 1)
    publish(machine, "Test_b", 2)
    settings = f"cd /opt/alpha-results\nset -a; . /etc/alpha-results/serve.env; {STORE}; set +a\n"
    machine.run(settings + KEYS)
    listed = machine.run(f"{settings}.venv/bin/python -m serve keys list --json")
    copied = rows(root)
    between = COPY.index("find ")
    machine.run(COPY[:between])
    publish(machine, "Test_a", 3, day=2)  # the backup copied its pointer before, and copies its files after
    publish(machine, "Test_c", 4)
    machine.run(COPY[between:])
    for lost in (
        root,
        *(machine.folder / "var/lib/alpha-results").iterdir(),
        machine.folder / "etc/alpha-results",
    ):
        shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    root.mkdir()
    (machine.folder / "etc/alpha-results").mkdir()
    machine.run(ROOT)
    assert same(rows(root), copied)
    shown = machine.run(FILE)
    assert "0003" in shown
    assert machine.run(f"{settings}.venv/bin/python -m serve keys list --json") == listed
    publish(machine, "Test_a", 3, day=2)
    assert rows(root)["Test_a"][0] != copied["Test_a"][0], "what came after the copy is built again"


def test_a_root_restored_in_any_order_is_never_partly_served(machine: Machine) -> None:
    root = machine.folder / "srv/alpha-results/published"
    for number, name in enumerate(("Test_a", "Test_b")):
        publish(machine, name, number)
    full = rows(root)
    files = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
    refused = sum(filled(root, files, machine.folder / f"filled-{seed}", seed, full) for seed in range(6))
    assert refused, "some pointer came before its files"


def filled(
    root: Path, files: list[Path], target: Path, seed: int, whole: dict[str, tuple[str, pl.DataFrame]]
) -> int:
    """Restore a root file by file in a random order, reading after each; return the number of failed reads."""
    refused = 0
    (target / "catalog").mkdir(parents=True)
    for path in random.Random(seed).sample(files, len(files)):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / path, target / path)
        opened = datasets.open(target)
        for name in opened:
            try:
                result = opened[name].scan("decisions").collect()
            except (AlphaResultsError, OSError):
                refused += 1
            else:
                assert (opened[name].id, result.height) == (whole[name][0], whole[name][1].height)
                assert result.equals(whole[name][1])
    assert same(rows(target), whole)
    return refused


def test_keys_in_postgresql_are_restored_from_a_dump(
    machine: Machine,
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", f"{postgres.binaries}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    (machine.folder / "srv/backup").mkdir(parents=True)
    settings = f"cd /opt/alpha-results\nset -a; . /etc/alpha-results/serve.env; ALPHA_RESULTS_ACCESS='{postgres.url()}'; set +a\n"
    machine.run(f"{settings}.venv/bin/python -m serve access upgrade\n{KEYS}")
    listed = machine.run(f"{settings}.venv/bin/python -m serve keys list --json")
    machine.run(settings + DUMP)
    machine.run(
        f"{settings}psql --quiet --command='DROP TABLE access_keys, access_accounts, access_audit' \"$ALPHA_RESULTS_ACCESS\""
    )
    machine.run(settings + LOAD)
    assert machine.run(f"{settings}.venv/bin/python -m serve keys list --json") == listed
