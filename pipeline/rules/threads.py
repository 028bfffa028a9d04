"""A thread pool that small inputs do without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Protocol, TypeVar

T = TypeVar("T")


class Begin(Protocol):
    """Start some work; the function returned waits for its result, or raises its exception."""

    def __call__(self, work: Callable[[], T]) -> Callable[[], T]:
        """Begin it."""
        ...


@contextmanager
def on_threads(threads: int, name: str, *, few: bool) -> Iterator[Begin]:
    """Yield a function that starts work on a thread pool; with few rows it runs inline, when its result is read.

    Threads that wait for each other cost a small seal a quarter more time than its work does, of every core.
    """
    if few:
        yield _deferred
        return
    with ThreadPoolExecutor(threads, thread_name_prefix=name) as pool:

        def begin(work: Callable[[], T]) -> Callable[[], T]:
            return pool.submit(copy_context().run, work).result

        yield begin


def _deferred(work: Callable[[], T]) -> Callable[[], T]:
    return work
