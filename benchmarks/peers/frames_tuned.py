"""Peer: Polars frames tuned for Q1: a frame for each week, answered on the event loop."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl

from benchmarks.peers.frames import Frames, body
from benchmarks.peers.routes import application, serve


class WeeklyFrames(Frames):
    """A dictionary with the frame of each week, so that a request needs no search."""

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        self._weeks: dict[str, dict[dt.date, pl.DataFrame]] = {}
        for alpha, rows in self.by_score.items():
            parts = rows.partition_by("date", as_dict=True, include_key=False)
            self._weeks[alpha] = {key[0]: part.rechunk() for key, part in parts.items()}

    def week(self, alpha: str, day: dt.date, limit: int, offset: int) -> bytes:
        """One week by falling score."""
        return body(self._weeks[alpha][day].slice(offset, limit))


if __name__ == "__main__":
    serve(lambda data: application(WeeklyFrames(data), week_in_loop=True))
