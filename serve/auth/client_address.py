"""The caller's address behind trusted proxies, and lists of allowed addresses."""

from __future__ import annotations

import json
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network

UNKNOWN: Final = "unknown"
"""Text for an address that could not be read."""
_MAPPED_BITS: Final = 96


def parse_address(text: str) -> IPAddress | None:
    """Read the address of one hop, with or without port, brackets and zone; None if it is not valid.

    An IPv4-mapped IPv6 address (``::ffff:10.0.0.1``) becomes the IPv4 address, so that a caller has the same address on
    every socket.
    """
    text = text.strip()
    if text.startswith("["):
        text, bracket, port = text[1:].partition("]")
        if not bracket or (port and not (port[0] == ":" and port[1:].isdecimal())):
            return None
    elif text.count(":") == 1:
        text, _, port = text.partition(":")
        if not port.isdecimal():
            return None
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def parse_network(text: str) -> IPNetwork:
    """Read one entry of an allow-list, an address or a CIDR block; raises ValueError with what was probably meant."""
    text = text.strip()
    try:
        network = ip_network(text)
    except ValueError:
        try:
            loose = ip_network(text, strict=False)
        except ValueError:
            raise ValueError(
                f"{text!r} is not a valid address or block: write 203.0.113.7, 203.0.113.0/24 or 2001:db8::/32"
            ) from None
        raise ValueError(f"{text!r} has bits set outside its prefix: write {loose}") from None
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is not None and network.prefixlen >= _MAPPED_BITS:
        return IPv4Network((mapped, network.prefixlen - _MAPPED_BITS))
    return network


@lru_cache(maxsize=512)
def _networks(stored: str) -> tuple[IPNetwork, ...]:
    return tuple(ip_network(text) for text in json.loads(stored))


def address_allowed(address: IPAddress | None, stored: str) -> bool:
    """Whether an address is in a key's stored list; one that could not be read is not."""
    return address is not None and any(address in network for network in _networks(stored))


@lru_cache(maxsize=1024)
def client_address(peer: str | None, forwarded: str | None, hops: int) -> IPAddress | None:
    """Return the caller's address as seen by the outermost trusted proxy; None when that is not a readable address.

    Each proxy appends the address it was called from to ``X-Forwarded-For``, so only the last `hops`
    entries were written by trusted proxies; the entries to their left come from the caller.

    Parameters
    ----------
    peer
        The other end of the connection; None on a socket that has no address.
    forwarded
        The values of every ``X-Forwarded-For`` header in the order received, joined with commas; None without any.
    hops
        Number of trusted proxies. If there are fewer entries, the outermost one is used.
    """
    chain = [] if forwarded is None else forwarded.split(",")
    chain.append(peer or "")
    return parse_address(chain[max(0, len(chain) - 1 - hops)])
