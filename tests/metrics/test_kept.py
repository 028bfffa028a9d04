"""The bounded memory of results."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.run_metrics.cache import Kept


def test_what_is_kept_is_made_once() -> None:
    made: list[str] = []
    kept: Kept[bytes] = Kept(100, len)

    def make(name: str) -> bytes:
        return kept.get(name, lambda: made.append(name) or b"x" * 10)  # type: ignore[func-returns-value]

    assert make("a") is make("a")
    assert made == ["a"]
    assert kept.nbytes == 10


@given(asked=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 60)), max_size=60))
def test_it_never_holds_more_than_it_may_and_answers_right(asked: list[tuple[int, int]]) -> None:
    kept: Kept[bytes] = Kept(100, len)
    for key, size in asked:
        found = kept.get((key, size), lambda key=key, size=size: bytes([key]) * size)  # type: ignore[misc]
        assert found == bytes([key]) * size
        assert kept.nbytes <= 100


def test_the_least_recently_used_goes_first() -> None:
    made: list[str] = []
    kept: Kept[bytes] = Kept(20, len)

    def ask(name: str) -> None:
        kept.get(name, lambda: made.append(name) or b"x" * 10)  # type: ignore[func-returns-value]

    for name in "abacab":
        ask(name)
    assert "".join(made) == "abcb"


def test_what_is_too_large_is_handed_out_but_not_kept() -> None:
    kept: Kept[bytes] = Kept(5, len)
    assert kept.get("a", lambda: b"x" * 6) == b"xxxxxx"
    assert kept.nbytes == 0


def test_a_failure_is_not_kept() -> None:
    kept: Kept[bytes] = Kept(5, len)

    def fail() -> bytes:
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        kept.get("a", fail)
    assert kept.get("a", lambda: b"back") == b"back"


def test_threads_that_ask_at_once_are_all_answered() -> None:
    kept: Kept[bytes] = Kept(1000, len)
    together = threading.Barrier(8)
    found: list[bytes] = []

    def ask() -> None:
        together.wait()
        found.extend(kept.get(key, lambda key=key: bytes([key]) * 10) for key in range(50))  # type: ignore[misc]

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(bytes([key]) * 10 for key in range(50) for _ in range(8))
    assert kept.nbytes == 500
