"""Chooses a content coding by Accept-Encoding."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from serve.pages.bodies import CODINGS, IDENTITY

_QVALUE: Final = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z")


@lru_cache(maxsize=256)
def negotiate(accept_encoding: bytes | None) -> str:
    """Choose the coding of an answer.

    Parameters
    ----------
    accept_encoding
        The request's header as received; None when there is none.

    Returns
    -------
    str
        A coding of the caller's highest weight, or ``identity``. Items that break the header's grammar are
        left out, and a caller who accepts nothing we have gets the body as it is rather than an error.
    """
    weights = _weights((accept_encoding or b"").decode("latin-1"))
    rest = weights.get("*", 0.0)
    offers = [(weights.get(coding, rest), coding) for coding in CODINGS]
    best = max(weight for weight, _ in offers)
    if best <= 0 or best < weights.get(IDENTITY, 0.0):
        return IDENTITY
    return next(coding for weight, coding in offers if weight == best)


def _weights(header: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for item in header.split(","):
        coding, *attributes = (part.strip() for part in item.split(";"))
        weight = 1.0
        for attribute in attributes:
            name, _, value = attribute.partition("=")
            if name.strip().lower() == "q":
                weight = float(value) if _QVALUE.match(value.strip()) else 0.0
        if coding:
            weights[coding.lower()] = weight
    return weights
