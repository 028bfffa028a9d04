"""Validation of operators' input. Each check returns the value to store, or raises an error that names the fix."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Final

from schemas.endpoints import ADMIN_IDS, ENDPOINTS
from schemas.errors import AccessError
from schemas.instants import microseconds
from schemas.limits import LIMIT_WINDOWS, RATE_EXAMPLE
from serve.auth.allow_list import ALL, AllowList, Mode
from serve.auth.client_address import parse_network
from serve.auth.limits.counts import RateLimit

MAX_RATE: Final = 1_000_000_000
"""Largest limit, which fits a 32-bit column."""
_EMAIL: Final = re.compile(r"[^@\s,\x00-\x1f]+@[^@\s,\x00-\x1f]+\.[^@\s,\x00-\x1f.]+")
_ALPHA: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_WINDOWS: Final = {window.option: window for window in LIMIT_WINDOWS}


def email(text: str) -> str:
    """Return an e-mail address in lower case."""
    text = text.strip()
    if len(text) > 254 or not _EMAIL.fullmatch(text):
        raise AccessError(f"email: {text!r} is not a valid e-mail address; write name@example.org")
    return text.lower()


def label(text: str) -> str:
    """Return the name of a key: 1 to 100 printable characters."""
    text = text.strip()
    if not 1 <= len(text) <= 100 or not text.isprintable():
        raise AccessError(
            "name: a key's name is 1 to 100 printable characters; give one that says what it is for"
        )
    return text


def endpoints(text: str, option: str, *, admin: bool) -> AllowList:
    """Read ``all`` or comma-separated registry ids; administrative ids only for an administrator's account."""
    if text.strip() == "all":
        return ALL
    ids = _items(text.removeprefix("list:"))
    unknown = [name for name in ids if name not in ENDPOINTS]
    if unknown:
        raise AccessError(
            f"{option}: {', '.join(map(repr, unknown))} not in the endpoint registry; give `all` or some of: {', '.join(ENDPOINTS)}"
        )
    require_grantable(ids, option, admin=admin)
    return AllowList(Mode.LIST, ids)


def require_grantable(ids: tuple[str, ...], option: str, *, admin: bool) -> None:
    """Refuse administrative ids for an account that is not an administrator's."""
    barred = [name for name in ids if name in ADMIN_IDS]
    if barred and not admin:
        raise AccessError(
            f"{option}: {', '.join(barred)} work for administrators only; leave them out, or `accounts set --admin` first"
        )


def key_endpoints(text: str, *, admin: bool) -> AllowList:
    """Read the endpoints of a key: a list of all selectable endpoints means ``all``, the account's ceiling."""
    chosen = endpoints(text, "endpoints", admin=admin)
    selectable = [name for name in ENDPOINTS if admin or name not in ADMIN_IDS]
    return ALL if all(map(chosen.allows, selectable)) else chosen


def alphas(text: str, option: str) -> AllowList:
    """Read ``all``, ``prefix:A,B`` or ``list:a,b``; an empty list or prefix list allows no name."""
    text = text.strip()
    if text == "all":
        return ALL
    kind, colon, rest = text.partition(":")
    if not colon or kind not in ("prefix", "list"):
        raise AccessError(
            f"{option}: {text!r} is not understood; write all, prefix:Test_ or list:alpha_one,alpha_two"
        )
    values = _items(rest)
    for value in values:
        if not _ALPHA.fullmatch(value) or ".." in value:
            raise AccessError(
                f"{option}: no alpha can be called or start with {value!r}; use letters, digits, `_`, `-` and `.`, the first a letter or digit"
            )
    return AllowList(Mode(kind), values)


def _items(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))


def rate(text: str, base: RateLimit) -> RateLimit:
    """Read limits written like `RATE_EXAMPLE`; those not named keep their value in `base`.

    ``null`` means no limit, for windows that may have none.
    """
    limits: dict[str, int | None] = {}
    for item in _items(text):
        name, equals, number = (part.strip() for part in item.partition("="))
        if not equals or name not in _WINDOWS or name in limits:
            raise AccessError(
                f"rate: {item!r} is not understood; write name=number, each once, as in {RATE_EXAMPLE}"
            )
        optional = _WINDOWS[name].optional
        if optional and number in ("null", "none", "unlimited"):
            limits[name] = None
            continue
        if not (number.isascii() and number.isdecimal()) or not 1 <= int(number) <= MAX_RATE:
            hint = f" ({name}=null means no limit)" if optional else ""
            raise AccessError(
                f"rate: {name} is {number!r}; a limit is a whole number from 1 to {MAX_RATE}{hint}."
                " To let no call through, suspend the key"
            )
        limits[name] = int(number)
    return RateLimit(tuple((base.by_option() | limits).values()))


def expiry(text: str, now_us: int) -> int | None:
    """Read a future ISO date or time (UTC unless it has an offset), or ``never``."""
    if text.strip() == "never":
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):  # OverflowError: in UTC it is after the year 9999
        raise AccessError(
            f"expires: {text!r} is not a valid date or time; write 2030-01-31, 2030-01-31T12:00:00Z or never"
        ) from None
    at = microseconds(moment)
    if at <= now_us:
        raise AccessError(f"expires: {text!r} has passed; give a later one, or revoke the key to end it now")
    return at


def addresses(text: str) -> str | None:
    """Return the stored list of comma-separated addresses and CIDR blocks; None for ``any``."""
    if text.strip() == "any":
        return None
    networks = []
    for item in _items(text):
        try:
            networks.append(str(parse_network(item)))
        except ValueError as error:
            raise AccessError(f"ips: {error}") from None
    if not networks:
        raise AccessError("ips: the list is empty; give at least one address, or any to lift the restriction")
    return json.dumps(list(dict.fromkeys(networks)))
