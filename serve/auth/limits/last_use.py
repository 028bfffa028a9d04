"""When each key last called, and how often this month: for operators, beside the counts that decide.

Where calls are counted in Redis it is read there. A process that counts alone has its file of counts to itself, so it
tells in a second one beside it, which may be read at any time and lost without harm.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from schemas.errors import SettingsError
from schemas.extras import extra
from serve.auth.limits.policy import LastUse
from serve.auth.limits.sliding_window import Month
from serve.auth.settings import AccessSettings

_SCHEMA = """
CREATE TABLE IF NOT EXISTS last_use (
    key_id TEXT PRIMARY KEY, used_us INTEGER NOT NULL, month INTEGER NOT NULL, calls INTEGER NOT NULL
) WITHOUT ROWID
"""
_WAIT_SECONDS = 0.25


class LastUseFile:
    """The file beside that of the counts; not writing it never fails a call.

    Parameters
    ----------
    state
        File of the counts.
    """

    def __init__(self, state: Path) -> None:
        self._path = place(state)
        self._connection: sqlite3.Connection | None = None

    def write(self, months: Iterable[tuple[str, int, int]], wall_us: int) -> None:
        """Note that keys called now; of several months of a key the last is told."""
        latest = {key_id: (key_id, wall_us, month, calls) for key_id, month, calls in sorted(months)}
        try:
            if self._connection is None:
                os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
                self._connection = sqlite3.connect(
                    self._path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
                )
                self._connection.execute("PRAGMA synchronous = OFF")
                self._connection.execute(_SCHEMA)
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                "INSERT OR REPLACE INTO last_use VALUES (?, ?, ?, ?)", latest.values()
            )
            self._connection.execute("COMMIT")
        except (sqlite3.Error, OSError):
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def place(state: Path) -> Path:
    """Return where the file is, beside that of the counts."""
    return state.with_name(state.name + ".last_use")


async def last_uses(settings: AccessSettings, key_ids: Sequence[str], now_us: int) -> dict[str, LastUse]:
    """Return what is known of keys; nothing is made for it, and nothing charged. Keys that never called are left out.

    Raises
    ------
    SettingsError, StorageUnavailable
        When Redis cannot be asked, or the settings do not say where calls are counted.
    """
    month = Month.of(now_us).number
    if settings.redis is not None:
        with extra("redis", "counting calls in Redis"):
            from serve.auth.limits.redis import RedisLimiter  # noqa: PLC0415 - slow to load, and often unused

        limiter = RedisLimiter(settings.redis, f"alpha-results:{settings.environment}")
        try:
            return await limiter.last_uses(key_ids, month)
        finally:
            await limiter.close()
    if settings.state is None:
        raise SettingsError(
            "it is not said where calls are counted: set ALPHA_RESULTS_REDIS or ALPHA_RESULTS_LIMITS_STATE as the server has it"
        )
    path = place(settings.state)
    if not path.exists():
        return {}
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_SECONDS)
        with contextlib.closing(connection):
            rows = connection.execute("SELECT key_id, used_us, month, calls FROM last_use").fetchall()
    except sqlite3.Error:
        return {}
    wanted = set(key_ids)
    return {
        key_id: LastUse(used, calls if counted == month else 0)
        for key_id, used, counted, calls in rows
        if key_id in wanted
    }
