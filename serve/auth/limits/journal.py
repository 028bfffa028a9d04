"""The file in which the in-process limiter saves its counts across restarts.

It is not a store of record: without it the counts of every window start at zero. Operators' commands read the last call of
key last called, at any time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import orjson

from schemas.errors import SettingsError
from serve.auth.limits.clocks import US, Clocks
from serve.auth.limits.policy import MAX_WINDOW_US, LastUse
from serve.auth.limits.sliding_window import CallLog

_SCHEMA: Final = Path(__file__).with_name("journal.sql").read_text(encoding="utf-8")
_VERSION = 3
"""Of the tables, in the file's `user_version`."""

_ADD_CALLS = """
INSERT INTO calls SELECT value ->> 0, value ->> 1, 1 FROM json_each(?) WHERE true
ON CONFLICT (key_id, at_us) DO UPDATE SET n = n + 1
"""
"""The condition tells the parser that ON begins no join."""
_SET_MONTHS = (
    "INSERT OR REPLACE INTO monthly SELECT value ->> 0, value ->> 1, value ->> 2, ? FROM json_each(?)"
)
_SET_WRITTEN = "INSERT OR REPLACE INTO written VALUES (1, ?, ?)"
_READ_WAIT_SECONDS = 0.25


def _rows(rows: Iterable[tuple[str | int, ...]]) -> str:
    """Write rows as the text that a statement takes apart."""
    return orjson.dumps(list(rows)).decode()


class Journal:
    """The file, locked by this process.

    Parameters
    ----------
    path
        Made when it is not there, readable by its owner only.

    Raises
    ------
    SettingsError
        If another process uses it: each of them would allow the full limits.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._lock = os.open(path.with_name(path.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise SettingsError(
                f"the file of call counts {path} cannot be made ({error.strerror}): set ALPHA_RESULTS_LIMITS_STATE to another"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            raise SettingsError(
                f"another process already counts calls in {path}: set ALPHA_RESULTS_REDIS so that they count together,"
                " or ALPHA_RESULTS_LIMITS_STATE to a file of its own if it serves other keys"
            ) from error
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            # Used by one thread at a time: the loop's while opening, then the writer's.
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            # To be read, it then needs no file beside it that a full disk has no room for.
            self._connection.execute("PRAGMA journal_mode = TRUNCATE")
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, _VERSION):  # 0: a new file
                raise sqlite3.DatabaseError(f"it is of version {version}, and this program uses {_VERSION}")
            if version == 0:  # what is there already needs no write, for which a full disk has no room
                self._connection.executescript(f"{_SCHEMA} PRAGMA user_version = {_VERSION};")
        except (OSError, sqlite3.Error) as error:
            os.close(self._lock)
            raise SettingsError(
                f"{path} cannot be used as the file of call counts ({error}): remove it (counts begin at zero),"
                " make room on its disk, or set ALPHA_RESULTS_LIMITS_STATE to another"
            ) from error

    def present(self, clocks: Clocks) -> int:
        """Return the current time on the file's timeline, which is never before a recorded call.

        It began with the wall clock, which then measures only how long no process counted: set while one did, it does
        not move the timeline, and set back while none did, no time counts as passed.
        """
        wall_us = clocks.wall() // US
        (newest,) = self._connection.execute("SELECT max(at_us) FROM calls").fetchone()
        row = self._connection.execute("SELECT wall_us, at_us FROM written").fetchone()
        return max(newest or 0, row[1] + max(0, wall_us - row[0]) if row else wall_us)

    def load(self, now_us: int) -> dict[str, CallLog]:
        """Return the calls of each key that can still count at `now_us` of the file's timeline."""
        logs: dict[str, CallLog] = {}
        for key_id, month, n in self._connection.execute("SELECT key_id, month, n FROM monthly"):
            # When the newest of them was is not known, but not later than now.
            logs.setdefault(key_id, CallLog(last=now_us)).months[month] = n
        recent = "SELECT key_id, at_us, n FROM calls WHERE at_us > ? ORDER BY key_id, at_us"
        for key_id, at_us, n in self._connection.execute(recent, (now_us - MAX_WINDOW_US,)):
            logs.setdefault(key_id, CallLog(last=now_us)).times.extend(array("q", [at_us]) * n)
        return logs

    def append(
        self,
        calls: Iterable[tuple[str, int]],
        months: Sequence[tuple[str, int, int]],
        *,
        wall_us: int,
        at_us: int,
    ) -> None:
        """Add admitted calls (key, instant) and set the calls of months (key, month, calls), with the time of both."""
        # Each is one statement over one text: the driver takes and gives up the interpreter's lock with every row it
        # is handed, and the requests answered meanwhile would wait for it as often.
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.execute(_ADD_CALLS, (_rows(calls),))
            self._connection.execute(_SET_MONTHS, (wall_us, _rows(months)))
            self.write_time(wall_us=wall_us, at_us=at_us)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def write_time(self, *, wall_us: int, at_us: int) -> None:
        """Set the present on the file's timeline, beside the wall clock's."""
        self._connection.execute(_SET_WRITTEN, (wall_us, at_us))

    def forget(self, before_us: int, before_month: int) -> None:
        """Drop the calls up to an instant, and the counts of the months before one."""
        self._connection.execute("DELETE FROM calls WHERE at_us <= ?", (before_us,))
        self._connection.execute("DELETE FROM monthly WHERE month < ?", (before_month,))

    def close(self) -> None:
        """Close and unlock the file."""
        self._connection.close()
        os.close(self._lock)


def read_last_uses(path: Path, month: int) -> dict[str, LastUse]:
    """Return when the keys in a file last called and how often in a month (yyyymm); empty when it cannot be read now."""
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=_READ_WAIT_SECONDS)) as connection:
            rows = connection.execute(
                "SELECT key_id, max(used_us), sum(n) FILTER (WHERE month = ?) FROM monthly GROUP BY key_id",
                (month,),
            ).fetchall()
    except sqlite3.Error:
        return {}
    return {key_id: LastUse(used, calls or 0) for key_id, used, calls in rows}
