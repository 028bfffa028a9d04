"""How far a long download is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Callable

from alpha_results_client.settings import Progress

Reporter = Callable[[int, int], None]
"""Called after each page or file, with rows so far and rows in all."""


@contextlib.contextmanager
def reporter(progress: bool | Progress, what: str) -> Iterator[Reporter]:
    """Yield a function for progress: the caller's own, one that draws a bar of tqdm, or one that does nothing.

    A bar appears only for what takes more than one page.
    """
    if callable(progress):
        call = progress
        yield lambda done, total: call(what, done, total)
        return
    if not progress:
        yield lambda _done, _total: None
        return
    try:
        from tqdm.auto import tqdm  # noqa: PLC0415 - optional, and slow to load
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install 'alpha-results-client[progress]'") from error
    bars: list[Any] = []

    def show(done: int, total: int) -> None:
        if not bars and done < total:
            bars.append(tqdm(total=total, desc=what, unit=" rows"))
        for bar in bars:
            bar.update(done - bar.n)

    try:
        yield show
    finally:
        for bar in bars:
            bar.close()
