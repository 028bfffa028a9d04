"""Settings of keys, accounts and limits of calls."""

from __future__ import annotations

from typing import Final

from schemas.settings.readers import KEY_WORD, PEPPERS, REDIS_URL
from schemas.settings.setting import Group, Setting, integer, location, path, text

KEYS_AND_LIMITS: Final = Group(
    "Keys and limits",
    "Read by `alpha-results serve run`. The commands on accounts and keys also read the first, and those without a flag; give them the "
    "same values.",
    (
        location(
            "access",
            "Store of accounts and keys: a file, sqlite:///FILE or postgresql://… (a password belongs in the variable).",
            otherwise="an SQLite file next to a local datasets root",
            secret=True,
        ),
        path(
            "limits_state",
            "File in which a single process keeps its call counts across restarts; not used with Redis.",
            otherwise="next to a local datasets root, else next to the store's file",
        ),
        Setting(
            "redis",
            REDIS_URL,
            "Redis server in which several workers or machines share call counts.",
            otherwise="each process counts by itself",
            secret=True,
            own_flag="",
        ),
        Setting(
            "pepper",
            PEPPERS,
            "Server-side secrets for the digests of keys, newest first, separated by commas: the first is used for new keys, all of them "
            "verify. At least 16 characters; use 32 random bytes in hex.",
            default=(),
            otherwise="the file next to an SQLite store; none with PostgreSQL",
            secret=True,
            own_flag="",
        ),
        Setting("key_prefix", KEY_WORD, "First word of every token.", default="ar", own_flag=""),
        Setting(
            "environment",
            KEY_WORD,
            "Second word of every token; keys of another environment are refused.",
            default="live",
            own_flag="",
        ),
        integer(
            "trusted_hops",
            (0, 16),
            "Number of your own proxies in front of the service; 0 trusts no header about a caller's address.",
            default=0,
        ),
        text(
            "actor",
            "Name recorded in the audit log for the commands on accounts and keys.",
            otherwise="the login name",
            own_flag="",
        ),
    ),
)
