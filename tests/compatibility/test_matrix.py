"""Two versions of the libraries on one root, in every order of steps.

After each step: `verify` finds nothing, of either; both serve what an obvious model says; and no file that a pointer ever
named is another one, or half removed.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pytest

from datasets.layout import snapshot_path
from datasets.manifest import digest
from datasets.publication.pointers import served
from datasets.storage import open_storage
from tests.compatibility.conftest import Worker
from tests.support.seals import make_seal

ALPHA: Final = "Test_matrix"
STEPS: Final = ("force", "reseal", "rollback", "gc")
SEALS: Final = 4


@dataclass(frozen=True)
class Model:
    """Model of the root in terms of seals.

    Attributes
    ----------
    latest
        The last seal that was written.
    serves
        The seal that is served.
    before
        Seals that were served and whose files are there, the last one replaced last.
    judged
        Seals that were rolled back from.
    """

    latest: int = 1
    serves: int = 1
    before: tuple[int, ...] = ()
    judged: frozenset[int] = field(default_factory=frozenset)

    def serving(self, seal: int) -> Model:
        """Return the model after a seal becomes the served one."""
        left = (
            self.before
            if seal == self.serves
            else (*(s for s in self.before if s != self.serves), self.serves)
        )
        return replace(
            self, serves=seal, before=tuple(s for s in left if s != seal), judged=self.judged - {seal}
        )

    def after(self, step: str) -> tuple[Model, int]:
        """Return the model after a step, and the exit code of its command."""
        if step == "build":
            if self.serves == self.latest:
                return self, 0
            return (self, 3) if self.latest in self.judged else (self.serving(self.latest), 0)
        if step == "force":
            return self.serving(self.latest), 0
        if step == "reseal":
            return replace(self, latest=self.latest + 1).serving(self.latest + 1), 0
        if step == "gc":
            return replace(self, before=()), 0
        candidates = [seal for seal in self.before if seal not in self.judged]
        if not candidates:
            return self, 9
        going_back = self.serving(candidates[-1])
        return replace(going_back, judged=going_back.judged | {self.serves}), 0


class Mixed:
    """A root on which two workers alternate."""

    def __init__(self, root: Path, seals: Sequence[Path], workers: Sequence[Worker], model: Model) -> None:
        self.root = root
        self._seals = seals
        self._workers = workers
        self.model = model
        self._named: dict[str, dict[str, str]] = {}

    def begin(self) -> None:
        """Publish the first seal."""
        assert (
            self._workers[0].run("build", str(self._seals[0]), "--datasets", str(self.root))["exit_code"] == 0
        )
        self.look(0)

    def branch(self, root: Path) -> Mixed:
        """Return a copy, to continue in several ways."""
        shutil.copytree(self.root, root)
        other = Mixed(root, self._seals, self._workers, self.model)
        other._named = dict(self._named)
        return other

    def do(self, step: str, by: int) -> None:
        """Do one step by one worker."""
        self.model, expected = self.model.after(step)
        seal = str(self._seals[self.model.latest - 1])
        arguments = {
            "build": ("build", seal),
            "force": ("build", seal, "--force"),
            "reseal": ("build", seal),
            "rollback": ("rollback", ALPHA),
            "gc": ("gc", "--keep", "1", "--grace", "0s"),
        }[step]
        result = self._workers[by].run(*arguments, "--datasets", str(self.root))
        assert result["exit_code"] == expected, result["output"]

    def look(self, by: int) -> None:
        """Verify and read by one worker; compare every file that was ever published."""
        result = self._workers[by].run("verify", "--datasets", str(self.root))
        assert result["exit_code"] == 0, result["output"]
        actual = self._workers[by].serve(self.root)[ALPHA]
        assert actual["seal"] == digest((self._seals[self.model.serves - 1] / "seal.json").read_bytes())
        pointer = served(open_storage(self.root), ALPHA)
        assert pointer is not None
        assert pointer.snapshot == actual["snapshot"]
        self._named.setdefault(pointer.snapshot, self._files(pointer.snapshot))
        for snapshot, files in list(self._named.items()):
            now = self._files(snapshot)
            if snapshot != pointer.snapshot and not now:
                del self._named[snapshot]  # gc removed it completely
            else:
                assert now == files, f"files of {snapshot} changed"

    def _files(self, snapshot: str) -> dict[str, str]:
        folder = self.root / snapshot_path(ALPHA, snapshot)
        return {
            str(path.relative_to(folder)): digest(path.read_bytes())
            for path in folder.rglob("*")
            if path.is_file()
        }


@pytest.fixture(scope="module")
def seals(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("seals")
    return [
        make_seal(
            folder / str(number), alpha_id=ALPHA, weeks=14, seed=number, sealed_at=f"2026-01-0{number}T00:00:00Z",
            raw=False, source=False, trades=False, metrics=False, without_kinds=("portfolio", "positions", "pnl"),
        )
        for number in range(1, SEALS + 1)
    ]  # fmt: skip


@pytest.mark.parametrize("first", [0, 1])
def test_every_order_of_steps_by_alternating_builders(
    newer: Worker, older: Worker, seals: list[Path], tmp_path: Path, first: int
) -> None:
    assert newer.versions != older.versions
    workers = (newer, older) if first == 0 else (older, newer)
    begun = Mixed(tmp_path / "root", seals, workers, Model())
    begun.begin()
    leaves = _explore(begun, STEPS, 1, tmp_path)
    assert leaves == 24


def _explore(here: Mixed, left: Sequence[str], turn: int, folder: Path) -> int:
    """Try every order of the remaining steps; return the number of complete histories."""
    if not left:
        return 1
    ends = 0
    for step in left:
        there = here.branch(folder / f"{here.root.name}-{step}")
        there.do(step, turn % 2)
        there.look((turn + 1) % 2)
        # Whatever was done, a plain build on the other libraries leaves it or completes it, as the model says.
        if len(left) == 1:
            there.do("build", (turn + 1) % 2)
            there.look(turn % 2)
        ends += _explore(there, [one for one in left if one != step], turn + 1, folder)
        shutil.rmtree(there.root)
    return ends
