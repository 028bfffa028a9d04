"""The memory cache: bounded and exact."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.cache import SizedLRUCache, cache_bytes, make_caches

OWNER = ("alpha", "snapshot")


def loaded(cache: SizedLRUCache[bytes], name: object, value: bytes) -> bytes:
    return cache.get_or_load(OWNER, str(name), lambda: value, len)


def test_a_quarter_of_the_memory_of_the_nearest_limited_control_group_is_shared_by_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups, own = tmp_path / "groups", tmp_path / "own"
    service = groups / "system.slice" / "alpha-results-serve.service"
    service.mkdir(parents=True)
    own.write_text("4:memory:/other\n0::/system.slice/alpha-results-serve.service\n")
    monkeypatch.setattr("serve.cache._CONTROL_GROUPS", groups)
    monkeypatch.setattr("serve.cache._OWN_GROUP", own)
    without = cache_bytes(0, 1)
    for folder, limit, expected in (
        (service, "max", without),
        (service.parent, "8000000", 1_000_000),
        (service, "4000000", 500_000),
        (groups, "800", 100),
    ):
        (folder / "memory.max").write_text(f"{limit}\n")
        assert cache_bytes(0, 2 if expected < without else 1) == expected
    assert cache_bytes(5, 2) == 5


def test_an_entry_is_loaded_once_and_hits_and_misses_are_counted() -> None:
    cache: SizedLRUCache[bytes] = SizedLRUCache(100)
    first = loaded(cache, "a", b"x" * 10)
    assert loaded(cache, "a", b"y") is first
    assert (cache.hits, cache.misses, len(cache), cache.bytes, cache.limit) == (1, 1, 1, 10, 100)


acts = st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.none() | st.integers(15, 45))


@given(st.lists(acts, max_size=60))
def test_the_bound_holds_with_least_recently_used_eviction(acts: list[tuple[str, int, int | None]]) -> None:
    cache: SizedLRUCache[int] = SizedLRUCache(100)
    order: list[tuple[str, int]] = []
    sizes: dict[tuple[str, int], int] = {}
    for owner, name, size in acts:
        key = (owner, name)
        assert cache.get((owner, "s"), name) == sizes.get(key)
        if size is not None:
            cache.put((owner, "s"), name, size, size)
            sizes[key] = size
        order = [x for x in order if x != key] + [key] * (key in sizes)
        while sum(sizes.values()) > 100:
            del sizes[order.pop(0)]
        assert cache.bytes == sum(sizes.values()) <= 100
        assert len(cache) == len(sizes)
    cache.put(("a", "s"), "large", 1, 101)
    assert cache.get(("a", "s"), "large") is None, "larger than everything together"
    cache.remove_if(lambda owner, _: owner == ("a", "s"))
    assert cache.bytes == sum(size for (owner, _), size in sizes.items() if owner != "a")


def test_a_walk_through_all_pages_evicts_none_that_others_repeat() -> None:
    cache: SizedLRUCache[str] = SizedLRUCache(100)
    for _ in range(2):
        cache.put_if_repeated(OWNER, "repeated", "page", 60)
    for number in range(50_000):
        cache.put_if_repeated(OWNER, number, "page", 60)
    assert cache.get(OWNER, "repeated") == "page"
    assert (len(cache), cache.bytes) == (1, 60)
    cache.put_if_repeated(OWNER, 49_999, "page", 60)
    assert cache.get(OWNER, 49_999) == "page"
    assert cache.bytes == 60


def test_a_failure_is_not_cached() -> None:
    cache: SizedLRUCache[bytes] = SizedLRUCache(5)

    def fail() -> bytes:
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        cache.get_or_load(OWNER, "a", fail, len)
    assert loaded(cache, "a", b"back") == b"back"


def test_the_caches_share_one_budget() -> None:
    for memory in (1, 1000, 2**30):
        assert sum(x.limit for x in make_caches(memory).values()) == memory
