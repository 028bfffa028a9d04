"""Input frames of Polars or pandas, long or wide, as matrices of sessions and names."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from alpha_results_seal.errors import SealError

_LAST_DAY = np.datetime64(dt.date.max)
_YEAR_LAST = r"^\d{1,2}[/-]\d{1,2}[/-]"
_UNNAMED_INDEX = ("", "__index_level_0__")
"""Names of an unnamed pandas index in a CSV and a Parquet file; days, unless another column has them."""
ALIASES = {
    "date": ("datetime", "timestamp", "day", *_UNNAMED_INDEX),
    "symbol": ("asset", "ticker", "instrument"),
    "score": ("factor", "signal"),
}
"""Column -> its names in other libraries, ignoring case."""

Floats = npt.NDArray[np.float64]
Days = npt.NDArray[np.datetime64]


@dataclass(frozen=True)
class Matrix:
    """Values by day and name.

    Attributes
    ----------
    days
        Shape (D,), ascending.
    symbols
        The N names, sorted.
    values
        Shape (D, N); NaN for a missing value.
    """

    days: Days
    symbols: tuple[str, ...]
    values: Floats

    def rows(self, which: Any) -> Matrix:
        """Return the matrix of some days, selected by index or by flag."""
        return Matrix(self.days[which], self.symbols, self.values[which])

    def on(self, days: Days, symbols: tuple[str, ...]) -> Floats:
        """Return the values on the given days and names, which must include the matrix's own; NaN for missing ones."""
        values = np.full((len(days), len(symbols)), np.nan)
        place = {name: at for at, name in enumerate(symbols)}
        columns = np.array([place[name] for name in self.symbols], dtype=np.int64)
        values[np.ix_(np.searchsorted(days, self.days), columns)] = self.values
        return values


