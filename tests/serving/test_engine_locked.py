"""Restrictions of queries on the engine."""

from __future__ import annotations

import duckdb
import pytest

from serve.pages.duckdb import _open_database


def test_the_engines_configuration_is_locked() -> None:
    engine = _open_database()
    with pytest.raises(duckdb.InvalidInputException, match="locked"):
        engine.execute("SET threads = 8")
    with pytest.raises(duckdb.InvalidInputException, match="locked"):
        engine.execute("SET autoload_known_extensions = true")


def test_the_engine_fetches_no_code_from_the_network() -> None:
    with pytest.raises(duckdb.Error, match="requires the extension httpfs"):
        _open_database().execute("SELECT * FROM read_parquet('https://127.0.0.1:1/table.parquet')")
