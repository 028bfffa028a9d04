"""What a route knows of the request it answers."""

from __future__ import annotations

from typing import Any, NamedTuple

from datasets.listing import Listing
from datasets.snapshot import Snapshot
from schemas.endpoints import Endpoint
from serve.auth.caller import Caller
from serve.cache.miss import CacheMiss
from serve.http.params import Values
from serve.query.duckdb import Reader
from serve.query.rebalances import RebalanceIndex
from serve.state import ServerState


class Context(NamedTuple):
    """An admitted request with its parameters read and its alpha looked up.

    Attributes
    ----------
    endpoint
        The declaration of the route.
    values
        Its parameters, typed, defaults filled in.
    request_id
        For objects, which carry it; a page must not.
    listed
        The alphas there are, for their list.
    hurried
        Whether the route is asked on the event loop, to answer from memory or not at all.
    """

    service: ServerState
    endpoint: Endpoint
    values: Values
    request_id: str
    admitted: Caller | None
    resolved: Snapshot | None
    hurried: bool = False
    listed: Listing | None = None

    @property
    def caller(self) -> Caller:
        """The admitted caller; every route but the public one has one."""
        assert self.admitted is not None
        return self.admitted

    @property
    def snapshot(self) -> Snapshot:
        """The one snapshot this request sees; routes of an alpha have one."""
        assert self.resolved is not None
        return self.resolved

    @property
    def listing(self) -> Listing:
        """The alphas this request sees; the route that lists them has them."""
        assert self.listed is not None
        return self.listed

    @property
    def reader(self) -> Reader:
        """What reads files; a hurried route must do without, and raises CacheMiss here."""
        if self.hurried:
            raise CacheMiss
        return self.service.reader

    @property
    def weeks(self) -> RebalanceIndex:
        """The rebalance index of the snapshot, which must have one; CacheMiss as of `reader`."""
        known = self.service.weeks.known(self.snapshot)
        if known is not None:
            return known
        if self.hurried:
            raise CacheMiss
        return self.service.weeks.of(self.snapshot)

    @property
    def raw(self) -> bool:
        """Whether the key sees the unconditioned signal and its books."""
        return self.caller.expose_raw

    @property
    def run_meta(self) -> dict[str, Any]:
        """The meta of a run's signals: its address, the research source's label, and the snapshot that answers."""
        return self.named(self.snapshot.manifest.source_alpha_id)

    def named(self, alpha_id: str) -> dict[str, Any]:
        """Return what the meta of every answer about a run says; `alpha_id` is the label it gives to the source."""
        snapshot = self.snapshot
        return {
            "run": snapshot.alpha_id,
            "alpha_id": alpha_id,
            "snapshot": snapshot.id,
            "published_at": snapshot.published_at,
        }
