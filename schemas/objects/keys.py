"""Keys in answers: identity, inventory and usage. They contain neither secrets nor digests."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from schemas.field import flag, instant, integer, record, text, texts, union
from schemas.limits import LIMIT_WINDOWS
from schemas.units import Unit

_NULL: Final = "; null without a limit"
KEY_STATUSES: Final = ("active", "suspended")
"""Statuses in an inventory; an expired key is still active."""
ALL_KEY_STATUSES: Final = (*KEY_STATUSES, "revoked")
"""Statuses that an administrator sees."""

KEY_ID: Final = text("key_id", "Public part of the key, between its second underscore and the dot.")
_EXACT_KEY_ID: Final = replace(KEY_ID, pattern="^[0-9a-z]{16}$")

ALLOW_LIST: Final = union(
    "allow_list",
    "A set of names: all, those listed, or those with one of the prefixes.",
    record("", "All names.", text("mode", "All names are allowed.", vocabulary=("all",))),
    record(
        "",
        "A list of names.",
        text("mode", "The names in `ids` are allowed.", vocabulary=("list",)),
        texts("ids", "Allowed names; none if empty."),
    ),
    record(
        "",
        "All names with one of the prefixes.",
        text("mode", "Names that start with one of `prefixes` are allowed.", vocabulary=("prefix",)),
        texts("prefixes", "Allowed prefixes; no name is allowed if empty."),
    ),
    model="AllowList",
)

ALLOW: Final = record(
    "allow",
    "Allow-lists in force: the key's own, clamped to its account's ceiling.",
    replace(ALLOW_LIST, name="endpoints", meaning="Registry ids of the endpoints that the key may call."),
    replace(ALLOW_LIST, name="alphas", meaning="Alphas that it may list and whose description it may read."),
    replace(ALLOW_LIST, name="runs", meaning="Alphas whose data it may read."),
    model="Allow",
)

FIELD_POLICY: Final = record(
    "field_policy",
    "Access to the unconditioned signal.",
    flag("expose_raw_book", "Whether `raw_` fields and books are served to the key."),
    model="FieldPolicy",
)

RATE_LIMIT: Final = record(
    "rate_limit",
    "Calls that the key may make in each window.",
    *(
        integer(
            window.json_name,
            Unit.CALLS,
            f"In {window.span}{_NULL if window.optional else ''}.",
            nullable=window.optional,
        )
        for window in LIMIT_WINDOWS
    ),
    model="RateLimit",
)

USAGE: Final = record(
    "usage",
    "Calls counted in each window, from the limiter that enforces the limits.",
    *(integer(window.name, Unit.CALLS, f"Calls in the running {window.name}.") for window in LIMIT_WINDOWS),
    *(
        integer(
            f"remaining_{window.name}",
            Unit.CALLS,
            f"Calls left in the running {window.name}, never below 0{_NULL if window.optional else ''}.",
            nullable=window.optional,
        )
        for window in LIMIT_WINDOWS
    ),
    model="Usage",
)

REGISTRY_VERSION: Final = text(
    "registry_version", "Version of the set of endpoints: it changes if one is added, moved or removed."
)
_OWNER: Final = (
    text("user_id", "Account that owns the key."),
    text("email", "E-mail address of the owner."),
    text("role", "Current role of the owner."),
)
_GRANTS: Final = (ALLOW, FIELD_POLICY, RATE_LIMIT, USAGE)
_TIMES: Final = (
    instant("expires_at", "When the key expires; null for never.", nullable=True),
    instant("created_at", "When the key was issued."),
)
_LABELS: Final = (
    _EXACT_KEY_ID,
    text("display_prefix", "Masked token: its first two words and the start of its id."),
    text("name", "Label given when the key was issued."),
)

ME: Final = record(
    "me",
    "The calling key and its owner.",
    _EXACT_KEY_ID,
    text("key_name", "Label given when the key was issued."),
    *_OWNER,
    flag("is_admin", "Whether the owner is an administrator."),
    *_GRANTS,
    texts("callable_endpoints", "Registry ids of the endpoints that the key may call, in registry order."),
    REGISTRY_VERSION,
    text("ip", "The caller's address as the service sees it behind the trusted proxies."),
    model="Me",
)

KEY: Final = record(
    "key",
    "One key of the caller's account. Revoked keys are not listed.",
    *_LABELS,
    text("status", "Whether the key is active; for expiry see `expires_at`.", vocabulary=KEY_STATUSES),
    *_GRANTS,
    *_TIMES,
    model="Key",
)

KEY_USAGE: Final = record(
    "key_usage",
    "One key in the administrators' view, which includes revoked keys.",
    *_LABELS,
    text("status", "Whether the key is active.", vocabulary=ALL_KEY_STATUSES),
    record(
        "owner",
        "The account that owns the key.",
        *_OWNER,
        flag("active", "Whether the account is active; keys of an inactive account are refused."),
    ),
    *_GRANTS,
    *_TIMES,
    model="KeyUsage",
)
