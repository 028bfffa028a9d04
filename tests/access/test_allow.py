from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.endpoints import META_IDS
from serve.auth.allow_list import ALL, DEFAULT_ALPHAS, DEFAULT_CEILING, AllowList, Mode, clamp

# Few letters, so that prefixes coincide.
names = st.text("ab_", max_size=5)
lists = (
    st.just(ALL)
    | st.builds(AllowList, st.just(Mode.LIST), st.lists(names, max_size=6).map(tuple))
    | st.builds(AllowList, st.just(Mode.PREFIX), st.lists(names.filter(bool), max_size=4).map(tuple))
)


@given(lists, lists, names)
def test_an_intersection_allows_exactly_what_both_allow(a: AllowList, b: AllowList, name: str) -> None:
    assert a.intersection(b).allows(name) == (a.allows(name) and b.allows(name))


@given(lists, lists, names)
def test_clamping_stored_allow_lists_gives_their_intersection(
    granted: AllowList, ceiling: AllowList, name: str
) -> None:
    clamped = clamp(granted.dumps(), ceiling.dumps())
    assert clamped.allows(name) == (granted.allows(name) and ceiling.allows(name))


@given(lists, lists)
def test_clamping_is_idempotent(granted: AllowList, ceiling: AllowList) -> None:
    once = granted.intersection(ceiling)
    assert {*once.intersection(ceiling).values} == {*once.values}


@given(lists)
def test_a_stored_allow_list_round_trips(allowed: AllowList) -> None:
    assert AllowList.loads(allowed.dumps()) == allowed


@given(lists)
def test_all_is_the_identity_of_intersection(some: AllowList) -> None:
    assert some.intersection(ALL) == some
    assert ALL.intersection(some) == some


def test_allow_lists_have_the_documented_json() -> None:
    assert ALL.to_json() == {"mode": "all"}
    assert AllowList(Mode.LIST, ("b", "a")).to_json() == {"mode": "list", "ids": ["b", "a"]}
    assert AllowList(Mode.PREFIX, ("Test_",)).to_json() == {"mode": "prefix", "prefixes": ["Test_"]}
    assert DEFAULT_CEILING.to_json() == {"mode": "list", "ids": list(META_IDS)}
    assert DEFAULT_ALPHAS.to_json() == {"mode": "prefix", "prefixes": ["Test_"]}


def test_alpha_names_are_case_sensitive() -> None:
    assert DEFAULT_ALPHAS.allows("Test_one")
    assert not DEFAULT_ALPHAS.allows("test_one")
    assert not DEFAULT_ALPHAS.allows("Prod_Test_one")


@pytest.mark.parametrize("mode", [Mode.LIST, Mode.PREFIX])
def test_an_empty_list_allows_nothing(mode: Mode) -> None:
    assert not AllowList(mode).allows("")
    assert not AllowList(mode).allows("Test_one")
