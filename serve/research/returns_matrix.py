"""Daily returns of many runs as arrays, one row per run and one column per day, memory-mapped from a folder.

::

    <folder>/<SHA-256 of index.json>/
        days.npy         int32    days since 1970-01-01, ascending, one per column
        values.npy       float64  returns; 0 where the run has no session
        scaled.npy       float32  returns minus their mean, divided by their deviation; 0 where the run has no session
        calendars.npy    uint8    whether each column is a session, one bit each; most runs share a calendar with many others
        rows.npy                  calendar, deviation and largest absolute return of each row
        index.json                address and snapshot of each row, and the SHA-256 of every file

A folder is written under another name, renamed when it is complete, and never changed.
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import orjson

from datasets.analysis.comparison import NO_DATA
from datasets.catalogue.listing import Listing
from datasets.figures.daily_returns import DailyReturns, Days
from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Flags, Floats
from datasets.snapshot import Snapshot
from datasets.storage.file_digests import file_digest
from serve.cache import SnapshotKey

Singles = npt.NDArray[np.float32]
_INDEX: Final = "index.json"
_ARRAYS: Final = ("days", "values", "scaled", "calendars", "rows")
_ROW: Final = np.dtype([("calendar", np.int32), ("deviation", np.float64), ("largest", np.float64)])
NOT_READ: Final = "not_read"
UNREADABLE: Final = "unreadable"
NO_ROW: Final = {NOT_READ: -1, UNREADABLE: -2, NO_DATA: -3}
"""Reason -> code that replaces the row number of an alpha without a row."""
UNFINISHED: Final = ".part"
"""Suffix of a folder that is being written."""


class MatrixDamaged(Exception):
    """A folder differs from its digests."""


@dataclass(frozen=True, slots=True, eq=False)
class ReturnsMatrix:
    """Daily returns of some runs.

    Attributes
    ----------
    keys : sequence of (str, str), length n_rows
        Address and snapshot of each row.
    days : int32, shape (n_days,)
        Days since 1970-01-01, ascending.
    values : float64, shape (n_rows, n_days)
        Return of each session; 0 where there is none.
    scaled : float32, shape (n_rows, n_days)
        `values` minus the row's mean, divided by its deviation; 0 where there is no session, and where a row does not vary.
    calendars : bool, shape (n_calendars, n_days)
        Which days are sessions.
    rows : structured, shape (n_rows,)
        `calendar` of each row, the `deviation` that `scaled` was divided by, and its `largest` absolute return.
    """

    keys: Sequence[SnapshotKey]
    days: Days
    values: Floats
    scaled: Singles
    calendars: Flags
    rows: npt.NDArray[np.void]

    def returns(self, row: int) -> DailyReturns:
        """Return the series of one row.

        Parameters
        ----------
        row : int
            Number of the row.

        Returns
        -------
        DailyReturns
            A copy.
        """
        sessions = self.calendars[self.rows["calendar"][row]]
        return DailyReturns(self.days[sessions], self.values[row, sessions])

    @classmethod
    def of(cls, series: Mapping[SnapshotKey, DailyReturns]) -> ReturnsMatrix:
        """Build a matrix in memory.

        Parameters
        ----------
        series : Mapping[SnapshotKey, DailyReturns]
            At least one series, each of at least one session.

        Returns
        -------
        ReturnsMatrix
            One row per series, in their order.
        """
        calendars = {x.days.tobytes(): x.days for x in series.values()}
        days = np.unique(np.concatenate(list(calendars.values())))
        columns = [np.searchsorted(days, x) for x in calendars.values()]
        sessions = np.zeros((len(calendars), days.size), np.bool_)
        for number, own in enumerate(columns):
            sessions[number, own] = True
        numbers = {calendar: number for number, calendar in enumerate(calendars)}
        shape = (len(series), days.size)
        values, scaled = np.zeros(shape), np.zeros(shape, np.float32)
        rows = np.zeros(len(series), _ROW)
        for number, returns in enumerate(series.values()):
            calendar = numbers[returns.days.tobytes()]
            values[number, columns[calendar]] = returns.values
            scaled[number, columns[calendar]], deviation = _scaled(returns.values)
            rows[number] = calendar, deviation, np.abs(returns.values).max()
        return cls(tuple(series), days, values, scaled, sessions, rows)

    def save(self, parent: Path) -> Path:
        """Write the arrays to a folder that is named after a digest of its content, and keep one that exists.

        Parameters
        ----------
        parent : pathlib.Path
            Folder in which it is created.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        OSError
            When it cannot be written; the unfinished folder is removed.
        """
        part = parent / f"{uuid.uuid4().hex}{UNFINISHED}"
        try:
            part.mkdir()
            for name in _ARRAYS:
                array = getattr(self, name)
                np.save(part / f"{name}.npy", np.packbits(array, axis=1) if name == "calendars" else array)
            digests = {name: file_digest(part / f"{name}.npy") for name in _ARRAYS}
            index = orjson.dumps({"keys": self.keys, "sha256": digests})
            (part / _INDEX).write_bytes(index)
            folder = parent / hashlib.sha256(index).hexdigest()
            if folder.is_dir():
                shutil.rmtree(part)
                return folder
            return part.rename(folder)
        except OSError:
            shutil.rmtree(part, ignore_errors=True)
            raise


@dataclass(frozen=True, slots=True, eq=False)
class Searchable:
    """The searchable runs at one moment, in the order of the catalogue.

    Attributes
    ----------
    listing : Listing
        The catalogue.
    matrices : sequence of ReturnsMatrix
        Returns of the runs, their rows numbered one after the other.
    row : Integers, shape (n_alphas,)
        Row of each alpha of the listing; a value of :data:`NO_ROW` for an alpha without one.
    """

    listing: Listing
    matrices: Sequence[ReturnsMatrix]
    row: Integers

    @property
    def keys(self) -> list[SnapshotKey]:
        """Address and snapshot of each row."""
        return [key for matrix in self.matrices for key in matrix.keys]

    def returns(self, snapshot: Snapshot) -> DailyReturns | None:
        """Return the returns of a run.

        Parameters
        ----------
        snapshot : Snapshot
            A snapshot of the run.

        Returns
        -------
        DailyReturns or None
            None if no matrix holds the returns of this snapshot.
        """
        for matrix in self.matrices:
            if snapshot.key in matrix.keys:
                return matrix.returns(matrix.keys.index(snapshot.key))
        return None


def load(folder: Path) -> ReturnsMatrix:
    """Map a saved folder into memory.

    Parameters
    ----------
    folder : pathlib.Path
        Folder written by :meth:`ReturnsMatrix.save`.

    Returns
    -------
    ReturnsMatrix
        Its large arrays are memory-mapped.

    Raises
    ------
    MatrixDamaged
        When a file is missing or differs from its digest.
    """
    try:
        data = (folder / _INDEX).read_bytes()
        if hashlib.sha256(data).hexdigest() != folder.name:
            raise MatrixDamaged(f"{folder.name}/{_INDEX} is not what was written")
        index = orjson.loads(data)
        paths = {name: folder / f"{name}.npy" for name in _ARRAYS}
        damaged = [name for name, path in paths.items() if file_digest(path) != index["sha256"][name]]
        if damaged:
            raise MatrixDamaged(f"{folder.name}/{damaged[0]}.npy is not what was written")
        arrays = {name: np.load(path, mmap_mode="r") for name, path in paths.items()}
        keys = tuple((alpha_id, snapshot) for alpha_id, snapshot in index["keys"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MatrixDamaged(f"{folder.name} cannot be read: {error}") from error
    days, packed, rows = (np.array(arrays[name]) for name in ("days", "calendars", "rows"))
    calendars = np.unpackbits(packed, axis=1, count=days.size).astype(np.bool_)
    return ReturnsMatrix(keys, days, arrays["values"], arrays["scaled"], calendars, rows)


def _scaled(values: Floats) -> tuple[Floats, float]:
    """Centre a series and divide it by its deviation; all 0 if the deviation is 0 within rounding."""
    with np.errstate(all="ignore"):
        centred = values - values.mean()
        deviation = float(np.sqrt(np.vecdot(centred, centred) / values.size))
        scaled = centred / deviation
    if deviation <= 0 or not np.isfinite(scaled).all():
        return np.zeros_like(values), 0.0
    return scaled, deviation
