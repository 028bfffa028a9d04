"""Work that is done on threads where there is enough of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Protocol, TypeVar

T = TypeVar("T")


class Begin(Protocol):
    """Begins some work and returns what waits for its result, and raises what the work raised."""

    def __call__(self, work: Callable[[], T]) -> Callable[[], T]:
        """Begin it."""
        ...


@contextmanager
def on_threads(threads: int, name: str, *, few: bool) -> Iterator[Begin]:
    """Yield what begins work on threads; little work is left until its result is asked for.

    Threads that wait for each other cost a small seal a quarter more time than its work does, of every core.
    """
    if few:
        yield _put_off
        return
    with ThreadPoolExecutor(threads, thread_name_prefix=name) as pool:

        def begin(work: Callable[[], T]) -> Callable[[], T]:
            return pool.submit(copy_context().run, work).result

        yield begin


def _put_off(work: Callable[[], T]) -> Callable[[], T]:
    return work
