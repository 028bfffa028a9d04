from __future__ import annotations

import json
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.auth.client_address import address_allowed, client_address, parse_address, parse_network

V4 = ip_address("203.0.113.7")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("203.0.113.7", "203.0.113.7"),
        (" 203.0.113.7 ", "203.0.113.7"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("[::ffff:203.0.113.7]:4711", "203.0.113.7"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:DB8::1]", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
    ],
)
def test_equivalent_addresses_normalise_to_one_text(text: str, meaning: str) -> None:
    assert str(parse_address(text)) == meaning


@pytest.mark.parametrize(
    "text",
    ["", "unknown", "_hidden", "203.0.113", "203.0.113.7:", "203.0.113.7:x", "[::1", "[::1]x", "1.2.3.4.5"],
)
def test_an_invalid_address_is_none(text: str) -> None:
    assert parse_address(text) is None


PEER = "10.0.0.1"


@pytest.mark.parametrize(
    ("hops", "forwarded", "seen"),
    [
        # Without trusted proxies, the header is whatever the caller sent.
        (0, ["203.0.113.7"], PEER),
        (0, [], PEER),
        (1, ["203.0.113.7"], "203.0.113.7"),
        (1, ["6.6.6.6, 203.0.113.7"], "203.0.113.7"),
        (1, ["6.6.6.6", "203.0.113.7"], "203.0.113.7"),
        (2, ["6.6.6.6, 203.0.113.7, 10.0.0.2"], "203.0.113.7"),
        (2, ["6.6.6.6,5.5.5.5", "203.0.113.7", "10.0.0.2"], "203.0.113.7"),
        # Fewer hops than configured: the outermost one counts.
        (2, ["203.0.113.7"], "203.0.113.7"),
        (1, [], PEER),
    ],
)
def test_hops_are_counted_from_the_service_outwards(hops: int, forwarded: list[str], seen: str) -> None:
    assert str(client_address(PEER, ",".join(forwarded) or None, hops)) == seen


@given(st.integers(1, 3), st.lists(st.text('0123456789abcdef.:, \t"[]', max_size=30), max_size=4))
def test_a_callers_forwarding_headers_do_not_change_the_address_seen_by_the_proxies(
    hops: int, spoofed: list[str]
) -> None:
    honest = ["203.0.113.7", *[f"10.0.0.{n}" for n in range(2, hops + 1)]]
    assert client_address(PEER, ",".join((*spoofed, *honest)), hops) == V4


def test_a_socket_without_an_address_and_an_invalid_hop_have_no_address() -> None:
    assert client_address(None, None, 0) is None
    assert client_address(PEER, "unknown", 1) is None


def _stored(*networks: str) -> str:
    return json.dumps([str(parse_network(text)) for text in networks])


@pytest.mark.parametrize(
    ("listed", "address", "allowed"),
    [
        ("203.0.113.0/24", "203.0.113.7", True),
        ("203.0.113.0/24", "::ffff:203.0.113.7", True),
        ("::ffff:203.0.113.0/120", "203.0.113.7", True),
        ("203.0.113.7", "203.0.113.8", False),
        ("2001:db8::/32", "2001:db8:1::5", True),
        ("2001:db8::/32", "2001:db9::", False),
        ("0.0.0.0/0", "2001:db8::1", False),
        ("::/0", "203.0.113.7", False),
        ("0.0.0.0/0", "203.0.113.7", True),
    ],
)
def test_an_address_is_allowed_if_a_block_contains_it(listed: str, address: str, allowed: bool) -> None:
    assert address_allowed(parse_address(address), _stored(listed)) is allowed
    assert address_allowed(parse_address(address), _stored("192.0.2.1", listed)) is allowed


def test_a_caller_of_unknown_address_is_in_no_address_list() -> None:
    assert not address_allowed(None, _stored("0.0.0.0/0", "::/0"))


@pytest.mark.parametrize(
    ("text", "fix"),
    [("10.0.0.5/8", "10.0.0.0/8"), ("somewhere", "203.0.113.7"), ("10.0.0.0/33", "203.0.113.0/24")],
)
def test_an_invalid_address_block_is_refused_with_the_expected_form(text: str, fix: str) -> None:
    with pytest.raises(ValueError, match=fix):
        parse_network(text)
