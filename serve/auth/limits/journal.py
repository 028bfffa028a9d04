"""The file in which the in-process limiter saves its counts across restarts.

It is not a system of record: without it the counts of every window start at zero. Operators' commands read the last calls
of keys from it at any time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from schemas.errors import SettingsError, StorageUnavailable
from serve.auth.limits.counts import MAX_WINDOW_US, CallLog, LastUse

_VERSION: Final = 3
"""Version of the schema, in the file's `user_version`."""
_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS calls (
    key_id TEXT NOT NULL, at_us INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (key_id, at_us)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS monthly (
    key_id TEXT NOT NULL, month INTEGER NOT NULL, n INTEGER NOT NULL, used_us INTEGER NOT NULL,
    PRIMARY KEY (key_id, month)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (
    only INTEGER PRIMARY KEY CHECK (only = 1), wall_us INTEGER NOT NULL, at_us INTEGER NOT NULL
) WITHOUT ROWID;
PRAGMA user_version = {_VERSION};
"""
"""`at_us` is on the file's own timeline; `written` relates that to the wall clock; `used_us` is by the wall clock."""
_ADD_CALLS: Final = """
INSERT INTO calls SELECT value ->> 0, value ->> 1, 1 FROM json_each(?) WHERE true
ON CONFLICT (key_id, at_us) DO UPDATE SET n = n + 1
"""
"""`WHERE true` tells the parser that ON does not begin a join condition."""
_SET_MONTHS: Final = (
    "INSERT OR REPLACE INTO monthly SELECT value ->> 0, value ->> 1, value ->> 2, ? FROM json_each(?)"
)
_SET_WRITTEN: Final = "INSERT OR REPLACE INTO written VALUES (1, ?, ?)"
_HAS_MONTHS: Final = "SELECT 1 FROM sqlite_master WHERE name = 'monthly'"
_READ_WAIT_SECONDS: Final = 0.25


class Journal:
    """The file, locked by this process; created when missing, readable by its owner only.

    Raises
    ------
    SettingsError
        If another process uses the file, as each would allow the full limits, or if the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        try:
            with contextlib.ExitStack() as opened:
                lock = os.open(path.with_name(path.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
                opened.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
                # Used by one thread at a time: the event loop's while opening, then the writer's.
                self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
                opened.callback(self._connection.close)
                # Reads then need no second file, for which a full disk would have no space.
                self._connection.execute("PRAGMA journal_mode = TRUNCATE")
                (version,) = self._connection.execute("PRAGMA user_version").fetchone()
                if version not in (0, _VERSION):  # 0: a new file
                    raise sqlite3.DatabaseError(
                        f"it is of version {version}, and this program uses {_VERSION}"
                    )
                if version == 0:  # an existing file needs no write, which a full disk would refuse
                    self._connection.executescript(_SCHEMA)
                self._opened = opened.pop_all()
        except BlockingIOError as error:
            raise SettingsError(
                f"another process already counts calls in {path}: set ALPHA_RESULTS_REDIS so that they count together,"
                " or ALPHA_RESULTS_LIMITS_STATE to a file of its own if it serves other keys"
            ) from error
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise SettingsError(
                f"{path} cannot be used as the file of call counts ({reason}): remove it (counts begin at zero),"
                " create its folder, make room on its disk, or set ALPHA_RESULTS_LIMITS_STATE to another"
            ) from error

    def load(self, wall_us: int) -> tuple[int, dict[str, CallLog]]:
        """Return the current time on the file's timeline, and the calls of each key that may still count.

        The timeline starts at the wall clock's time. Later the wall clock only measures how long no process was counting:
        setting it while a process counts does not move the timeline; if it was set back while none did, no time counts as
        passed. The current time is never before a recorded call.
        """
        (newest,) = self._connection.execute("SELECT max(at_us) FROM calls").fetchone()
        row = self._connection.execute("SELECT wall_us, at_us FROM written").fetchone()
        now_us = max(newest or 0, row[1] + max(0, wall_us - row[0]) if row else wall_us)
        logs: dict[str, CallLog] = {}
        for key_id, month, n in self._connection.execute("SELECT key_id, month, n FROM monthly"):
            # The time of the newest call is unknown, but not later than now.
            logs.setdefault(key_id, CallLog(last=now_us)).months[month] = n
        recent = "SELECT key_id, at_us, n FROM calls WHERE at_us > ? ORDER BY key_id, at_us"
        for key_id, at_us, n in self._connection.execute(recent, (now_us - MAX_WINDOW_US,)):
            logs.setdefault(key_id, CallLog(last=now_us)).times.extend(array("q", [at_us]) * n)
        return now_us, logs

    def append(
        self,
        calls: Sequence[tuple[str, int]],
        months: Sequence[tuple[str, int, int]],
        wall_us: int,
        at_us: int,
    ) -> None:
        """Add admitted calls (key, instant) and set the calls of months (key, month, calls), with the time of both."""
        # One statement over one JSON text each: the driver takes and releases the interpreter's lock for every row,
        # and concurrent requests would wait for it as often.
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.execute(_ADD_CALLS, (orjson.dumps(calls).decode(),))
            self._connection.execute(_SET_MONTHS, (wall_us, orjson.dumps(months).decode()))
            self._connection.execute(_SET_WRITTEN, (wall_us, at_us))
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def forget(self, before_us: int, before_month: int) -> None:
        """Delete the calls up to an instant, and the counts of months before `before_month` (yyyymm)."""
        self._connection.execute("DELETE FROM calls WHERE at_us <= ?", (before_us,))
        self._connection.execute("DELETE FROM monthly WHERE month < ?", (before_month,))

    def close(self) -> None:
        """Close and unlock the file."""
        self._opened.close()


def read_last_uses(path: Path, month: int) -> dict[str, LastUse]:
    """Return each key's last call and its calls in a month (yyyymm); empty without a file, as before the first call.

    Raises
    ------
    StorageUnavailable
        If the file cannot be read now.
    """
    try:
        path.stat()
        address = f"{path.absolute().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=_READ_WAIT_SECONDS)) as connection:
            if not connection.execute(_HAS_MONTHS).fetchone():
                return {}  # the server has just created the file
            rows = connection.execute(
                "SELECT key_id, max(used_us), sum(n) FILTER (WHERE month = ?) FROM monthly GROUP BY key_id",
                (month,),
            ).fetchall()
    except FileNotFoundError:
        return {}
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StorageUnavailable(f"the file of call counts {path} cannot be read: {reason}") from error
    return {key_id: LastUse(used, calls or 0) for key_id, used, calls in rows}
