"""What the holder of a signed link may still read, as its key stands when the link is used."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.endpoint import Endpoint
from serve.auth.allow_list import AllowList
from serve.auth.refusals import endpoint_not_allowed, run_not_allowed


@dataclass(frozen=True, slots=True)
class LinkHolder:
    """The key whose call made a link, without a call of its own: nothing is counted for it.

    Attributes
    ----------
    key_id
        Its id.
    runs
        Allow-list in force.
    expose_raw
        Whether it has raw-book access.
    callable_ids
        Endpoints in force.
    """

    key_id: str
    runs: AllowList
    expose_raw: bool
    callable_ids: frozenset[str]

    def require(self, endpoint: Endpoint, alpha_id: str) -> None:
        """Raise the documented 403 unless the key may still call the endpoint that signs such links, of this alpha."""
        if endpoint.id not in self.callable_ids:
            raise endpoint_not_allowed(endpoint)
        if not self.runs.allows(alpha_id):
            raise run_not_allowed()
