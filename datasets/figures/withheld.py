"""Convert figures to their stored and served form: values, or nulls with reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from datasets.figures.unavailable import Unavailable
from schemas.field import Field

UNBOUNDED: Final = Unavailable(
    "insufficient_data", "it is not finite, for instance because equity almost fell to 0"
)
"""Reason for a figure that is infinite or NaN."""


def settle(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Replace unavailable figures by null, and collect the reasons by path.

    Parameters
    ----------
    figures : Mapping[str, Any]
        Name -> figure, :class:`~datasets.figures.unavailable.Unavailable`, or a mapping or list of such
        figures.

    Returns
    -------
    dict
        JSON-ready figures, and ``withheld``: dotted path of each null -> its reason, entries of lists by their number from 0. A
        number that is not finite is withheld.

    Examples
    --------
    >>> settle({"sharpe": math.nan, "days": 3})
    {'sharpe': None, 'days': 3, 'withheld': {'sharpe': 'it is not finite, for instance because equity almost fell to 0'}}
    """
    withheld: dict[str, str] = {}

    def settled(value: Any, path: str) -> Any:
        if isinstance(value, Mapping):
            return {name: settled(member, f"{path}.{name}") for name, member in value.items()}
        if isinstance(value, list):
            return [settled(entry, f"{path}.{number}") for number, entry in enumerate(value)]
        if isinstance(value, float) and not math.isfinite(value):
            value = UNBOUNDED
        if isinstance(value, Unavailable):
            withheld[path.removeprefix(".")] = value.text
            return None
        return value

    return {**settled(figures, ""), "withheld": withheld}


def withheld_payload(payload: Field, reason: Unavailable, **known: Any) -> dict[str, Any]:
    """Return the object of a family in which every figure is withheld.

    Parameters
    ----------
    payload : Field
        Declaration of the object.
    reason : Unavailable
        Why they are withheld.
    **known : Any
        Members that have a value, by name.

    Returns
    -------
    dict
        As :func:`settle` returns it.
    """
    spans = {"observations": 0, "first_date": None, "last_date": None}
    members = {
        field.name: {**spans, **known}.get(field.name, reason if field.nullable else None)
        for field in payload.fields
        if field.name != "withheld"
    }
    return settle(members)
