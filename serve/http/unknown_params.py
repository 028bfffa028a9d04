"""What is said of query parameters that an endpoint does not take: ignored, a misspelt filter would answer everything."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from schemas.endpoint import Endpoint
from schemas.parameters import ParameterKind

_MAX_NAMES: Final = 16
"""Unknown names listed one by one; a query string may hold tens of thousands."""
_MAX_NAME_CHARACTERS: Final = 24
"""Characters shown of one, more than any declared name has: whoever puts a key there must not find it in the answer."""


def unknown(endpoint: Endpoint, given: Iterable[str]) -> list[dict[str, str]]:
    """Return an entry for each name the endpoint does not take.

    Parameters
    ----------
    given
        Names of the query string, each once, in the order given.

    Returns
    -------
    list of dict
        ``name`` and ``constraint``, and ``nearest`` where a name that is taken is like it. At most 16: the last
        then stands for the others too.
    """
    declared = {x.name for x in endpoint.query}
    taken = [x.name for x in endpoint.query if x.kind is not ParameterKind.FORBIDDEN]
    strange = [name for name in given if name not in declared]
    entries = [_entry(name, taken) for name in strange[:_MAX_NAMES]]
    if len(strange) > _MAX_NAMES:
        entries[-1]["constraint"] += f"; {len(strange) - _MAX_NAMES} more are not either"
    return entries


def _entry(name: str, taken: list[str]) -> dict[str, str]:
    shown = name if len(name) <= _MAX_NAME_CHARACTERS else f"{name[:_MAX_NAME_CHARACTERS]}..."
    near = get_close_matches(shown.strip().lower(), taken, n=1)
    if near:
        rule = f"not a parameter of this endpoint; did you mean `{near[0]}`?"
        return {"name": shown, "constraint": rule, "nearest": near[0]}
    rule = f"not a parameter of this endpoint, which takes {', '.join(taken) or 'none'}"
    return {"name": shown, "constraint": rule}
