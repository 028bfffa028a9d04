"""The system under test: a root, pipeline commands, a key store, and a server refreshed on demand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
import structlog

from datasets.publication.decisions import empty_snapshots
from pipeline.snapshot_builder import build_seal, write
from schemas import version
from schemas.errors import AlphaResultsError
from schemas.version import schema_version
from serve import app
from serve.state import ServerState
from tests.state_machines.clock import Clock
from tests.state_machines.root_model import Refused, Release
from tests.state_machines.runs import Run
from tests.support.administration import Administration, open_administration
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.pipeline_command import CommandResult, run_pipeline

T = TypeVar("T")
NEVER = 3600.0
"""Seconds between automatic refreshes of the server: longer than any test."""
LOOK_AGAIN = timedelta(seconds=60)
"""Minimum time between renewals of a server's lease, which happen when it refreshes."""


@contextmanager
def working_as(release: Release) -> Iterator[None]:
    """Build like another release."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(version, "BUILD_REVISION", release.declares)
        patch.setattr(write, "COMPRESSION", release.compression)
        schema_version.cache_clear()
        yield
    schema_version.cache_clear()


class System:
    """The real components under test.

    Parameters
    ----------
    folder
        Folder of all their files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.root = folder / "root"
        self.root.mkdir()
        self.clock = Clock()
        self._kept = ExitStack()
        self._kept.enter_context(self.clock.in_force())
        self._kept.enter_context(_quiet())
        self.start()

    def start(self) -> None:
        """Start a server."""
        self._running = ExitStack()
        made: list[ServerState] = []

        class Remembered(ServerState):
            def __init__(self, *given: Any) -> None:
                super().__init__(*given)
                made.append(self)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(app, "ServerState", Remembered)
            self.client: ApiClient = self._running.enter_context(
                running(
                    self.root,
                    counts=self._folder / "counts",
                    store=f"sqlite:///{self._folder}/access.sqlite3",
                    refresh_seconds=NEVER,
                    list_seconds=0.0,
                    neighbours=str(self._folder / "returns"),
                    rows=str(self._folder / "rows"),
                    log_level="error",
                )
            )
        self._state = made[0]

    def stop(self) -> None:
        """End it."""
        self._running.close()

    def look(self) -> None:
        """Refresh the server's catalogue now."""
        self._state.snapshots._poll()  # noqa: SLF001 - what its thread does by itself every second
        assert self._state.snapshots.followed

    def close(self) -> None:
        """Release all resources."""
        self.stop()
        self._kept.close()

    def build(self, run: Run, release: Release, *, force: bool) -> tuple[str, bool]:
        """Build a seal with a release; return its snapshot and whether anything changed."""
        try:
            with working_as(release):
                made = build_seal(str(run.seal), self.root, force=force)
        except AlphaResultsError as error:
            raise Refused(int(error.exit_code)) from error
        return made.snapshot, made.changed

    def operate(self, command: str, *arguments: str) -> Any:
        """Run a pipeline command; return its JSON."""
        done = self.command(command, *arguments, "--json")
        if done.exit_code:
            raise Refused(done.exit_code)
        return done.json

    def command(self, command: str, *arguments: str) -> CommandResult:
        """Run a command of the pipeline."""
        return run_pipeline(command, self.root, *arguments)

    def files(self, alpha: str) -> Mapping[str, str]:
        """Return the existing non-empty snapshots with a digest of their files."""
        folder = self.root / "alphas" / f"alpha_id={alpha}"
        empty = empty_snapshots(alpha)
        results = {path.name.removeprefix("snapshot="): path for path in folder.glob("snapshot=*")}
        return {snapshot: _digest(path) for snapshot, path in results.items() if snapshot not in empty}

    def administer(self, act: Callable[[Administration], Any]) -> Any:
        """Run an administrative action on accounts and keys."""

        async def acted() -> Any:
            opened = open_administration(self.client.access, "tests")
            async with opened as administration:
                return await act(administration)

        return self.client.wait(acted())

    def send(self, path: str, token: str, tag: str | None = None) -> httpx.Response:
        """Call the server, with an If-None-Match if a tag is given."""
        return self.client.get(path, token, headers={} if tag is None else {"if-none-match": tag})


def _digest(folder: Path) -> str:
    result = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            result.update(json.dumps([str(path.relative_to(folder)), path.stat().st_size]).encode())
            result.update(path.read_bytes())
    return result.hexdigest()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the log of thousands of calls."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    try:
        yield
    finally:
        structlog.configure(**before)
