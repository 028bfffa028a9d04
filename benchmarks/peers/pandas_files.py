"""Peer: FastAPI with pandas, which reads the needed part of a Parquet file at each request."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pandas as pd

from benchmarks.columns import CORE, CURVE
from benchmarks.peers.routes import application, serve


class Files:
    """Reads the columns and days of a request, and does the rest in pandas."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._catalogue = pd.read_parquet(data / "catalogue.parquet").sort_values("place")

    def week(self, alpha: str, day: dt.date, limit: int, offset: int) -> bytes:
        """One week by falling score."""
        rows = pd.read_parquet(self._file("decisions", alpha), filters=[("date", "==", day)])
        rows = rows.drop(columns="date").sort_values(["score", "symbol"], ascending=[False, True])
        return _body(rows.iloc[offset : offset + limit])

    def panel(
        self, alpha: str, first: dt.date, last: dt.date, symbols: list[str] | None, limit: int, offset: int
    ) -> bytes:
        """Core columns by day and symbol."""
        filters: list[tuple[str, str, Any]] = [("date", ">=", first), ("date", "<=", last)]
        if symbols is not None:
            filters.append(("symbol", "in", symbols))
        rows = pd.read_parquet(self._file("decisions", alpha), columns=list(CORE), filters=filters)
        return _body(rows.sort_values(["date", "symbol"]).iloc[offset : offset + limit])

    def ledger(self, alpha: str, book: str, first: dt.date, limit: int, offset: int) -> bytes:
        """Sessions of one book."""
        return _body(self._sessions(alpha, book, first).iloc[offset : offset + limit])

    def curve(self, alpha: str, book: str, first: dt.date, limit: int, offset: int) -> bytes:
        """Equity curve of the window, and its summary."""
        rows = self._sessions(alpha, book, first)[list(CURVE)].reset_index(drop=True)
        start, end = rows["starting_equity"], rows["ending_equity"]
        peak = np.maximum(start, end).cummax()
        rows = rows.assign(
            period_return=(end - start) / start,
            cumulative_return=end / start.iloc[0] - 1,
            peak_equity=peak,
            drawdown=peak - end,
            drawdown_pct=(peak - end) / peak * 100,
        )
        last, deepest = rows.iloc[-1], rows.loc[rows["drawdown_pct"].idxmax()]
        summary = {
            "book": book,
            "first_date": str(rows["date"].iloc[0]),
            "last_date": str(last["date"]),
            "sessions": len(rows),
            "starting_equity": start.iloc[0],
            "ending_equity": last["ending_equity"],
            "peak_equity": last["peak_equity"],
            "total_return": last["cumulative_return"],
            "cumulative_return_pct": last["cumulative_return"] * 100,
            "max_drawdown": rows["drawdown"].max(),
            "max_drawdown_pct": deepest["drawdown_pct"],
            "max_drawdown_date": str(deepest["date"]),
        }
        text = orjson.dumps(summary, option=orjson.OPT_SERIALIZE_NUMPY)
        return _body(rows.iloc[offset : offset + limit], b',"summary":' + text)

    def alphas(self, search: str, limit: int, offset: int) -> bytes:
        """Alphas with the text in their id, name or thesis."""
        columns, text = ["alpha_id", "name", "tldr"], search.lower()
        matches = np.zeros(len(self._catalogue), bool)
        for name in columns:
            matches |= (
                self._catalogue[name].str.lower().str.contains(text, regex=False).fillna(False).to_numpy(bool)
            )
        return _body(self._catalogue.loc[matches, columns].iloc[offset : offset + limit])

    def _sessions(self, alpha: str, book: str, first: dt.date) -> pd.DataFrame:
        filters = [("book", "==", book), ("date", ">=", first)]
        return pd.read_parquet(self._file("ledger", alpha), filters=filters).sort_values("date")

    def _file(self, table: str, alpha: str) -> Path:
        return self._data / table / f"{alpha}.parquet"


def _body(rows: pd.DataFrame, more: bytes = b"") -> bytes:
    if "date" in rows.columns:
        # pandas would write dates as timestamps.
        rows = rows.assign(date=rows["date"].astype(str))
    return b'{"data":' + rows.to_json(orient="records", double_precision=15).encode() + more + b"}"


if __name__ == "__main__":
    serve(lambda data: application(Files(data)))
