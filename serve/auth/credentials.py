"""What a request presents: its bearer token and the addresses its proxies wrote down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Credentials(NamedTuple):
    """The two headers that authentication reads; the request target is not one of them.

    Attributes
    ----------
    token
        The text after ``Bearer``; None when there is none. Of two ``Authorization`` headers
        neither is believed: their texts are joined, which no key looks like.
    forwarded
        The values of ``X-Forwarded-For``, in the order received.
    """

    token: str | None
    forwarded: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Leave the token out."""
        return f"Credentials(forwarded={self.forwarded!r})"

    @classmethod
    def of(cls, headers: Mapping[bytes, bytes]) -> Credentials:
        """Pick the headers out of those of a request by name, several lines of one joined with commas."""
        authorization = headers.get(b"authorization")
        forwarded = headers.get(b"x-forwarded-for")
        return cls(
            None if authorization is None else _bearer(authorization.decode("latin-1")),
            () if forwarded is None else (forwarded.decode("latin-1"),),
        )


def _bearer(authorization: str) -> str | None:
    # Two different answers to "who is this" are neither: joined, they have no token's shape.
    scheme, _, token = authorization.strip().partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
