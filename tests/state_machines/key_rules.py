"""Rules: operators' changes of accounts and keys, and expiry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from schemas.errors import AccessError
from tests.state_machines.key_model import (
    ACTIVE,
    ENDPOINTS,
    GRANTS,
    RATES,
    REVOKED,
    SUSPENDED,
    WIDE,
    Key,
    Rate,
    spelled,
)
from tests.state_machines.store import PICK, Store
from tests.support.administration import Administration

_ENDPOINTS: Final = st.sampled_from(("all", *ENDPOINTS))
_ALPHAS: Final = st.sampled_from(("all", *GRANTS))
_RATE: Final = st.sampled_from(RATES)
_SPANS: Final = (timedelta(seconds=5), timedelta(seconds=20), timedelta(hours=1), timedelta(days=2))
_LASTS: Final = st.sampled_from((None, *_SPANS))
_ACCOUNT: Final = st.integers(0, 1)

Act = Callable[[Administration], Awaitable[Any]]


class KeyRules(Store):
    """Accounts, keys and time."""

    def __init__(self) -> None:
        super().__init__()
        for rate, lasts in ((WIDE, None), (RATES[1], timedelta(seconds=20))):
            self.issue(0, "all", "all", "all", rate, lasts)

    @rule(account=_ACCOUNT, endpoints=_ENDPOINTS, alphas=_ALPHAS, runs=_ALPHAS, rate=_RATE, lasts=_LASTS)
    def issue(
        self, account: int, endpoints: str, alphas: str, runs: str, rate: Rate, lasts: timedelta | None
    ) -> None:
        owner = self.accounts[account]
        expires = None if lasts is None else self.now + lasts
        given: dict[str, Any] = {
            "endpoints": endpoints,
            "alphas": alphas,
            "runs": runs,
            "rate": spelled(rate),
        }
        given |= {} if expires is None else {"expires": expires.isoformat()}
        issued = self._act(
            "issue", lambda to: to.keys.issue(owner.email, "a key", **given), allowed=owner.active
        )
        if issued is not None:
            key = Key(issued.record.id, issued.token, owner, endpoints, alphas, runs, rate, expires)
            self.keys.append(key)

    @rule(
        pick=PICK,
        endpoints=st.none() | _ENDPOINTS,
        alphas=st.none() | _ALPHAS,
        runs=st.none() | _ALPHAS,
        rate=st.none() | _RATE,
        lasts=_LASTS,
    )
    def grant(
        self,
        pick: int,
        endpoints: str | None,
        alphas: str | None,
        runs: str | None,
        rate: Rate | None,
        lasts: timedelta | None,
    ) -> None:
        """Change a key's grants; None leaves one unchanged."""
        key = self.picked(pick)
        expires = None if lasts is None else self.now + lasts
        given: dict[str, Any] = {
            "endpoints": endpoints,
            "alphas": alphas,
            "runs": runs,
            "rate": None if rate is None else spelled(rate),
            "expires": None if expires is None else expires.isoformat(),
        }
        before = (key.endpoints, key.alphas, key.runs, key.rate, key.expires)
        after = (
            endpoints or key.endpoints,
            alphas or key.alphas,
            runs or key.runs,
            rate or key.rate,
            expires or key.expires,
        )
        allowed = key.status != REVOKED and after != before
        if self._act("grant", lambda to: to.keys.change(key.id, **given), allowed=allowed):
            key.endpoints, key.alphas, key.runs, key.rate, key.expires = after

    @rule(pick=PICK, act=st.sampled_from(("suspend", "reactivate", "reactivate", "never expires", "revoke")))
    def decide_on_a_key(self, pick: int, act: str) -> None:
        if act == "reactivate" and (stopped := [key for key in self.keys if key.status == SUSPENDED]):
            key = (*stopped, *stopped, *self.keys)[pick % (2 * len(stopped) + len(self.keys))]
        else:
            key = self.picked(pick)
        status, usable = key.status, key.status != REVOKED
        acts: dict[str, tuple[Act, bool]] = {
            "suspend": (lambda to: to.keys.suspend(key.id), status == ACTIVE),
            "reactivate": (lambda to: to.keys.reactivate(key.id), status == SUSPENDED),
            "never expires": (
                lambda to: to.keys.change(key.id, expires="never"),
                usable and key.expires is not None,
            ),
            "revoke": (lambda to: to.keys.revoke(key.id), usable),
        }
        does, allowed = acts[act]
        if self._act(act, does, allowed=allowed):
            key.status = {"suspend": SUSPENDED, "reactivate": ACTIVE, "revoke": REVOKED}.get(act, status)
            key.expires = None if act == "never expires" else key.expires

    @rule(pick=PICK, grace=st.sampled_from((None, 0, 10, 3600)))
    def rotate(self, pick: int, grace: int | None) -> None:
        """Rotate a key; the old token works during a grace period."""
        key = self.picked(pick)
        usable = key.status == ACTIVE and not key.expired(self.now) and key.account.active
        done = self._act("rotate", lambda to: to.keys.rotate(key.id, grace_seconds=grace), allowed=usable)
        if done is None:
            return
        issued = done[0]
        self.keys.append(replace(key, id=issued.record.id, token=issued.token, calls=[]))
        if grace == 0:
            key.status = REVOKED
        elif grace is not None:
            end = self.now + timedelta(seconds=grace)
            key.expires = end if key.expires is None else min(end, key.expires)

    @rule(account=_ACCOUNT, active=st.sampled_from((True, True, False)))
    def close_or_reopen(self, account: int, active: bool) -> None:
        one = self.accounts[account]

        async def act(to: Administration) -> Any:
            change = to.accounts.activate if active else to.accounts.deactivate
            return await change(one.email)

        if self._act("reopen" if active else "close", act, allowed=one.active is not active):
            one.active = active

    @rule(account=_ACCOUNT, endpoints=_ENDPOINTS, alphas=_ALPHAS, runs=_ALPHAS)
    def clamp(self, account: int, endpoints: str, alphas: str, runs: str) -> None:
        """Change the ceiling of an account."""
        one = self.accounts[account]
        given: dict[str, Any] = {
            "ceiling_endpoints": endpoints,
            "ceiling_alphas": alphas,
            "ceiling_runs": runs,
        }
        changed = (endpoints, alphas, runs) != (one.endpoints, one.alphas, one.runs)
        if self._act("ceiling", lambda to: to.accounts.change(one.email, **given), allowed=changed):
            one.endpoints, one.alphas, one.runs = endpoints, alphas, runs

    @rule(by=st.sampled_from((1, 2, 30, 61, 700, 3700, 90_000, 2_000_000)))
    def wait(self, by: int) -> None:
        self._wait_until(self.now + timedelta(seconds=by))
        self.tally["wait"] += 1

    @precondition(lambda self: any(key.expires is not None and key.expires > self.now for key in self.keys))
    @rule(early=st.sampled_from((0, 0, 0, 2)))
    def wait_for_an_expiry(self, early: int) -> None:
        """Wait until the next key expires, or until shortly before."""
        ahead = min(key.expires for key in self.keys if key.expires is not None and key.expires > self.now)
        self._wait_until(max(self.now, ahead - timedelta(seconds=early)))
        self.tally["expiry"] += 1

    def _wait_until(self, then: datetime) -> None:
        # A server refreshes every second, so that its state is never old.
        self.look()
        self.system.clock.move(then - self.now)
        self.look()

    def _act(self, what: str, act: Act, *, allowed: bool) -> Any:
        """Perform an operator's action, which must be refused if not allowed; None if refused."""
        try:
            done = self.system.administer(act)
        except AccessError:
            assert not allowed, what
            self.tally[f"{what} refused"] += 1
            return None
        assert allowed, what
        self.tally[what] += 1
        return done
