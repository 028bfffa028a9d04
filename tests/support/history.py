"""A root with three snapshots of one alpha, built once by the pipeline and copied for every test."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from datasets.layout import MANIFEST, pointer_path, snapshot_path
from datasets.manifest import FileEntry, Manifest, digest
from datasets.pointer import Pointer
from pipeline.snapshot_builder import build_seal
from tests.support.pipeline_command import CommandResult, run_pipeline
from tests.support.seals import make_seal

ALPHA = "Test_kept"
DAYS = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z")


@dataclass(frozen=True)
class History:
    """A root for one test, with its seals, oldest first."""

    root: Path
    seals: tuple[Path, ...]
    snapshots: tuple[str, ...]

    def run(self, command: str, *arguments: str) -> CommandResult:
        return run_pipeline(command, self.root, *arguments)

    @property
    def pointer(self) -> Pointer:
        path = self.root / pointer_path(ALPHA)
        return Pointer.decode(path.read_bytes(), str(path))

    def place(self, relative: str, snapshot: str | None = None) -> Path:
        return self.root / snapshot_path(ALPHA, snapshot or self.pointer.snapshot) / relative

    def there(self) -> set[str]:
        folder = self.root / "alphas" / f"alpha_id={ALPHA}"
        return {path.name.removeprefix("snapshot=") for path in folder.glob("snapshot=*")}

    def change_table(self, relative: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> str:
        """Change a served table and resign manifest and pointer, so that only the rows are wrong."""
        path, manifest_path = self.place(relative), self.place(MANIFEST)
        rows = change(pl.read_parquet(path.read_bytes(), hive_partitioning=False))
        rows.write_parquet(path)
        manifest = Manifest.decode(manifest_path.read_bytes(), "manifest")

        def signed(entry: FileEntry) -> FileEntry:
            if entry.path != relative:
                return entry
            data = path.read_bytes()
            return replace(entry, rows=rows.height, bytes=len(data), sha256=digest(data))

        manifest = replace(manifest, files=tuple(map(signed, manifest.files))).with_id()
        manifest_path.write_bytes(manifest.encode())
        folder = manifest_path.parent.rename(self.root / snapshot_path(ALPHA, manifest.snapshot))
        self.change_pointer(
            snapshot=manifest.snapshot,
            manifest_sha256=digest(manifest.encode()),
        )
        return str((folder / relative).relative_to(self.root))

    def change_pointer(self, **values: Any) -> None:
        (self.root / pointer_path(ALPHA)).write_bytes(replace(self.pointer, **values).encode())


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> History:
    folder = tmp_path_factory.mktemp("kept")
    seals = tuple(
        make_seal(folder / str(number), alpha_id=ALPHA, seed=number, sealed_at=day, weeks=20)
        for number, day in enumerate(DAYS)
    )
    snapshots = tuple(build_seal(str(seal), folder / "root").snapshot for seal in seals)
    return History(folder / "root", seals, snapshots)


@pytest.fixture
def history(built: History, tmp_path: Path) -> History:
    """Return a copy of the root; the last snapshot is served."""
    shutil.copytree(built.root, tmp_path / "root")
    return replace(built, root=tmp_path / "root")
