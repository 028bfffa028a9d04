"""Settings of keys, accounts and limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from schemas.errors import SettingsError
from serve.access.location import StoreLocation

_WORD: Final = re.compile(r"[a-z][a-z0-9]{0,15}")
MAX_HOPS: Final = 16
MIN_PEPPER: Final = 16
"""Shortest pepper, in characters: a shorter one adds little to a stolen store."""


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Where accounts, keys and counts are kept, and how tokens and addresses are read.

    Attributes
    ----------
    store
        A file or ``sqlite:///file``, or ``postgresql://…``; may hold a password, so it is never shown whole.
    state
        SQLite file in which the in-process limiter keeps its counts over a restart; not used with `redis`.
    redis
        ``redis://…`` when several workers or machines count together; None for the in-process limiter.
    token_prefix, environment
        The first two words of every token.
    peppers
        Server-side secrets of the digests: the first makes new digests, all of them verify. When empty, an
        SQLite store uses the file beside it, made at first use, and PostgreSQL uses none.
    trusted_hops
        Proxies of one's own in front of the service, counted from the service outwards.
    workers
        Serving processes; more than one needs `redis`.

    Raises
    ------
    SettingsError
        When a value makes no sense; the message names its environment variable.
    """

    store: str = field(repr=False)
    state: Path | None = None
    redis: str | None = field(default=None, repr=False)
    token_prefix: str = "ar"  # noqa: S105 - the public first word of tokens, no password
    environment: str = "live"
    peppers: tuple[bytes, ...] = field(default=(), repr=False)
    trusted_hops: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        StoreLocation.parse(self.store)
        for name, word in (("KEY_PREFIX", self.token_prefix), ("ENVIRONMENT", self.environment)):
            if not _WORD.fullmatch(word):
                raise SettingsError(
                    f"ALPHA_RESULTS_{name} is {word!r}: a word of a token is 1 to 16 lower-case letters and digits, a letter first"
                )
        if not 0 <= self.trusted_hops <= MAX_HOPS:
            raise SettingsError(
                f"ALPHA_RESULTS_TRUSTED_HOPS is {self.trusted_hops}: give the number of your own proxies, 0 to {MAX_HOPS}"
            )
        if self.workers < 1:
            raise SettingsError(f"ALPHA_RESULTS_WORKERS is {self.workers}: at least one worker has to serve")
        if any(len(pepper) < MIN_PEPPER for pepper in self.peppers):
            raise SettingsError(
                f"ALPHA_RESULTS_PEPPER holds a pepper shorter than {MIN_PEPPER} characters: use 32 random bytes, written in hex"
            )
        if self.redis is not None and self.redis.partition("://")[0] not in ("redis", "rediss", "unix"):
            raise SettingsError("ALPHA_RESULTS_REDIS has to start with redis://, rediss:// or unix://")

    @property
    def location(self) -> StoreLocation:
        """The address of the store, read."""
        return StoreLocation.parse(self.store)

    def require_serving(self) -> None:
        """Raise SettingsError unless calls can be counted exactly with these settings.

        To be called before workers are started, so that the refusal comes once and at once.
        """
        if self.redis is None and self.workers > 1:
            raise SettingsError(
                f"{self.workers} workers cannot count calls together without Redis: set ALPHA_RESULTS_REDIS=redis://… or run one worker"
            )
        if self.redis is None and self.state is None:
            raise SettingsError(
                "there is no place to keep the counts of calls: set ALPHA_RESULTS_LIMITS_STATE to a local file, or ALPHA_RESULTS_REDIS"
            )

    @classmethod
    def from_environment(
        cls,
        env: Mapping[str, str],
        datasets_root: str | Path | None,
        overrides: Mapping[str, Any] | None = None,
    ) -> AccessSettings:
        """Read the settings from a mapping of environment variables.

        Parameters
        ----------
        env
            Usually ``os.environ``. Read are ``ALPHA_RESULTS_ACCESS``, ``_LIMITS_STATE``, ``_REDIS``,
            ``_KEY_PREFIX``, ``_ENVIRONMENT``, ``_PEPPER`` (several, newest first, separated by commas),
            ``_TRUSTED_HOPS`` and ``_WORKERS``; an empty value counts as absent.
        datasets_root
            The published root. The default files lie next to it and never inside it, so that nothing of
            them can be mistaken for published data: ``<root>.access.sqlite3``, ``<root>.limits.sqlite3``.
        overrides
            Fields of this class by name, from flags; those that are None are ignored.

        Raises
        ------
        SettingsError
            When a value makes no sense, or no store is named and the root is not a local folder.
        """
        given = {name: value for name, value in (overrides or {}).items() if value is not None}
        root = _local(datasets_root)
        store = (
            given.pop("store", None) or env.get("ALPHA_RESULTS_ACCESS") or (root and f"{root}.access.sqlite3")
        )
        if not store:
            raise SettingsError(
                "no store of accounts and keys is named: give --access or ALPHA_RESULTS_ACCESS"
                " (a file or postgresql://…), or a local datasets root to put the default file beside"
            )
        path = StoreLocation.parse(store).path
        if root is not None and path is not None and path.is_relative_to(root):
            raise SettingsError(
                f"the access store {path} lies inside the published root: keep it outside, by default {root}.access.sqlite3"
            )
        state = given.pop("state", None) or env.get("ALPHA_RESULTS_LIMITS_STATE")
        if state is None and root is not None:
            state = f"{root}.limits.sqlite3"
        elif state is None and path is not None:
            state = f"{path}.limits"
        values: dict[str, Any] = {
            "redis": env.get("ALPHA_RESULTS_REDIS") or None,
            "token_prefix": env.get("ALPHA_RESULTS_KEY_PREFIX") or "ar",
            "environment": env.get("ALPHA_RESULTS_ENVIRONMENT") or "live",
            "peppers": tuple(
                x.strip().encode() for x in env.get("ALPHA_RESULTS_PEPPER", "").split(",") if x.strip()
            ),
            "trusted_hops": _integer(env, "ALPHA_RESULTS_TRUSTED_HOPS", 0),
            "workers": _integer(env, "ALPHA_RESULTS_WORKERS", 1),
        }
        return cls(store=str(store), state=Path(state) if state else None, **{**values, **given})


def _local(root: str | Path | None) -> Path | None:
    text = str(root or "").removeprefix("file://")
    return None if not text or "://" in text else Path(text).expanduser().absolute()


def _integer(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name) or str(default)
    if not text.isascii() or not text.isdecimal():
        raise SettingsError(f"{name} is {text!r}: give a plain whole number")
    return int(text)