def table(frame: Any, label: str) -> pl.DataFrame:
    """Return a frame of Polars, pandas or Arrow, or a CSV or Parquet file, as a Polars frame.

    A named pandas index becomes columns.

    Raises
    ------
    SealError
        For a value of another type, a file that cannot be read, and two columns with the same name.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, (str, os.PathLike)):
        return _file(Path(frame), label)
    if _is_pandas(frame):
        try:
            flat = frame.reset_index() if any(name is not None for name in frame.index.names) else frame
            copy: pl.DataFrame = pl.from_pandas(flat)
        except (TypeError, ValueError) as error:
            raise SealError(f"{label} cannot be read: {error}") from error
        return copy
    try:
        converted = pl.from_arrow(frame) if hasattr(frame, "schema") else pl.DataFrame(frame)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise SealError(
            f"{label} is not a table but {type(frame).__name__}: give a frame of Polars or pandas."
        ) from error
    assert isinstance(converted, pl.DataFrame)
    return converted


def matrix(frame: Any, value: str, label: str) -> Matrix:
    """Read a frame with one value per day and name.

    Parameters
    ----------
    frame
        Long (columns ``date``, ``symbol`` and `value`, or their `ALIASES`) or wide (a column ``date``, or a pandas index of
        days, and one column per name); or the path of a CSV or Parquet file.
    value
        The column of a long frame.
    label
        Name of the frame in messages.

    Raises
    ------
    SealError
        If days or names are missing or duplicated, or a value is infinite.
    """
    frame = named_columns(frame, label, value)
    if "date" not in frame.columns:
        first = ", ".join(map(repr, frame.columns[:3])) or "none"
        raise SealError(
            f"{label} has no days (its first columns: {first}): give a column 'date', or a pandas frame with an index of days."
        )
    frame = frame.with_columns(date=to_days(frame["date"], label))
    if "symbol" in frame.columns:
        return _long(frame, value, label)
    frame = frame.sort("date")
    names = sorted(name for name in frame.columns if name != "date")
    if frame["date"].is_duplicated().any():
        day = frame["date"].filter(frame["date"].is_duplicated())[0]
        raise SealError(
            f"{label} has a day twice: {day}; a frame with one row per name has a column 'symbol'."
        )
    columns = [to_doubles(frame[name], label) for name in names]
    values = np.column_stack(columns) if columns else np.empty((frame.height, 0))
    return Matrix(frame["date"].to_numpy().astype("datetime64[D]"), tuple(names), values)


def prices(frames: Any) -> tuple[Matrix, Matrix | None]:
    """Read closes, and opens if given: a long frame with ``close`` and optionally ``open``, a wide one of closes, or a mapping of both.

    Raises
    ------
    SealError
        If a price is not above 0, opens and closes have different days or names, or the name of the opens is misspelt.
    """
    if isinstance(frames, Mapping):
        given = dict(frames)
    elif isinstance(frames, (str, os.PathLike, pl.DataFrame)) or _is_pandas(frames):
        frame = named_columns(frames, "prices", "close", "open")
        # The columns of a wide frame are names, one of which may be "open".
        columns = frame.columns if "symbol" in frame.columns else ()
        given = {"close": frame, **dict.fromkeys(columns, frame)}
    else:
        raise SealError(
            "prices are a frame of Polars or pandas, a file of one, or {'open': frame, 'close': frame}."
        )
    lower = {str(name).lower(): name for name in given}
    if "open" not in given and (near := get_close_matches("open", lower, 1, 0.75)):
        raise SealError(
            f"prices have no 'open' but {lower[near[0]]!r}: name that 'open', or leave it out; fills are then at closes."
        )
    by_name = {name: given[name] for name in ("close", "open") if name in given}
    if "close" not in by_name:
        raise SealError("prices have no close, at which positions are marked.")
    parts = {name: matrix(frame, name, f"prices ({name})") for name, frame in by_name.items()}
    for name, part in parts.items():
        at = np.argwhere(part.values <= 0)
        if len(at):
            day, place = at[0]
            raise SealError(
                f"the {name} of {part.symbols[place]} on {part.days[day]} is {part.values[day, place]}: prices are "
                "above 0; leave out a bar that is missing."
            )
    close, opened = parts["close"], parts.get("open")
    if opened is not None:
        names, days = set(opened.symbols) ^ set(close.symbols), np.setxor1d(opened.days, close.days)
        if differing := [*sorted(names), *days]:
            raise SealError(f"prices: open and close differ in days or names, the first: {differing[0]}.")
    return close, opened


def _file(path: Path, label: str) -> pl.DataFrame:
    if path.suffix.lower() not in {".csv", ".parquet"}:
        raise SealError(f"{label}: {path} is neither a .csv nor a .parquet file.")
    if path.suffix.lower() == ".csv" and path.is_dir():  # Polars reads a folder of Parquet files as one table
        raise SealError(f"{label}: {path} is a folder; give a file.")
    try:
        if path.suffix.lower() == ".parquet":
            return pl.read_parquet(path, glob=False)
        head = pl.read_csv(path, n_rows=1, infer_schema=False, truncate_ragged_lines=True, glob=False)
        if head.width == 1:
            raise SealError(
                f"{label}: {path} has one column, {head.columns[0][:40]!r}: separate columns by commas, and write decimals with a "
                "point; or read the file yourself and give the frame."
            )
        for name in head.columns:
            if f"{name}_duplicated_0" in head.columns:  # as Polars renames the second
                raise SealError(
                    f"{label}: {path} has two columns of the name {name!r}: rename or remove one."
                )
        # Read as text: codes such as 000001 would lose their zeros, and :func:`to_days` checks days that end with the year.
        names = [
            column.name
            for column in head
            if column.name.lower() in {"symbol", *ALIASES["symbol"]} or column.str.contains(_YEAR_LAST).any()
        ]
        texts = dict.fromkeys(names, pl.String)
        scan = pl.scan_csv(path, try_parse_dates=True, schema_overrides=texts, glob=False)
        kinds = scan.collect_schema()  # inferred from the first rows
        # Polars converts instants with an offset to UTC, and the session is their local day.
        zoned = [name for name, kind in kinds.items() if getattr(kind, "time_zone", None) is not None]
        # Their first fraction may come later.
        whole = [
            name
            for name, kind in kinds.items()
            if kind.is_integer() and name.lower() not in ("date", *ALIASES["date"])
        ]
        types = texts | dict.fromkeys(zoned, pl.String) | dict.fromkeys(whole, pl.Float64)
        frame = pl.read_csv(path, try_parse_dates=True, schema_overrides=types, glob=False)
        frame = frame.with_columns(pl.col(zoned).str.head(len("2024-01-02")))
        return frame.filter(~pl.all_horizontal(pl.all().is_null()))  # without blank lines
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]  # what follows is advice on Polars
        raise SealError(f"{label}: {path} cannot be read: {reason}") from error


def named_columns(source: Any, label: str, *values: str) -> pl.DataFrame:
    """Return a frame whose days are a column; a long one, which has a column of symbols, with the names of this package."""
    frame = table(_from_pandas(source, label) if _is_pandas(source) else source, label)
    lower = {name.lower(): name for name in reversed(frame.columns)}
    present = {
        name: next((lower[other] for other in (name, *ALIASES.get(name, ())) if other in lower), name)
        for name in ("date", "symbol", *values)
    }
    kind = frame.schema.get(present["symbol"])
    is_long = (
        "symbol" in frame.columns
        or isinstance(kind, (pl.String, pl.Categorical, pl.Enum))
        # A column "ticker" of integers is a name of a wide frame, unless days repeat.
        or (kind is not None and kind.is_integer() and _repeats(frame, present["date"]))
    )
    renamed = present if is_long else {"date": present["date"]}
    frame = frame.rename(
        {old: new for new, old in renamed.items() if old in frame.columns and new not in frame.columns}
    )
    return frame.drop([name for name in _UNNAMED_INDEX if name in frame.columns])


def _repeats(frame: pl.DataFrame, column: str) -> bool:
    return column in frame.columns and bool(frame[column].is_duplicated().any())


def _long(frame: pl.DataFrame, value: str, label: str) -> Matrix:
    others = [name for name in frame.columns if name not in ("date", "symbol")]
    if value not in frame.columns and len(others) == 1:
        frame = frame.rename({others[0]: value})
    if value not in frame.columns:
        raise SealError(f"{label} has no column {value!r}: a long frame has date, symbol and {value}.")
    unnamed = frame["symbol"].is_null()
    if unnamed.any():
        raise SealError(
            f"{label} has a row without a symbol on {frame['date'].filter(unnamed)[0]}: name it or leave the row out."
        )
    frame = frame.with_columns(symbol=to_names(frame["symbol"], label))
    doubled = frame.select("date", "symbol").is_duplicated()
    if doubled.any():
        first = frame.filter(doubled).row(0, named=True)
        raise SealError(f"{label} has {first['symbol']} twice on {first['date']}.")
    days = frame["date"].unique().sort()
    names = frame["symbol"].unique().sort()
    values = np.full((days.len(), names.len()), np.nan)
    rows = days.search_sorted(frame["date"]).to_numpy()
    columns = names.search_sorted(frame["symbol"]).to_numpy()
    values[rows, columns] = to_doubles(frame[value], label)
    return Matrix(days.to_numpy().astype("datetime64[D]"), tuple(names.to_list()), values)


def require_columns(columns: Iterable[str], names: Iterable[str], label: str) -> None:
    """Raise SealError for a missing column; `label` is the frame with its verb, such as ``fills have``."""
    present = set(columns)
    for name in names:
        if name not in present:
            raise SealError(f"{label} no column {name!r}.")


def to_doubles(series: pl.Series, label: str) -> Floats:
    """Return a column as doubles, NaN for null; raises SealError for non-numbers and infinity."""
    try:
        values = series.cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)
    except pl.exceptions.PolarsError as error:
        problem = f"is not a number but {series.dtype}: give floats."
        if series.dtype == pl.String:
            texts = series.filter(series.is_not_null() & series.cast(pl.Float64, strict=False).is_null())
            problem = (
                f"has {texts[0]!r}, which is not a number: write 1234.5, and leave missing values empty."
            )
        raise SealError(f"{label}: {series.name} {problem}") from error
    if np.isinf(values).any():
        raise SealError(f"{label}: {series.name} is infinite somewhere.")
    return values


def to_names(series: pl.Series, label: str) -> pl.Series:
    """Return a column of symbols as text; raises SealError for numbers with a fraction, such as integers with gaps in pandas."""
    if series.dtype.is_float():
        raise SealError(
            f"{label}: symbol is {series.dtype}, so that {series[0]} would be a name: give text or whole numbers."
        )
    return series.cast(pl.String)


def to_days(series: pl.Series, label: str) -> pl.Series:
    """Return a column as days: text is parsed, instants are reduced to their local day; raises SealError."""
    days = series
    if series.dtype == pl.String:
        days = series.str.to_date(strict=False)
    elif isinstance(series.dtype, pl.Datetime):
        days = series.dt.replace_time_zone(None).cast(pl.Date)
    if days.dtype != pl.Date:
        raise SealError(
            f"{label}: the column date does not have days only (it is {series.dtype}): write YYYY-MM-DD."
        )
    if days.null_count():
        first = series.filter(days.is_null())[0]
        raise SealError(f"{label}: the date {first!r} is not a day: write YYYY-MM-DD.")
    if series.dtype == pl.String and series.str.contains(_YEAR_LAST).any() and (days.dt.day() <= 12).all():
        # Polars takes the first number for the day.
        raise SealError(
            f"{label}: the date {series[0]!r} may begin with the day or with the month: write YYYY-MM-DD."
        )
    return days


def to_local_day(day: Any) -> Any:
    """Return the local day of an instant of Python or pandas; anything else is returned unchanged."""
    return day.date() if isinstance(day, dt.datetime) else day


def to_local_days(index: Any) -> Any:
    """Return the days of a pandas index of instants; local days, which are the sessions, if it has a time zone."""
    index = index if getattr(index, "tz", None) is None else index.tz_localize(None)
    return index.to_numpy().astype("datetime64[D]")


def _from_pandas(frame: Any, label: str) -> Any:
    """Return a pandas index as columns, days first."""
    frame = frame.to_frame() if frame.ndim == 1 else frame
    if frame.columns.nlevels > 1:
        raise SealError(
            f"{label} has columns of {frame.columns.nlevels} levels: select one, such as frame['Close']."
        )
    if "date" in frame.columns:
        return frame
    if frame.index.nlevels > 1:
        unnamed = frame.index.nlevels == 2 and not any(frame.index.names)
        return frame.reset_index(names=["date", "symbol"] if unnamed else None)
    if frame.index.dtype.kind not in "MO":
        return frame  # its days, if any, are a column
    try:
        days = to_local_days(frame.index)
    except (TypeError, ValueError) as error:
        raise SealError(
            f"{label}: the index does not have days only: give one row per day, one column per name."
        ) from error
    late = days > _LAST_DAY  # NumPy takes the text 20180202 for a year
    if late.any():
        raise SealError(
            f"{label}: the date {str(frame.index[late.argmax()])!r} is not a day: write YYYY-MM-DD."
        )
    columns = {str(name): frame[name].infer_objects().to_numpy() for name in frame.columns}
    if len(columns) < frame.shape[1]:
        raise SealError(f"{label} has two columns of the same name.")
    return pl.DataFrame({"date": days, **columns})


def _is_pandas(frame: Any) -> bool:
    return type(frame).__module__.split(".")[0] == "pandas"
