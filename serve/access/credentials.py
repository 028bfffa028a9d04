"""What a request presents: its bearer token and the addresses its proxies wrote down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

type_headers = Mapping[str, str] | Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Presented:
    """The two headers the gate reads; nothing of the address line is looked at.

    Attributes
    ----------
    token
        The text after ``Bearer``; None when there is none. Of two ``Authorization`` headers
        neither is believed: their texts are joined, which no key looks like.
    forwarded
        The values of ``X-Forwarded-For``, in the order received.
    """

    token: str | None = field(repr=False)
    forwarded: tuple[str, ...] = ()

    @classmethod
    def of(cls, headers: Mapping[bytes, bytes]) -> Presented:
        """Pick the headers out of those of a request by name, several lines of one joined with commas."""
        authorization = headers.get(b"authorization")
        forwarded = headers.get(b"x-forwarded-for")
        return cls(
            None if authorization is None else _bearer((authorization.decode("latin-1"),)),
            () if forwarded is None else (forwarded.decode("latin-1"),),
        )

    @classmethod
    def read(cls, headers: type_headers) -> Presented:
        """Pick the headers out of a mapping or of ASGI's pairs, whatever the case of their names."""
        authorization: list[str] = []
        forwarded: list[str] = []
        for name, value in _pairs(headers):
            if name == "authorization":
                authorization.append(value)
            elif name == "x-forwarded-for":
                forwarded.append(value)
        return cls(_bearer(authorization), tuple(forwarded))


def _pairs(headers: type_headers) -> Iterable[tuple[str, str]]:
    if isinstance(headers, Mapping):
        return ((name.lower(), value) for name, value in headers.items())
    return (
        (name.decode("latin-1").lower(), value.decode("latin-1"))
        for name, value in headers
        # Decoding only what may be of use: a request has a dozen headers that are not.
        if name.lower() in (b"authorization", b"x-forwarded-for")
    )


def _bearer(values: Sequence[str]) -> str | None:
    # Two different answers to "who is this" are neither: joined, they have no token's shape.
    scheme, _, token = ", ".join(values).strip().partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
