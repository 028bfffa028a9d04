"""Suggestions for unknown alphas, endpoints, books and keywords, and for lists that are too long."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

import httpx

from alpha_results_client.collect import alpha_ids
from alpha_results_client.declared import ENDPOINTS
from alpha_results_client.errors import NO_SUCH_ALPHA, AlphaResultsClientError, ApiError
from alpha_results_client.exchange import Plan
from alpha_results_client.settings import Settings
from alpha_results_client.values import Query

T = TypeVar("T")
_ARGUMENTS = {x.parameter: x.name for e in ENDPOINTS.values() for x in e.arguments if x.parameter != x.name}
"""Parameter -> argument of another name that sets it, such as `start` for `from`."""


def near(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three similar names, ignoring case."""
    by_form = {name.lower(): name for name in known}
    return tuple(by_form[form] for form in difflib.get_close_matches(name.lower(), by_form, 3))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suffix for a message that suggests similar names; empty if there are none."""
    names = near(name, known)
    return f"; did you mean {' or '.join(map(repr, names))}?" if names else ""


def suggesting(settings: Settings, path: Mapping[str, str], query: Query, plan: Plan[T]) -> Plan[T]:
    """Run a plan, and add a hint to its error.

    It gives the arguments that set invalid parameters, names similar to an unknown one, or the length of a list that is too long.

    Suggesting alphas takes one more call.
    """
    try:
        return (yield from plan)
    except ApiError as error:
        invalid = [x["name"] for x in (error.details or {}).get("parameters", ())]
        for name in sorted(_ARGUMENTS.keys() & invalid):
            error.message += f" The argument {_ARGUMENTS[name]!r} sets {name!r}."
        if error.code in NO_SUCH_ALPHA and "alpha" in path:
            try:
                known = yield from alpha_ids(settings)
            except AlphaResultsClientError:
                known = []
            error.suggestions = near(path["alpha"], known)
        elif error.details and isinstance(listed := error.details.get("available"), list):
            values = [value for value in (*path.values(), *query.values()) if value]
            alike = [name for text in values if text not in listed for name in near(text, map(str, listed))]
            error.suggestions = tuple(dict.fromkeys(alike))
        elif error.status == httpx.codes.REQUEST_URI_TOO_LONG:
            count, name = max(
                ((value.count(",") + 1, name) for name, value in query.items() if value),
                default=(1, ""),
            )
            if count > 1:
                error.message += f" {_ARGUMENTS.get(name, name)!r} has {count:,} values: pass fewer in a call, or leave it out and filter the frame."
        raise
