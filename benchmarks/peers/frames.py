"""Peer: FastAPI over Polars frames in memory, pre-sorted by symbol and by score."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import orjson
import polars as pl

from benchmarks.columns import CORE, CURVE
from benchmarks.peers.routes import application, serve


class Frames:
    """All tables in memory; a request filters, slices and writes."""

    def __init__(self, data: Path) -> None:
        self.by_score: dict[str, pl.DataFrame] = {}
        self._panels: dict[str, pl.DataFrame] = {}
        self._ledgers: dict[tuple[str, str], pl.DataFrame] = {}
        for file in sorted((data / "decisions").glob("*.parquet")):
            rows = pl.read_parquet(file)
            self.by_score[file.stem] = rows.sort(
                "date", "score", "symbol", descending=[False, True, False], nulls_last=True
            )
            self._panels[file.stem] = (
                rows.select(CORE).sort("date", "symbol").with_columns(pl.col("date").set_sorted())
            )
        for file in sorted((data / "ledger").glob("*.parquet")):
            for (book,), part in pl.read_parquet(file).partition_by("book", as_dict=True).items():
                self._ledgers[file.stem, str(book)] = part.sort("date")
        self._catalogue = pl.read_parquet(data / "catalogue.parquet").sort("place")
        self._searched = self._catalogue.select(
            pl.concat_str(pl.col("alpha_id", "name", "tldr").fill_null(""), separator="\n").str.to_lowercase()
        ).to_series()

    def week(self, alpha: str, day: dt.date, limit: int, offset: int) -> bytes:
        """One week by falling score."""
        return body(_between(self.by_score[alpha], day, day).drop("date").slice(offset, limit))

    def panel(
        self, alpha: str, first: dt.date, last: dt.date, symbols: list[str] | None, limit: int, offset: int
    ) -> bytes:
        """Core columns by day and symbol."""
        rows = _between(self._panels[alpha], first, last)
        if symbols is not None:
            rows = rows.filter(pl.col("symbol").is_in(symbols))
        return body(rows.slice(offset, limit))

    def ledger(self, alpha: str, book: str, first: dt.date, limit: int, offset: int) -> bytes:
        """Sessions of one book."""
        return body(_between(self._ledgers[alpha, book], first, None).slice(offset, limit))

    def curve(self, alpha: str, book: str, first: dt.date, limit: int, offset: int) -> bytes:
        """Equity curve of the window, and its summary."""
        start, end, peak = pl.col("starting_equity"), pl.col("ending_equity"), pl.col("peak_equity")
        rows = (
            _between(self._ledgers[alpha, book], first, None)
            .select(CURVE)
            .with_columns(
                period_return=(end - start) / start,
                cumulative_return=end / start.first() - 1,
                peak_equity=pl.max_horizontal(start, end).cum_max(),
            )
            .with_columns(drawdown=peak - end, drawdown_pct=(peak - end) / peak * 100)
        )
        return curve_body(rows, book, limit, offset)

    def alphas(self, search: str, limit: int, offset: int) -> bytes:
        """Alphas with the text in their id, name or thesis."""
        matches = self._catalogue.filter(self._searched.str.contains(search.lower(), literal=True))
        return body(matches.slice(offset, limit).drop("place"))


def _between(rows: pl.DataFrame, first: dt.date, last: dt.date | None) -> pl.DataFrame:
    start = rows["date"].search_sorted(first, "left")
    end = rows.height if last is None else rows["date"].search_sorted(last, "right")
    return rows.slice(start, end - start)


def body(rows: pl.DataFrame, more: bytes = b"") -> bytes:
    """Return rows as a JSON body, with `more` after them."""
    return b'{"data":' + rows.write_json().encode() + more + b"}"


def curve_body(rows: pl.DataFrame, book: str, limit: int, offset: int) -> bytes:
    """Return a page of an equity curve, with its summary."""
    last, deepest = (
        rows.row(-1, named=True),
        rows.row(int(rows["drawdown_pct"].arg_max() or 0), named=True),
    )
    summary = {
        "book": book,
        "first_date": rows["date"][0],
        "last_date": last["date"],
        "sessions": rows.height,
        "starting_equity": rows["starting_equity"][0],
        "ending_equity": last["ending_equity"],
        "peak_equity": last["peak_equity"],
        "total_return": last["cumulative_return"],
        "cumulative_return_pct": last["cumulative_return"] * 100,
        "max_drawdown": rows["drawdown"].max(),
        "max_drawdown_pct": deepest["drawdown_pct"],
        "max_drawdown_date": deepest["date"],
    }
    return body(rows.slice(offset, limit), b',"summary":' + orjson.dumps(summary))


if __name__ == "__main__":
    serve(lambda data: application(Frames(data)))
