"""Keys as answers show them: identity, inventory and use. No secret and no digest has a place here."""

from __future__ import annotations

from typing import Final

from schemas.field import flag, instant, integer, record, text, texts, union
from schemas.limits import LIMIT_WINDOWS
from schemas.units import Unit

_NULL: Final = "; null without a limit"
KEY_STATUSES: Final = ("active", "suspended")
"""What an inventory may show; an expired key still reads active."""
ALL_KEY_STATUSES: Final = (*KEY_STATUSES, "revoked")
"""What an administrator may see."""

KEY_ID: Final = text(
    "key_id", "Public part of the key: what stands between its second underscore and the dot."
)
_EXACT_KEY_ID: Final = KEY_ID.called("key_id", pattern="^[0-9a-z]{16}$")

ALLOW_LIST: Final = union(
    "allow_list",
    "A set of names: all of them, those listed, or those that start with a prefix.",
    record("", "Every name.", text("mode", "Every name is allowed.", vocabulary=("all",))),
    record(
        "",
        "The names listed.",
        text("mode", "Exactly the names in `ids` are allowed.", vocabulary=("list",)),
        texts("ids", "The names allowed; none when empty."),
    ),
    record(
        "",
        "The names that start with one of the prefixes.",
        text("mode", "Names starting with one of `prefixes` are allowed.", vocabulary=("prefix",)),
        texts("prefixes", "The prefixes allowed; no name is when empty."),
    ),
    model="AllowList",
)

ALLOW: Final = record(
    "allow",
    "The allow-lists in force: the key's own, clamped to its account's ceiling.",
    ALLOW_LIST.called("endpoints", "Registry ids of the endpoints the key may call."),
    ALLOW_LIST.called("alphas", "Alphas it may list and whose description it may read."),
    ALLOW_LIST.called("runs", "Alphas whose data it may read."),
    model="Allow",
)

FIELD_POLICY: Final = record(
    "field_policy",
    "What the key sees of the unconditioned signal.",
    flag("expose_raw_book", "Whether `raw_` fields and books are served to the key."),
    model="FieldPolicy",
)

RATE_LIMIT: Final = record(
    "rate_limit",
    "Calls the key may make in each window.",
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
    "Calls counted in each window now, read from the limiter that enforces the envelope.",
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
    "registry_version", "Names the set of endpoints: it changes when one is added, moved or removed."
)
_OWNER: Final = (
    text("user_id", "The account that owns the key."),
    text("email", "The owner's e-mail address."),
    text("role", "The owner's role, as it is now."),
)
_EXPIRES_AT: Final = instant("expires_at", "When the key stops working; null means never.", nullable=True)
_CREATED_AT: Final = instant("created_at", "When the key was issued.")
_DISPLAY_PREFIX: Final = text(
    "display_prefix", "The masked token: its first two words and the start of its id."
)

ME: Final = record(
    "me",
    "The calling key and its owner.",
    _EXACT_KEY_ID,
    text("key_name", "Label given when the key was issued."),
    *_OWNER,
    flag("is_admin", "Whether the role confers administrative powers."),
    ALLOW,
    FIELD_POLICY,
    RATE_LIMIT,
    USAGE,
    texts("callable_endpoints", "Registry ids the key may call, in the order of the registry."),
    REGISTRY_VERSION,
    text("ip", "The caller's address as the service sees it behind the trusted proxies."),
    model="Me",
)

KEY: Final = record(
    "key",
    "One key of the caller's account. Revoked keys are not listed.",
    _EXACT_KEY_ID,
    _DISPLAY_PREFIX,
    text("name", "Label given when the key was issued."),
    text(
        "status", "Whether the key authenticates; expiry is given by `expires_at`.", vocabulary=KEY_STATUSES
    ),
    ALLOW,
    FIELD_POLICY,
    RATE_LIMIT,
    USAGE,
    _EXPIRES_AT,
    _CREATED_AT,
    model="Key",
)

KEY_USAGE: Final = record(
    "key_usage",
    "One key as an administrator sees it, revoked ones included.",
    _EXACT_KEY_ID,
    _DISPLAY_PREFIX,
    text("name", "Label given when the key was issued."),
    text("status", "Whether the key authenticates.", vocabulary=ALL_KEY_STATUSES),
    record(
        "owner",
        "The account that owns the key.",
        *_OWNER,
        flag("active", "Whether the account is active; an inactive one's keys are refused."),
    ),
    ALLOW,
    FIELD_POLICY,
    RATE_LIMIT,
    USAGE,
    _EXPIRES_AT,
    _CREATED_AT,
    model="KeyUsage",
)
