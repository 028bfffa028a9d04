"""Queries that fail in the engine: a code for the caller, and the service answers on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.exceptions import PanicException

from schemas.errors import SnapshotCorrupt, SnapshotUnreadable
from serve.pages.duckdb import Engine, Statement
from tests.damage.damaged import RUN, health
from tests.support.application import running


@contextmanager
def failing_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def fail(*_: object) -> Any:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr("serve.pages.duckdb.to_json", fail)
        yield


def test_a_panic_is_a_503_and_the_service_keeps_answering(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(root, memory_bytes=1, rows_bytes=0) as api:
        token = api.key()
        with failing_with(PanicException("index out of bounds"), monkeypatch):
            result = api.get(f"{RUN}/scores", token)
            assert result.status_code == 503
            assert result.json()["error"]["code"] == "upstream_unavailable"
            assert "bounds" not in result.text
        assert health(api) == ("degraded", 1)
        assert api.get(f"{RUN}/scores", token).status_code == 200


def test_a_query_without_memory_is_a_503_and_damages_no_run(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Any:
        raise duckdb.OutOfMemoryException("failed to allocate data")

    with running(root, memory_bytes=1, rows_bytes=0) as api:
        token = api.key()
        with monkeypatch.context() as patched:
            patched.setattr(Engine, "_cursor", fail)
            refused = api.get(f"{RUN}/scores", token)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "upstream_unavailable")
        assert health(api) == ("ok", 0)


def test_an_undecodable_file_is_distinguished_from_an_invalid_query(
    tmp_path: Path,
) -> None:
    engine = Engine()
    path = tmp_path / "x.parquet"
    pl.DataFrame({"n": [1]}).write_parquet(path)
    with pytest.raises(SnapshotUnreadable):
        engine.frame(Statement("SELECT absent FROM read_parquet(?)", (str(path),)))
    with pytest.raises(Exception, match="syntax") as wrong:
        engine.frame(Statement("SELEC 1"))
    assert not isinstance(wrong.value, SnapshotCorrupt)
    engine.close()


def test_a_query_that_fails_in_the_middle_blocks_no_other() -> None:
    engine = Engine()
    failing = Statement("SELECT if(n = 900000, error('broken'), n) FROM range(?) rows(n)", (1_000_000,))
    for _ in range(3):
        with pytest.raises(SnapshotUnreadable, match="broken"):
            engine.frame(failing)
        assert engine.frame(Statement("SELECT 1 AS n")).item() == 1
    engine.close()


def test_a_broken_engine_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Any:
        raise duckdb.FatalException("database has been invalidated")

    engine = Engine()
    one = Statement("SELECT 1 AS n")
    broken = engine._database  # noqa: SLF001 - no request breaks it
    with monkeypatch.context() as patched:
        patched.setattr(pl, "from_arrow", fail)
        with pytest.raises(SnapshotUnreadable, match="invalidated"):
            engine.frame(one)
    broken.close()
    assert engine.frame(one).item() == 1
    engine.close()
